package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
)

// A daemon whose cluster configuration is lost goes on as the one it is.
func TestALostClusterConfigurationIsNotObeyed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(file string) error{
		"removed": os.Remove,
		"emptied": func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"garbage": func(file string) error { return os.WriteFile(file, []byte("[cluster\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRoot(t)
			r := start(t, root)
			file := filepath.Join(root, "etc", "cluster.conf")
			good, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			config := func() api.ClusterStatus { return do(t, r.Client, api.GetClusterStatus, api.ClusterStatusQuery{}) }
			before := config().Cluster.Config

			if err := lose(file); err != nil {
				t.Fatal(err)
			}

			eventually(t, func() bool { return len(config().Cluster.Config.Issues) > 0 })
			after := config().Cluster.Config
			if !strings.Contains(after.Issues[0], file) {
				t.Errorf("the issue does not name the file: %s", after.Issues[0])
			}
			after.Issues = before.Issues
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(r.log.String(), "the last good one stays") {
				t.Error("nothing is logged")
			}
			remote, err := client.New(client.Options{Server: "localhost:" + listenerPort(t, r), Insecure: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Do(t.Context(), remote, api.GetHealth, api.None{}); err != nil {
				t.Errorf("the listener is gone: %v", err)
			}

			if err := os.WriteFile(file, good, 0o600); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return len(config().Cluster.Config.Issues) == 0 })
		})
	}
}

func listenerPort(t *testing.T, r *running) string {
	t.Helper()
	return do(t, r.Client, api.GetClusterStatus, api.ClusterStatusQuery{}).Cluster.Node[node1].Listener.Port
}
