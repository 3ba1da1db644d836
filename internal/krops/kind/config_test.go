package kind_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const socket = "/run/user/501/podman/podman.sock"

func TestK1K2TheConfigurationOfACluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wanted   kind.Wanted
		has, not []string
	}{
		"local-host": {
			kind.Wanted{EngineSocket: socket, Registry: &kind.Mirror{Port: 5001, URL: "http://krops-registry:5000"}},
			[]string{"containerdConfigPatches:", "localhost:5001", "http://krops-registry:5000", "hostPath: " + socket},
			nil,
		},
		"aws": {
			kind.Wanted{EngineSocket: "/var/run/docker.sock"},
			[]string{"kind: Cluster", "role: control-plane", "hostPath: /var/run/docker.sock"},
			[]string{"containerdConfigPatches", "localhost"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := kind.Render(c.wanted)
			if err != nil {
				t.Fatal(err)
			}

			for _, part := range c.has {
				if !strings.Contains(made.YAML, part) {
					t.Errorf("no %q in\n%s", part, made.YAML)
				}
			}
			for _, part := range c.not {
				if strings.Contains(made.String(), part) {
					t.Errorf("%q in\n%s", part, made)
				}
			}
			var read v1alpha4.Cluster
			if err := yaml.UnmarshalStrict([]byte(made.YAML), &read); err != nil || len(read.Nodes) != 1 {
				t.Errorf("kind cannot read it: %v", err)
			}
			golden(t, "testdata/"+name+".txt", made.String())
		})
	}
}

func TestARegistryIsMirroredInTheNodes(t *testing.T) {
	t.Parallel()
	made, err := kind.Render(kind.Wanted{EngineSocket: socket, Registry: &kind.Mirror{Port: 5500, URL: "http://reg-b:5000"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []kind.File{{
		Path: "/etc/containerd/certs.d/localhost:5500/hosts.toml",
		Text: "server = \"http://reg-b:5000\"\n\n[host.\"http://reg-b:5000\"]\n  capabilities = [\"pull\", \"resolve\"]\n",
	}}
	if diff := cmp.Diff(want, made.Files); diff != "" {
		t.Error(diff)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", file, diff)
	}
}
