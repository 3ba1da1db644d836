package lab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"sigs.k8s.io/yaml"
)

// A Chart is a chart of Helm that installs the real definitions and no program.
type Chart struct {
	Name, Version string
	Templates     map[string]string
	Sets          []string // of definitions, installed by a template as the real charts do
}

// deployment is a Deployment of a chart, whose pods the kubelet of the lab plays.
func deployment(name, labels string) string {
	return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: "{{ .Release.Namespace }}", labels: {app: ` + name + `}}
spec:
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + labels + `}}
    spec: {containers: [{name: main, image: lab.invalid/` + name + `}]}
`
}

// FluxOperatorChart is the chart flux-operator.
func FluxOperatorChart(version string) Chart {
	return Chart{Name: "flux-operator", Version: version, Sets: []string{FluxOperator}, Templates: map[string]string{
		"operator.yaml": deployment("flux-operator", ""),
	}}
}

// FluxInstanceChart is the chart flux-instance: the FluxInstance with the values given.
func FluxInstanceChart(version string) Chart {
	return Chart{Name: "flux-instance", Version: version, Templates: map[string]string{"instance.yaml": `apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: "{{ .Release.Namespace }}"}
spec:
  distribution: {version: "2.x", registry: ghcr.io/fluxcd}
  components: [source-controller, kustomize-controller]
  cluster: {{ toJson .Values.instance.cluster }}
  sync: {{ toJson .Values.instance.sync }}
{{- with .Values.instance.kustomize }}
  kustomize: {{ toJson . }}
{{- end }}
`}}
}

// CertManagerChart is the chart cert-manager; crds.enabled installs its definitions.
func CertManagerChart(version string) Chart {
	return Chart{Name: "cert-manager", Version: version, Sets: []string{CertManager}, Templates: map[string]string{
		"deployments.yaml": deployment("cert-manager", "") + "---\n" + deployment("cert-manager-cainjector", "") + "---\n" + deployment("cert-manager-webhook", ""),
	}}
}

// CAPIOperatorChart is the chart cluster-api-operator.
func CAPIOperatorChart(version string) Chart {
	return Chart{Name: "cluster-api-operator", Version: version, Sets: []string{CAPIOperator}, Templates: map[string]string{
		"deployment.yaml": deployment("capi-operator-controller-manager", ""),
	}}
}

// metadata is its Chart.yaml.
func (c Chart) metadata() map[string]any {
	return map[string]any{"apiVersion": "v2", "name": c.Name, "version": c.Version, "appVersion": c.Version, "type": "application", "description": "a double of the lab"}
}

// Pack returns the archive of the chart, the same for the same chart.
func (c Chart) Pack() ([]byte, error) {
	about, err := yaml.Marshal(c.metadata())
	if err != nil {
		return nil, err
	}
	files := map[string]string{"Chart.yaml": string(about), "values.yaml": "crds: {enabled: true}\n"}
	for name, text := range c.Templates {
		files["templates/"+name] = text
	}
	if len(c.Sets) > 0 {
		definitions, err := Definitions(c.Sets...)
		if err != nil {
			return nil, err
		}
		var all strings.Builder
		for _, d := range definitions {
			text, err := yaml.Marshal(d.Object)
			if err != nil {
				return nil, err
			}
			all.WriteString("---\n" + string(text))
		}
		// Their descriptions are no templates.
		files["files/definitions.yaml"] = all.String()
		files["templates/definitions.yaml"] = "{{- if .Values.crds.enabled }}\n{{ .Files.Get \"files/definitions.yaml\" }}\n{{- end }}\n"
	}
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := archive.WriteHeader(&tar.Header{Name: c.Name + "/" + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			return nil, err
		}
		if _, err := archive.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Push puts the chart into a registry as Helm does: oci://host/path/name:version.
func (c Chart) Push(ctx context.Context, registry string) error {
	archive, err := c.Pack()
	if err != nil {
		return err
	}
	about, err := json.Marshal(c.metadata())
	if err != nil {
		return err
	}
	store := memory.New()
	layer, err := oras.PushBytes(ctx, store, "application/vnd.cncf.helm.chart.content.v1.tar+gzip", archive)
	if err != nil {
		return err
	}
	config, err := oras.PushBytes(ctx, store, "application/vnd.cncf.helm.config.v1+json", about)
	if err != nil {
		return err
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{ConfigDescriptor: &config, Layers: []ocispec.Descriptor{layer}})
	if err != nil {
		return err
	}
	if err := store.Tag(ctx, manifest, c.Version); err != nil {
		return err
	}
	repository, err := remote.NewRepository(strings.TrimPrefix(registry, "oci://") + "/" + c.Name)
	if err != nil {
		return err
	}
	repository.PlainHTTP = true
	_, err = oras.Copy(ctx, store, c.Version, repository, c.Version, oras.DefaultCopyOptions)
	return err
}

// ChartRepository serves charts as a repository of Helm over HTTP.
func ChartRepository(charts ...Chart) (http.Handler, error) {
	entries := map[string][]map[string]any{}
	archives := map[string][]byte{}
	for _, c := range charts {
		archive, err := c.Pack()
		if err != nil {
			return nil, err
		}
		file := c.Name + "-" + c.Version + ".tgz"
		sum := sha256.Sum256(archive)
		entry := c.metadata()
		entry["urls"], entry["digest"], entry["created"] = []string{file}, hex.EncodeToString(sum[:]), "2026-01-01T00:00:00Z"
		entries[c.Name] = append(entries[c.Name], entry)
		archives["/"+file] = archive
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "generated": "2026-01-01T00:00:00Z", "entries": entries})
	if err != nil {
		return nil, err
	}
	archives["/index.yaml"] = index
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := archives[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}), nil
}

// Charts has the charts of a bootstrap in the versions given, OCI ones first.
func Charts(versions map[string]string) (oci, repository []Chart, err error) {
	for _, name := range []string{"flux-operator", "cert-manager", "capi-operator"} {
		if versions[name] == "" {
			return nil, nil, fmt.Errorf("no version of chart %s", name)
		}
	}
	flux := versions["flux-operator"]
	return []Chart{FluxOperatorChart(flux), FluxInstanceChart(flux)},
		[]Chart{CertManagerChart(versions["cert-manager"]), CAPIOperatorChart(versions["capi-operator"])}, nil
}
