package sweep

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Caller is who AWS takes us for.
type Caller struct{ Account, ARN string }

// Identity asks AWS who we are. It comes first: with credentials that AWS does not
// take, nothing else can be known.
func (c *Cloud) Identity(ctx context.Context) (Caller, error) {
	r, err := c.in(ctx, c.home)
	if err != nil {
		return Caller{}, err
	}
	out, err := call(ctx, c, r.sts.GetCallerIdentity, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Caller{}, err
	}
	caller := Caller{aws.ToString(out.Account), aws.ToString(out.Arn)}
	if caller.Account == "" {
		return Caller{}, &CallError{Kind: Garbled, Operation: "STS GetCallerIdentity", Text: "no account"}
	}
	c.mu.Lock()
	c.account = caller.Account
	c.mu.Unlock()
	return caller, nil
}

// Account is the number of the account, asked for once.
func (c *Cloud) Account(ctx context.Context) (string, error) {
	c.mu.Lock()
	account := c.account
	c.mu.Unlock()
	if account != "" {
		return account, nil
	}
	caller, err := c.Identity(ctx)
	return caller.Account, err
}

// Profile is the credentials of the run as the AWS provider of Cluster API takes
// them: the text of a profile, encoded in base64. It is a secret.
func (c *Cloud) Profile(ctx context.Context) (string, error) {
	cfg, err := c.load(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Call)
	defer cancel()
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return "", c.failure("credentials", err)
	}
	lines := []string{
		"[default]",
		"aws_access_key_id = " + credentials.AccessKeyID,
		"aws_secret_access_key = " + credentials.SecretAccessKey,
		"region = " + cfg.Region,
	}
	if credentials.SessionToken != "" {
		lines = append(lines, "aws_session_token = "+credentials.SessionToken)
	}
	for _, line := range lines {
		if strings.ContainsAny(line, "\r\n") {
			return "", fmt.Errorf("the AWS credentials have a line break in %s", strings.SplitN(line, " ", 2)[0])
		}
	}
	return base64.StdEncoding.EncodeToString([]byte(strings.Join(lines, "\n") + "\n")), nil
}
