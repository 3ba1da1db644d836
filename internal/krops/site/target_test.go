package site_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	credentialsAt = "/api/v1/namespaces/capg-system/configmaps/credentials"
	first         = "mgmt/gcp/capi-providers/capg-system/capg-wif-credentials.yaml"
	second        = "mgmt/gcp/infrastructure/kcc/namespace.yaml"
	third         = "mgmt/gcp/infrastructure/kcc/kcc-wif-credentials.yaml"
)

// gcp is a pair whose repository has the pivot manifests of gcp.
func gcp(t *testing.T) *pair {
	t.Helper()
	p := newPair(t, "gcp", nil)
	p.write("repository/"+first, `{apiVersion: v1, kind: ConfigMap, metadata: {name: credentials, namespace: capg-system}, data: {provider: "${GCP_WIF_PROVIDER}", project: "${GCP_PROJECT}", preset: "${GCP_ZONE:=north}"}}`)
	p.write("repository/"+second, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\n  namespace: kcc\ndata:\n  text: '${unclosed'\n")
	p.write("repository/"+third, `{apiVersion: v1, kind: ConfigMap, metadata: {name: three, namespace: kcc}, data: {zone: "${GCP_ZONE:=south}"}}`)
	return p
}

func TestV1V2PivotManifestsAreFilledInFromTheConfigMapsOfTheSource(t *testing.T) {
	t.Parallel()
	p := gcp(t)
	p.source.put("/api/v1/namespaces/flux-system/configmaps/gcp-vars", `{"data":{"GCP_PROJECT":"acme","GCP_WIF_PROVIDER":"kind"}}`)
	p.source.put("/api/v1/namespaces/flux-system/configmaps/later-vars", `{"data":{"GCP_ZONE":"east"}}`)
	p.source.put("/api/v1/namespaces/default/configmaps/others", `{"data":{"GCP_ZONE":"nowhere"}}`)
	p.asks("target/pivot-manifests", "gone")

	if err := p.does("pivot-manifests"); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{"provider": "mgmt", "project": "acme", "preset": "east"}
	if diff := cmp.Diff(want, data(p.target.object(credentialsAt))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"zone": "east"}, data(p.target.object("/api/v1/namespaces/kcc/configmaps/three"))); diff != "" {
		t.Error(diff)
	}
	p.asks("target/pivot-manifests", "there")
	if got := p.source.written(); len(got) > 0 {
		t.Errorf("the source was written to: %v", got)
	}
}

func TestV3APlaceholderWithoutAValueIsNamed(t *testing.T) {
	t.Parallel()
	p := gcp(t)
	p.write("repository/"+first, `{apiVersion: v1, kind: ConfigMap, metadata: {name: credentials, namespace: capg-system}, data: {a: "${B} ${A} ${B} ${GCP_ZONE:=x}"}}`)

	err := p.does("pivot-manifests")
	const want = "pivot manifest '" + first + "' has unsubstituted placeholders (no ConfigMap data in flux-system provides them): B, A"
	if err == nil || err.Error() != want {
		t.Errorf("it says %v, want %s", err, want)
	}
	if got := p.target.written(); len(got) > 0 {
		t.Errorf("the target was written to: %v", got)
	}
	p.asks("target/pivot-manifests", "unknown")
}

func TestAManifestThatIsMissingIsNamedByItsAbsolutePath(t *testing.T) {
	t.Parallel()
	p := gcp(t)
	p.source.put("/api/v1/namespaces/flux-system/configmaps/gcp-vars", `{"data":{"GCP_PROJECT":"acme"}}`)
	for step, name := range map[string]string{"provider-manifests": "mgmt/gcp/capi-providers/capi-system/namespace.yaml", "pivot-manifests": third} {
		_ = os.Remove(filepath.Join(p.dir, "repository", name))
		if err := p.does(step); err == nil || !strings.Contains(err.Error(), filepath.Join(p.dir, "repository", name)) {
			t.Errorf("%s: %v", step, err)
		}
	}
}

func TestTheKubeconfigOfTheManagementClusterIsExported(t *testing.T) {
	t.Parallel()
	p := newPair(t, "gcp", nil)
	file := filepath.Join(p.dir, ".kube/krops-mgmt.yaml")
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := base64.StdEncoding.EncodeToString([]byte(p.source.access("europe-north1-management-admin")))
	p.source.put("/api/v1/namespaces/default/secrets/europe-north1-management-kubeconfig", `{"data":{"value":"`+secret+`"}}`)
	p.asks("source/mgmt-kubeconfig", "there")
	p.asks("source/kubeconfig-exported", "gone")

	if err := p.does("export-kubeconfig"); err != nil {
		t.Fatal(err)
	}

	p.asks("source/kubeconfig-exported", "there")
	for _, f := range []string{file, file + ".old"} {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", f, info.Mode())
		}
	}
	if old, err := os.ReadFile(file + ".old"); err != nil || string(old) != string(was) {
		t.Errorf("what was there is not kept: %v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "current-context: krops-mgmt") {
		t.Errorf("the context is not krops-mgmt: %v", err)
	}
}

func TestAnotherContextThanTheOneOfKindIsNoSource(t *testing.T) {
	t.Parallel()
	p := newPair(t, "gcp", map[string]string{"BOOTSTRAP_KUBECONTEXT": "production"})
	err := p.does("pivot-source")
	if err == nil || !strings.HasSuffix(err.Error(), "expected 'production'") || !strings.HasPrefix(err.Error(), "current kubectl context is '") {
		t.Errorf("it says %v", err)
	}
}

func TestKindIsNotDeletedWithoutAManagementClusterThatStandsAlone(t *testing.T) {
	t.Parallel()
	p := newPair(t, "gcp", nil)
	const want = "no Clusters on the management cluster; refusing to delete kind"
	if err := p.does("safety-check"); err == nil || err.Error() != want {
		t.Errorf("without a Cluster it says %v", err)
	}

	p.target.put("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/europe-north1-management", `{}`)
	p.target.put("/api/v1/namespaces/default/configmaps/krops-moved", `{"data":{"phase":"copying","move":"m","objects":""}}`)
	if err := p.does("safety-check"); err == nil || !strings.Contains(err.Error(), "not complete; refusing to delete kind") {
		t.Errorf("with half a move it says %v", err)
	}
}

func TestWhereTheInventoryIs(t *testing.T) {
	t.Parallel()
	const at = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/europe-north1-management"
	p := newPair(t, "gcp", nil)
	p.asks("target/inventory", "gone")
	p.asks("source/inventory", "unknown") // the rest of what a move would take cannot be listed
	p.source.put(at, `{}`)
	p.asks("source/inventory", "there")

	p.target.put(at, `{}`)
	p.asks("target/inventory", "there")
	p.target.put("/api/v1/namespaces/default/configmaps/krops-moved", `{"data":{"phase":"copying","move":"m","objects":""}}`)
	p.asks("target/inventory", "there")
	delete(p.kinds.clusters, "mgmt")
	p.asks("target/inventory", "unknown") // nothing can complete the copies any more
	p.target.put("/api/v1/namespaces/default/configmaps/krops-moved", `{"data":{"phase":"done","move":"m","objects":""}}`)
	p.asks("target/inventory", "there")
}
