package plan_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/configtest"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

var update = flag.Bool("update", false, "rewrite the golden plans")

// settings are those of an environment, with some variables.
func settings(t *testing.T, verb config.Verb, profile string, env ...string) *config.Settings {
	t.Helper()
	return configtest.Settings(t, verb, profile, append(env, "HOME=/home/op", "GITHUB_TOKEN=hunter2")...)
}

// empty is the world of a host on which nothing was ever done.
func empty() plan.World {
	w := plan.World{Host: plan.HostUnreachable, Clusters: plan.Listed(), Providers: plan.Listed()}
	for _, f := range []plan.Fact{
		"host/kind-cluster", "host/registry", "host/registry-ready", "host/mgmt-kubeconfig", "host/mgmt-kubeconfig-own", "host/mgmt-containers",
		"host/containers/local-workload",
		"aws/nodegroups", "aws/eks", "aws/rds", "aws/vpcs", "aws/eips", "aws/s3", "aws/iam", "aws/cloudformation",
	} {
		w = w.With(f, plan.Absent("looked"))
	}
	return w
}

// built is the world after a bootstrap with its pivot, or before the pivot.
func built(t *testing.T, profile string, env ...string) plan.World {
	t.Helper()
	return run(t, plan.Bootstrap(settings(t, config.VerbBootstrap, profile, env...), empty()), empty()).Forget()
}

// run does every step of a plan that is left.
func run(t *testing.T, p plan.Plan, w plan.World) plan.World {
	t.Helper()
	for _, s := range p.Left() {
		w = w.After(s)
	}
	return w
}

func profiles() []string { return []string{"aws", "local-host", "local-talos", "azure", "gcp"} }

func ids(steps []plan.Step) []string {
	names := []string{}
	for _, s := range steps {
		names = append(names, s.ID)
	}
	return names
}

// controlled is the world of a teardown: clusters and providers on a host.
func controlled(host plan.Host, names ...string) plan.World {
	w := empty()
	w.Host, w.Clusters, w.Providers = host, plan.Listed(names...), plan.Listed("core/capi-system/cluster-api")
	for _, f := range []plan.Fact{
		"source/inventory",
	} {
		w = w.With(f, plan.Absent("looked"))
	}
	for _, name := range names {
		w = w.With("deleting/"+plan.Fact(name), plan.Absent("looked"))
	}
	for _, f := range []plan.Fact{
		"controller/kustomizations", "controller/flux", "controller/flux-operator", "controller/secrets",
		"aws/nodegroups", "aws/eks", "aws/rds", "aws/vpcs", "aws/eips", "aws/s3", "aws/iam", "aws/cloudformation",
		"host/registry", "host/mgmt-containers",
	} {
		w = w.With(f, plan.Present())
	}
	if host == plan.HostKind {
		w = w.With("host/kind-cluster", plan.Present())
	} else {
		w = w.With("host/mgmt-kubeconfig", plan.Present()).With("host/mgmt-kubeconfig-own", plan.Present())
	}
	return w
}

// inventory are the Clusters of an environment: its management cluster, a workload.
func inventory(t *testing.T, profile string) []string {
	t.Helper()
	e := settings(t, config.VerbTeardown, profile).Environment
	workload := strings.TrimSuffix(e.MgmtCluster, "management") + "workload"
	return []string{"default/" + e.MgmtCluster, "default/" + workload}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got, make docs rewrites it):\n%s", path, diff)
	}
}

func text(t *testing.T, p plan.Plan) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGoldenPlans(t *testing.T) {
	t.Parallel()
	for _, profile := range profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			golden(t, "bootstrap-"+profile+".txt", text(t, plan.Bootstrap(settings(t, config.VerbBootstrap, profile), empty())))
			pivot := plan.Pivot(settings(t, config.VerbPivot, profile), built(t, profile, "BOOTSTRAP_PIVOT=0"))
			golden(t, "pivot-"+profile+".txt", text(t, pivot))
			clusters := inventory(t, profile)
			for name, w := range map[string]plan.World{
				"kind":         controlled(plan.HostKind, clusters...),
				"self-managed": controlled(plan.HostSelfManaged, clusters...),
				"unasked":      {},
			} {
				golden(t, "teardown-"+profile+"-"+name+".txt", text(t, plan.Teardown(settings(t, config.VerbTeardown, profile), w)))
			}
		})
	}
	golden(t, "bootstrap-unasked.txt", text(t, plan.Bootstrap(settings(t, config.VerbBootstrap, "aws"), plan.World{})))
	var lines strings.Builder
	if err := plan.Teardown(settings(t, config.VerbTeardown, "aws"), controlled(plan.HostKind, "default/w")).WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	golden(t, "teardown-aws.jsonl", lines.String())
}
