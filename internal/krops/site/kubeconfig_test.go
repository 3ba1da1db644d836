package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
)

// deaf is a voice that nobody hears.
type deaf struct{}

func (deaf) Say(string, ...any)     {}
func (deaf) Detail(string, ...any)  {}
func (deaf) Done(string, ...any)    {}
func (deaf) Warn(string, ...any)    {}
func (deaf) Trouble(string, ...any) {}
func (deaf) Print(string)           {}

var _ run.Voice = deaf{}

func TestOnlyTheKubeconfigOfThisEnvironmentIsSetAside(t *testing.T) {
	t.Parallel()
	const own = plan.Fact("host/mgmt-kubeconfig-own")
	kubeconfig := func(cluster string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: %s, user: u}}]\n"+
			"clusters: [{name: %s, cluster: {server: https://127.0.0.1:1}}]\n", cluster, cluster)
	}
	for name, c := range map[string]struct{ text, want string }{
		"none":                            {"", "confirmed absent"},
		"by its Cluster":                  {kubeconfig("eu-north-1-management"), "present"},
		"by its name at EKS":              {kubeconfig("default_eu-north-1-management-control-plane"), "present"},
		"another one's":                   {kubeconfig("local-management"), "confirmed absent"},
		"one without a name":              {kubeconfig(`""`), "confirmed absent"},
		"something that is no kubeconfig": {"{", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "mgmt.yaml")
			s := configtest.Settings(t, config.VerbTeardown, "aws", home, "MGMT_KUBECONFIG="+path)
			if c.text != "" {
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x := site.New(site.Options{Settings: s})
			found := x.Observe(t.Context(), plan.World{}, own).Of(own)
			if text := found.String(); len(text) < len(c.want) || text[:len(c.want)] != c.want {
				t.Errorf("%v", found)
			}
			if !found.There() {
				return
			}
			// A run that was killed after it finds nothing to do.
			for range 2 {
				if err := x.Do(t.Context(), plan.Step{ID: "forget-kubeconfig"}, deaf{}); err != nil {
					t.Error(err)
				}
			}
			if text, err := os.ReadFile(path + ".old"); err != nil || string(text) != c.text {
				t.Errorf("%v, %q", err, text)
			}
			if again := x.Observe(t.Context(), plan.World{}, own).Of(own); !again.Gone() {
				t.Error(again)
			}
		})
	}
}
