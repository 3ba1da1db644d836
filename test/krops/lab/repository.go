package lab

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"sigs.k8s.io/yaml"
)

// The names of the environment that the repository of the lab describes.
const (
	Management = "local-management"
	Workload   = "local-workload"
	FluxSystem = "flux-system"
)

// Repository writes a repository of the environment local-host and commits it. more
// are files that are added or replace others; one that is "" is left out.
func Repository(dir, kindCluster string, sources ChartSources, more map[string]string) error {
	operator, err := Definitions(CAPIOperator)
	if err != nil {
		return err
	}
	var definitions strings.Builder
	for _, d := range operator {
		text, err := yaml.Marshal(d.Object)
		if err != nil {
			return err
		}
		definitions.WriteString("---\n" + string(text))
	}
	const mgmt = "mgmt/local-host/"
	providers := strings.Split(Providers("v1.14.2"), "---\n")
	files := map[string]string{
		"bootstrap.toml": config(kindCluster, sources),
		// What Flux reads first: one Kustomization for each part.
		mgmt + "kustomization.yaml": "resources: [flux]\n",
		mgmt + "flux/parts.yaml": kustomizationOf("capi-operator", mgmt+"capi-operator", "") +
			kustomizationOf("capi-providers", mgmt+"capi-providers", "capi-operator") +
			kustomizationOf("management-cluster", mgmt+"clusters/management", "capi-providers") +
			kustomizationOf("docker-workload-cluster", mgmt+"clusters/workload", "capi-providers") +
			kustomizationOf("flux-apps", mgmt+"apps", "docker-workload-cluster") + `  healthChecks:
    - {apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, namespace: default, name: ` + Workload + `}
` + strings.Replace(
			strings.Replace(kustomizationOf("workload-flux", "workload/local-host", ""), "namespace: "+FluxSystem, "namespace: default", 1),
			"name: flux-system}", "name: flux-system, namespace: flux-system}", 1) +
			"  kubeConfig: {secretRef: {name: " + Workload + "-kubeconfig}}\n",
		mgmt + "capi-operator/definitions.yaml":            definitions.String(),
		mgmt + "capi-providers/capi-system/namespace.yaml": providers[1],
		mgmt + "capi-providers/capi-system/providers.yaml": strings.Join(providers[3:6], "---\n"),
		mgmt + "capi-providers/capd-system/namespace.yaml": providers[2],
		mgmt + "capi-providers/capd-system/provider.yaml":  providers[6],
		mgmt + "clusters/management/cluster.yaml":          Cluster("default", Management),
		mgmt + "clusters/workload/cluster.yaml":            Cluster("default", Workload),
		mgmt + "apps/settings.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data: {region: here}
`,
		"workload/local-host/flux.yaml": `apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  distribution: {version: "2.x", registry: ghcr.io/fluxcd}
  sync: {kind: OCIRepository, url: "oci://krops-registry:5000/krops", ref: latest, path: workload/local-host/apps}
  kustomize:
    patches: [{target: {kind: OCIRepository}, patch: '[{"op": "add", "path": "/spec/insecure", "value": true}]'}]
`,
		"workload/local-host/kustomization.yaml": "resources: [flux.yaml]\n",
		"workload/local-host/apps/app.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: default}
data: {app: here}
`,
		"README.md": "A repository of the lab.\n",
	}
	maps.Copy(files, more)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			return err
		}
	}
	return commit(dir)
}

// ChartSources are where the charts are pulled from.
type ChartSources struct{ Flux, CertManager, CAPIOperator string }

func config(kindCluster string, s ChartSources) string {
	return fmt.Sprintf(`[bootstrap]
default-environment = "local-host"
git-branch          = "main"
kind-cluster        = "%[1]s"
kind-context        = "kind-%[1]s"
registry-name       = "krops-registry"
flux-namespace      = "flux-system"
github-pat-secret   = "flux-github-pat"
sops-age-secret     = "sops-age"
mgmt-namespace      = "default"
mgmt-context        = "krops-mgmt"

[charts]
flux-operator = "0.58.0"
cert-manager  = "1.21.2"
capi-operator = "0.29.0"

[chart-sources]
flux          = "%[2]s"
cert-manager  = "%[3]s"
capi-operator = "%[4]s"

[environments.local-host]
kind                     = "local-host"
sync                     = "oci"
sync-path                = "mgmt/local-host"
mgmt-cluster             = "local-management"
mgmt-ready-timeout       = "3m"
infra-provider-namespace = "capd-system"
infra-provider-name      = "docker"
provider-manifests = [
  "mgmt/local-host/capi-providers/capi-system/namespace.yaml",
  "mgmt/local-host/capi-providers/capi-system/providers.yaml",
  "mgmt/local-host/capi-providers/capd-system/namespace.yaml",
  "mgmt/local-host/capi-providers/capd-system/provider.yaml",
]

[environments.local-host.teardown]
capi-workloads        = ["local-workload"]
mgmt-container-prefix = "local-management"
`, kindCluster, s.Flux, s.CertManager, s.CAPIOperator)
}

// kustomizationOf is a Kustomization of a part of the repository.
func kustomizationOf(name, path, after string) string {
	text := `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: ` + name + `, namespace: ` + FluxSystem + `}
spec:
  interval: 10m
  prune: false
  path: ./` + path + `
  sourceRef: {kind: OCIRepository, name: flux-system}
`
	if after != "" {
		text += "  dependsOn: [{name: " + after + "}]\n"
	}
	return text
}

func commit(dir string) error {
	repository, err := git.PlainInit(dir, false)
	if err != nil {
		return err
	}
	tree, err := repository.Worktree()
	if err != nil {
		return err
	}
	if err := tree.AddWithOptions(&git.AddOptions{All: true}); err != nil {
		return err
	}
	_, err = tree.Commit("the lab", &git.CommitOptions{Author: &gitobject.Signature{Name: "lab", Email: "lab@example.com", When: time.Unix(1767225600, 0)}})
	return err
}
