package config_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// repository is a tree that has all that a configuration names.
func repository(f *config.File) fstest.MapFS {
	tree := fstest.MapFS{}
	add := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	for _, e := range f.Environments {
		add(e.SyncPath+"/kustomization.yaml", "kind: Kustomization\n")
		for _, name := range slices.Concat(e.ProviderManifests, e.PivotSopsSecrets) {
			add(name, "kind: Thing\n")
		}
		for _, name := range e.PivotManifests {
			add(name, "a: ${GCP_WIF_PROVIDER:=kind}\n")
		}
		for _, m := range e.MoveFallbacks {
			add(m.Manifest, "kind: Thing\n")
		}
		if e.PostKindCreateTask != "" {
			add("mise."+e.Name+".toml", "[tasks."+e.PostKindCreateTask+"]\nrun = 'x'\n")
		}
	}
	add("mgmt/release.yaml", `---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: cert-manager
spec:
  chart:
    spec:
      chart: cert-manager
      version: "1.21.2"
---
apiVersion: iam.services.k8s.aws/v1alpha1
kind: User
metadata: { name: any }
spec:
  name: krops-reader
`)
	return tree
}

func TestARightRepositoryHasNoProblems(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"checked-in.toml", "every-key.toml"} {
		f := load(t, name)
		tree := repository(f)
		if name == "every-key.toml" {
			delete(tree, "mgmt/release.yaml")
		}
		if found := f.Lint(tree); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string             // in the configuration
		change   func(fstest.MapFS) // of the repository
		want     string
	}{
		"a chart of another version": {`cert-manager = "1.21.2"`, `cert-manager = "1.21.3"`, nil, "17:1: charts.cert-manager is 1.21.3, mgmt/release.yaml installs 1.21.2"},
		"a chart missing":            {"cert-manager = \"1.21.2\"\n", "", nil, "15:2: charts.cert-manager is missing: the step that installs it will fail"},
		"a directory missing":        {`sync-path = "mgmt/aws"`, `sync-path = "mgmt/awz"`, nil, "50:1: sync-path mgmt/awz is no directory of the repository"},
		"a file missing":             {"", "", func(fs fstest.MapFS) { delete(fs, "mgmt/aws/capi-providers/capi-system/providers.yaml") }, "55:1: mgmt/aws/capi-providers/capi-system/providers.yaml does not exist in the repository"},
		"a path out of the tree":     {`"mgmt/azure/infrastructure/azure-identity/aso-credentials.yaml"`, `"../aso.yaml"`, nil, "../aso.yaml is not below the root of the repository"},
		"an absolute path":           {`"mgmt/azure/infrastructure/azure-identity/aso-credentials.yaml"`, `"/aso.yaml"`, nil, "/aso.yaml is not below the root of the repository"},
		"an encrypted plain file": {`azure-identity/aso-credentials.yaml`, `azure-identity/aso.sops.yaml`, func(fs fstest.MapFS) {
			fs["mgmt/azure/infrastructure/azure-identity/aso.sops.yaml"] = &fstest.MapFile{}
		}, "mgmt/azure/infrastructure/azure-identity/aso.sops.yaml is encrypted: it belongs to pivot-sops-secrets"},
		"a plain secret":       {`post-kind-create-task = "arc-federate"`, `pivot-sops-secrets = ["mgmt/release.yaml"]`, nil, "mgmt/release.yaml does not end in .sops.yaml"},
		"a value nothing uses": {`GCP_WIF_PROVIDER = "mgmt"`, "GCP_WIF_PROVIDER = \"mgmt\"\nOTHER_1 = \"x\"", nil, "no file of pivot-manifests uses ${OTHER_1}"},
		"a value in small letters": {`GCP_WIF_PROVIDER = "mgmt"`, "gcp-wif = \"x\"", func(fs fstest.MapFS) {
			fs["mgmt/gcp/infrastructure/kcc/namespace.yaml"] = &fstest.MapFile{Data: []byte("${gcp-wif}")}
		}, "gcp-wif must be written in capitals and underscores"},
		"a task missing":          {`"wif-federate"`, `"wif"`, func(fs fstest.MapFS) { fs["mise.gcp.toml"] = &fstest.MapFile{Data: []byte("[tasks.other]")} }, "mise.gcp.toml has no task wif"},
		"a task file missing":     {"", "", func(fs fstest.MapFS) { delete(fs, "mise.gcp.toml") }, "mise.gcp.toml does not exist: task wif-federate is looked for there"},
		"a task file broken":      {"", "", func(fs fstest.MapFS) { fs["mise.gcp.toml"] = &fstest.MapFile{Data: []byte("[")} }, "mise.gcp.toml: toml: "},
		"a region":                {`cluster-name = "eu-west-1-workload"`, `cluster-name = "eu-west-2-workload"`, nil, "cluster-name eu-west-2-workload does not begin with its region eu-west-1"},
		"a cluster of EKS":        {`"default_eu-west-1-workload-control-plane"`, `"eu-west-1-workload"`, nil, "eks-cluster-name must be default_eu-west-1-workload-control-plane, it is eu-west-1-workload"},
		"a database":              {`"krops-eu-west-1-workload-db"`, `"eu-west-1-db"`, nil, "rds-instance must be <site>-eu-west-1-workload-db, it is eu-west-1-db"},
		"a pattern":               {`krops-{account_id}-{cluster_name}-data`, `krops-{cluster_name}-data`, nil, "s3-bucket-pattern lacks {account_id}"},
		"another pattern":         {`krops-{account_id}-{cluster_name}-data`, `krops-{account_id}-data`, nil, "s3-bucket-pattern lacks {cluster_name}"},
		"a user missing":          {`["krops-reader"]`, `[]`, nil, "global-iam-users lacks krops-reader of mgmt/release.yaml"},
		"a region of no name":     {`"eu-north-1-management"` + "\nmgmt-ready", `"north"` + "\nmgmt-ready", nil, "mgmt-cluster 'north' does not end with '-management'"},
		"half a management sweep": {"mgmt-iam-role-prefix = \"eu-north-1-management\"\n", "", nil, "mgmt-eks-cluster-name and mgmt-iam-role-prefix go together"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/checked-in.toml")
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.from, c.to, 1)
			if c.from != "" && changed == string(text) {
				t.Fatal("nothing replaced")
			}
			f, err := parse(changed)
			if err != nil {
				t.Fatal(err)
			}
			tree := repository(checkedIn(t))
			if c.change != nil {
				c.change(tree)
			}

			found := f.Lint(tree)

			if len(found) == 0 {
				t.Fatal("no problem found")
			}
			lines := make([]string, len(found))
			for i, p := range found {
				lines[i] = fmt.Sprintf("%v: %s", p.At, p.Text)
			}
			if all := strings.Join(lines, "\n"); !strings.Contains(all, c.want) || found[0].At.Line == 0 {
				t.Errorf("found\n%s\nwant one saying %q", all, c.want)
			}
		})
	}
}

func TestTheReferencePagesAreWhatTheDeclarationsSay(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bootstrap.schema.json": string(config.Schema()), "configuration.md": config.Reference(),
	} {
		file := "../../../docs/reference/krops/" + name
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; make docs writes it", err)
		}
		if diff := cmp.Diff(string(committed), text); diff != "" {
			t.Errorf("%s is not up to date (make docs rewrites it):\n%s", file, diff)
		}
	}
}
