package identity

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what OAuth 1.0a signs with
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// OAuth 1.0a (RFC 5849): a consumer gets a request token, a user authorizes it,
// and the consumer turns it into an access token.

func consumers() noun.Noun { return thing("consumer", "/OS-OAUTH1/consumers", "consumer", "") }

func consumerFields() []noun.Field {
	return []noun.Field{noun.String("description", "<description>", "", "What the consumer is")}
}

func consumerCreate() command.Command {
	return consumers().Create(noun.Writing{Short: "Create a consumer of OAuth", Fields: consumerFields(), Shown: all()})()
}

func consumerDelete() command.Command {
	return consumers().Delete(noun.Deleting{
		Short: "Delete consumers of OAuth", Arg: command.Arg{Name: "<consumer>", Many: true, Help: "Id of a consumer to delete"}, Flags: []command.Flag{command.Parallel()},
	})()
}

func consumerList() command.Command {
	return consumers().List(noun.Listing{Short: "List consumers of OAuth", Columns: []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Description", Attr: "description"}}})()
}

func consumerSet() command.Command {
	return consumers().Set(noun.Writing{
		Short: "Change a consumer of OAuth", Args: []command.Arg{{Name: "<consumer>", Help: "Id of the consumer to change"}}, RefArg: "<consumer>", Fields: consumerFields(),
	})()
}

func consumerShow() command.Command {
	return consumers().Show(noun.Showing{Short: "Show a consumer of OAuth", Arg: command.Arg{Name: "<consumer>", Help: "Id of the consumer to show"}, Fields: all()})()
}

// signing is what an OAuth request is signed with.
type signing struct {
	key, secret           string // of the consumer
	token, tokenSecret    string // "" when there is none yet
	verifier, callback    string
	nonce, stamp, project string
}

// header is the Authorization header of a request (RFC 5849, 3.4.2 and 3.5.1).
func (s signing) header(method, address string) string {
	params := map[string]string{
		"oauth_consumer_key": s.key, "oauth_nonce": s.nonce, "oauth_signature_method": "HMAC-SHA1", "oauth_timestamp": s.stamp, "oauth_version": "1.0",
		"oauth_token": s.token, "oauth_verifier": s.verifier, "oauth_callback": s.callback,
	}
	var names []string
	for name, v := range params {
		if v != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var pairs, parts []string
	for _, name := range names {
		pairs = append(pairs, escape(name)+"="+escape(params[name]))
		parts = append(parts, fmt.Sprintf(`%s="%s"`, escape(name), escape(params[name])))
	}
	base := method + "&" + escape(address) + "&" + escape(strings.Join(pairs, "&"))
	mac := hmac.New(sha1.New, []byte(escape(s.secret)+"&"+escape(s.tokenSecret)))
	mac.Write([]byte(base))
	parts = append(parts, fmt.Sprintf(`oauth_signature="%s"`, escape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))))
	return "OAuth " + strings.Join(parts, ", ")
}

// escape is the percent encoding of RFC 3986, which differs from that of queries.
func escape(text string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(text))
}

// exchange posts a signed request and returns the fields of the answer.
func (s signing) exchange(ctx context.Context, c *command.Call, path string) ([]render.Field, error) {
	service, err := c.Cloud.Service(ctx, "identity")
	if err != nil {
		return nil, err
	}
	s.nonce, s.stamp = rand.Text(), strconv.FormatInt(time.Now().Unix(), 10)
	header := http.Header{"Authorization": {s.header(http.MethodPost, service.Endpoint+path)}}
	if s.project != "" {
		header.Set("Requested-Project-Id", s.project)
	}
	answer, err := service.Open(ctx, cloud.Request{Method: http.MethodPost, Path: path, Header: header})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(text))
	if err != nil || values.Get("oauth_token") == "" {
		return nil, errors.New("the identity service answered without a token")
	}
	fields := []render.Field{
		{Name: "expires", Value: values.Get("oauth_expires_at")},
		{Name: "id", Value: values.Get("oauth_token")},
		{Name: "key", Value: values.Get("oauth_token")},
		{Name: "secret", Value: values.Get("oauth_token_secret")},
	}
	slices.SortFunc(fields, func(a, b render.Field) int { return cmp.Compare(a.Name, b.Name) })
	return fields, nil
}

func consumerFlags() []command.Flag {
	return []command.Flag{
		{Name: "consumer-key", Value: "<consumer-key>", Required: true, Help: "Id of the consumer"},
		{Name: "consumer-secret", Value: "<consumer-secret>", Required: true, Help: "Secret of the consumer"},
	}
}

func requestTokenCreate() command.Command {
	return command.Command{
		Short: "Create a request token of OAuth",
		Flags: append(consumerFlags(),
			command.Flag{Name: "project", Value: "<project>", Required: true, Help: "Project that the consumer wants to work in, by name or id", Complete: "project"},
			domainFlag("Domain of the project, by name or id")),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			project, err := noun.Project().In(ctx, c, c.Text("project"), c.Text("domain"))
			if err != nil {
				return err
			}
			fields, err := signing{key: c.Text("consumer-key"), secret: c.Text("consumer-secret"), callback: "oob", project: project}.exchange(ctx, c, "/OS-OAUTH1/request_token")
			if err != nil {
				return err
			}
			return c.Show(fields)
		},
	}
}

func requestTokenAuthorize() command.Command {
	return command.Command{
		Short: "Authorize a request token of OAuth: lend it roles",
		Flags: []command.Flag{
			{Name: "request-key", Value: "<request-key>", Required: true, Help: "Id of the request token"},
			{Name: "role", Value: "<role>", Repeat: true, Required: true, Help: "Role to lend, by name or id; repeatable", Complete: "role"},
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			roles, err := roleRefs(ctx, c, c.Texts("role"))
			if err != nil {
				return err
			}
			var o noun.Object
			if err := send(ctx, c, http.MethodPut, "/OS-OAUTH1/authorize/"+url.PathEscape(c.Text("request-key")), noun.Object{{Name: "roles", Value: roles}}, &o); err != nil {
				return err
			}
			return c.Show(all().Fields(c, o.Object("token")))
		},
	}
}

func accessTokenCreate() command.Command {
	return command.Command{
		Short: "Turn an authorized request token of OAuth into an access token",
		Flags: append(consumerFlags(),
			command.Flag{Name: "request-key", Value: "<request-key>", Required: true, Help: "Id of the request token"},
			command.Flag{Name: "request-secret", Value: "<request-secret>", Required: true, Help: "Secret of the request token"},
			command.Flag{Name: "verifier", Value: "<verifier>", Required: true, Help: "What the authorization gave"}),
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			fields, err := signing{
				key: c.Text("consumer-key"), secret: c.Text("consumer-secret"), token: c.Text("request-key"), tokenSecret: c.Text("request-secret"), verifier: c.Text("verifier"),
			}.exchange(ctx, c, "/OS-OAUTH1/access_token")
			if err != nil {
				return err
			}
			return c.Show(fields)
		},
	}
}
