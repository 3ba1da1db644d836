//go:build lab_kube

package lab_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

// The AWS provider of Cluster API finds the credentials of the run, whose namespace
// nobody has made before.
func TestTheProviderOfAWSHasCredentials(t *testing.T) {
	t.Parallel()
	plane, c := server(t)
	text, err := os.ReadFile("../../../internal/krops/config/testdata/checked-in.toml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse("bootstrap.toml", text, func(string, []string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "mgmt.yaml")
	if err := os.WriteFile(kubeconfig, plane.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := f.Resolve(config.VerbBootstrap, "aws", func(name string) (string, bool) {
		value, ok := map[string]string{"MGMT_KUBECONFIG": kubeconfig, "HOME": t.TempDir()}[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	work := site.New(site.Options{Settings: s, Now: time.Now, AWS: sweep.Options{Load: []func(*awsconfig.LoadOptions) error{
		awsconfig.WithSharedConfigFiles([]string{}), awsconfig.WithSharedCredentialsFiles([]string{}), awsconfig.WithRegion("eu-north-1"),
		awsconfig.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIA", "secret", "")),
	}}})
	const fact = plan.Fact("target/aws-credentials")
	there := func() plan.Presence { return work.Observe(t.Context(), plan.World{}, fact).Of(fact) }
	if p := there(); !p.Gone() {
		t.Fatalf("before: %v", p)
	}

	for range 2 {
		if err := work.Do(t.Context(), plan.Step{ID: "aws-credentials"}, nil); err != nil {
			t.Fatal(err)
		}
	}

	if p := there(); !p.There() {
		t.Errorf("after: %v", p)
	}
	data, err := c.SecretData(t.Context(), "capa-system", "aws-credentials")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := base64.StdEncoding.DecodeString(string(data["AWS_B64ENCODED_CREDENTIALS"]))
	if diff := cmp.Diff("[default]\naws_access_key_id = AKIA\naws_secret_access_key = secret\nregion = eu-north-1\n", string(profile)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
