package instance_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/grid"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: run make docs if it is meant\n%s", file, diff)
	}
}

func at() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

func app(status cluster.Status) cluster.ResourceStatus {
	return cluster.ResourceStatus{Type: "app.simple", Status: status, Provisioned: cluster.ProvisionedAt{State: cluster.ProvisionedNotApplicable}}
}

func TestStatusTrees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		instances map[string]cluster.Instance
	}{
		{"first-service", map[string]cluster.Instance{"node1": {Status: &cluster.InstanceStatus{
			Avail: cluster.Up, Overall: cluster.Up, Resources: map[string]cluster.ResourceStatus{"app#1": app(cluster.Up)},
		}}}},
		{"monitored", map[string]cluster.Instance{
			"node1": {
				Monitor: &cluster.InstanceMonitor{State: "idle", GlobalExpect: "none", Resources: map[string]cluster.ResourceMonitor{"app#1": {}}},
				Status: &cluster.InstanceStatus{Avail: cluster.Up, Overall: cluster.Warn, Resources: map[string]cluster.ResourceStatus{
					"app#10": app(cluster.Up), "app#2": app(cluster.Up),
					"fs#1": {
						Type: "fs.flag", Label: "/dev/shm/flag", Status: cluster.StandbyUp, Monitor: true, Disable: true, Optional: true, Encap: true,
						Running: true, Standby: true, Restart: 12, Provisioned: cluster.ProvisionedAt{State: cluster.ProvisionedFalse},
						Log: []cluster.ResourceLogEntry{{Level: "warn", Message: "read only"}, {Level: "error", Message: "gone"}},
					},
				}},
			},
			"node2": {
				Monitor: &cluster.InstanceMonitor{State: "start failed", GlobalExpect: "stopped"},
				Status: &cluster.InstanceStatus{
					Avail: cluster.Down, Overall: cluster.Down, FrozenAt: at(), StoppedAt: at(), Provisioned: cluster.ProvisionedMixed,
				},
				Config: &cluster.InstanceConfig{Disabled: true, Issues: []string{"env.a: reference {nosuch} is not known"}},
			},
			"node3": {},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "hello"}
			s, _, out, _ := iostreams.Test()
			if err := grid.Write(s, instance.Tree(path, c.instances).Rows()); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".golden", out.String())
		})
	}
}
