package lab

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"sigs.k8s.io/yaml"
)

// The groups of Flux.
const (
	fluxInstances  = "fluxcd.controlplane.io"
	kustomizations = "kustomize.toolkit.fluxcd.io"
	sources        = "source.toolkit.fluxcd.io"
)

// FluxPlayer plays the Flux operator and the two controllers of Flux that matter: it
// pulls the artifact a FluxInstance names and applies its path, again and again
// unless it is suspended.
type FluxPlayer struct {
	*Client
	// Resolve returns where the registry of a name is reached, host:port.
	Resolve func(registry string) string
	Bare    bool // there is no controller manager: pods are made, not Deployments

	artifacts map[string]artifact // by URL and tag
	applied   map[string]time.Time
	defined   bool

	definitions map[string]bool // whose definitions were applied, by name and revision
}

// artifact is what was pulled.
type artifact struct {
	revision string
	files    map[string][]byte
}

// again is how long a Kustomization rests before it is applied again.
const again = 3 * time.Second

// Turn looks at everything once.
func (f *FluxPlayer) Turn(ctx context.Context) error {
	instances, err := f.listed(ctx, Kind(fluxInstances, "FluxInstance"), "")
	if err != nil {
		return err
	}
	var failed []error
	for i := range instances {
		failed = append(failed, f.instance(ctx, &instances[i]))
	}
	if len(instances) == 0 {
		return errors.Join(failed...)
	}
	f.artifacts = map[string]artifact{} // a tag may have moved
	list, err := f.listed(ctx, Kind(kustomizations, "Kustomization"), "")
	failed = append(failed, err)
	for i := range list {
		failed = append(failed, f.kustomization(ctx, &list[i]))
	}
	return errors.Join(failed...)
}

// instance makes what a FluxInstance asks for.
func (f *FluxPlayer) instance(ctx context.Context, o *Object) error {
	if !f.defined {
		if err := f.Install(ctx, Flux); err != nil {
			return err
		}
		f.defined = true
	}
	ns := o.GetNamespace()
	spec, _, _ := unstructured.NestedMap(o.Object, "spec", "sync") // checked by its definition
	if spec == nil {
		return f.settle(ctx, o, ready(o, nil))
	}
	kind, _ := spec["kind"].(string)
	ref, _ := spec["ref"].(string)
	source := map[string]any{"interval": "1m0s", "url": spec["url"]}
	if kind == "OCIRepository" {
		source["ref"] = map[string]any{"tag": ref}
	} else {
		source["ref"] = map[string]any{"name": ref}
		source["secretRef"] = map[string]any{"name": spec["pullSecret"]}
	}
	if f.insecure(o, kind) {
		source["insecure"] = true
	}
	objects := []*Object{
		object(sources+"/v1", kind, ns, "flux-system", map[string]any{"spec": source}),
		object(kustomizations+"/v1", "Kustomization", ns, "flux-system", map[string]any{"spec": map[string]any{
			"interval": "10m0s", "prune": true, "path": spec["path"], "sourceRef": map[string]any{"kind": kind, "name": "flux-system"},
		}}),
	}
	for _, name := range []string{"source-controller", "kustomize-controller"} {
		if f.Bare {
			pod := object("v1", "Pod", ns, name, map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"name": "main", "image": "lab.invalid/" + name}},
			}})
			pod.SetLabels(map[string]string{"app": name, "app.kubernetes.io/part-of": "flux"})
			objects = append(objects, pod)
			continue
		}
		d, err := Objects(strings.ReplaceAll(deployment(name, ", app.kubernetes.io/part-of: flux"), "{{ .Release.Namespace }}", ns))
		if err != nil {
			return err
		}
		objects = append(objects, d...)
	}
	if err := f.Apply(ctx, objects...); err != nil {
		return err
	}
	return f.settle(ctx, o, ready(o, nil))
}

// insecure tells whether a patch of the FluxInstance lets its source speak plain HTTP.
func (f *FluxPlayer) insecure(o *Object, kind string) bool {
	patches, _, _ := unstructured.NestedSlice(o.Object, "spec", "kustomize", "patches")
	for _, p := range patches {
		m, ok := p.(map[string]any)
		if !ok {
			continue
		}
		on, _, _ := unstructured.NestedString(m, "target", "kind")
		text, _ := m["patch"].(string)
		if on == kind && strings.Contains(text, "/spec/insecure") && strings.Contains(text, "true") {
			return true
		}
	}
	return false
}

// ready is the status of an object of Flux that is applied, or is not.
func ready(o *Object, err error) map[string]any {
	c := condition("Ready", true, "ReconciliationSucceeded", "applied")
	if err != nil {
		c = condition("Ready", false, "ReconciliationFailed", err.Error())
	}
	c["observedGeneration"] = o.GetGeneration()
	status := map[string]any{"conditions": []any{c}}
	if o.GetKind() == "Kustomization" {
		status["observedGeneration"] = o.GetGeneration()
	}
	return status
}

// kustomization applies what a Kustomization names.
func (f *FluxPlayer) kustomization(ctx context.Context, o *Object) error {
	if suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend"); suspended {
		return nil
	}
	if f.applied == nil {
		f.applied = map[string]time.Time{}
	}
	key := label(o)
	if Condition(o, "Ready") == "True" && time.Since(f.applied[key]) < again {
		return nil
	}
	err := f.reconcile(ctx, o)
	if ctx.Err() != nil {
		return err
	}
	f.applied[key] = time.Now()
	if writing := f.settle(ctx, o, ready(o, err)); writing != nil {
		return writing
	}
	return err
}

func (f *FluxPlayer) reconcile(ctx context.Context, o *Object) error {
	a, err := f.source(ctx, o)
	if err != nil {
		return err
	}
	needs, _, _ := unstructured.NestedSlice(o.Object, "spec", "dependsOn")
	for _, n := range needs {
		name, _ := n.(map[string]any)["name"].(string)
		on, err := f.Get(ctx, Kind(kustomizations, "Kustomization"), o.GetNamespace(), name)
		if err != nil {
			return err
		}
		if Condition(on, "Ready") != "True" {
			return fmt.Errorf("dependency '%s/%s' is not ready", o.GetNamespace(), name)
		}
	}
	objects, err := f.render(ctx, o, a)
	if err != nil {
		return err
	}
	where, err := f.destination(ctx, o)
	if err != nil {
		return err
	}
	// Definitions are large, and nobody changes them.
	done := label(o) + " " + a.revision
	if f.definitions == nil {
		f.definitions = map[string]bool{}
	}
	if f.definitions[done] {
		objects = slices.DeleteFunc(objects, func(o *Object) bool { return rank(o) == 1 })
	}
	if err := where.Apply(ctx, objects...); err != nil {
		return err
	}
	f.definitions[done] = true
	return where.healthy(ctx, o)
}

// source pulls the artifact of a Kustomization.
func (f *FluxPlayer) source(ctx context.Context, o *Object) (artifact, error) {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "sourceRef", "kind")
	name, _, _ := unstructured.NestedString(o.Object, "spec", "sourceRef", "name")
	ns, _, _ := unstructured.NestedString(o.Object, "spec", "sourceRef", "namespace")
	source, err := f.Get(ctx, Kind(sources, kind), cmp.Or(ns, o.GetNamespace()), name)
	if err != nil {
		return artifact{}, err
	}
	url, _, _ := unstructured.NestedString(source.Object, "spec", "url")
	tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag")
	insecure, _, _ := unstructured.NestedBool(source.Object, "spec", "insecure")
	if kind != "OCIRepository" {
		return artifact{}, fmt.Errorf("the lab has no %s", kind)
	}
	if !insecure {
		return artifact{}, fmt.Errorf("pull %s: server gave HTTP response to HTTPS client", url)
	}
	if a, ok := f.artifacts[url+tag]; ok {
		return a, nil
	}
	registry, repository, _ := strings.Cut(strings.TrimPrefix(url, "oci://"), "/")
	a, err := pull(ctx, f.Resolve(registry)+"/"+repository, tag)
	if err != nil {
		return artifact{}, errors.Join(fmt.Errorf("pull %s:%s: %w", url, tag, err), f.settle(ctx, source, ready(source, err)))
	}
	f.artifacts[url+tag] = a
	status := ready(source, nil)
	status["artifact"] = map[string]any{
		"revision": a.revision, "path": "x", "url": "http://source-controller/x", "digest": a.revision[strings.Index(a.revision, "@")+1:],
		"lastUpdateTime": "2026-01-01T00:00:00Z",
	}
	return a, f.settle(ctx, source, status)
}

// Media types of an artifact of Flux.
const (
	fluxConfig  = "application/vnd.cncf.flux.config.v1+json"
	fluxContent = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// pull fetches an artifact as the source-controller does.
func pull(ctx context.Context, name, tag string) (artifact, error) {
	repository, err := remote.NewRepository(name)
	if err != nil {
		return artifact{}, err
	}
	repository.PlainHTTP = true
	at, err := repository.Resolve(ctx, tag)
	if err != nil {
		return artifact{}, err
	}
	text, err := content.FetchAll(ctx, repository, at)
	if err != nil {
		return artifact{}, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return artifact{}, err
	}
	if manifest.Config.MediaType != fluxConfig || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != fluxContent {
		return artifact{}, fmt.Errorf("no artifact of Flux: configuration %s, layers %v", manifest.Config.MediaType, manifest.Layers)
	}
	layer, err := content.FetchAll(ctx, repository, manifest.Layers[0])
	if err != nil {
		return artifact{}, err
	}
	files, err := untar(layer)
	return artifact{revision: tag + "@" + at.Digest.String(), files: files}, err
}

func untar(layer []byte) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	archive := tar.NewReader(unzipped)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[path.Clean(h.Name)], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

// render reads the objects of the path of a Kustomization: those that its
// kustomization.yaml names, all that are below it where there is none.
func (f *FluxPlayer) render(ctx context.Context, o *Object, a artifact) ([]*Object, error) {
	dir, _, _ := unstructured.NestedString(o.Object, "spec", "path")
	dir = path.Clean(strings.TrimPrefix(dir, "./"))
	var objects []*Object
	for _, name := range a.resources(dir) {
		text, err := f.substitute(ctx, o, string(a.files[name]))
		if err != nil {
			return nil, err
		}
		list, err := Objects(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, list...)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("kustomization path not found: %s", dir)
	}
	slices.SortStableFunc(objects, func(a, b *Object) int { return cmp.Compare(rank(a), rank(b)) })
	return objects, nil
}

// resources are the files that a directory stands for.
func (a artifact) resources(dir string) []string {
	var list struct{ Resources []string }
	var names []string
	if text, ok := a.files[path.Join(dir, "kustomization.yaml")]; ok {
		_ = yaml.Unmarshal(text, &list) // what cannot be read names nothing, which is an error later
		for _, name := range list.Resources {
			name = path.Join(dir, name)
			if _, file := a.files[name]; file {
				names = append(names, name)
			} else {
				names = append(names, a.resources(name)...)
			}
		}
		return names
	}
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		if strings.HasPrefix(name, dir+"/") && path.Ext(name) == ".yaml" {
			names = append(names, name)
		}
	}
	return names
}

// rank is the order in which objects are applied.
func rank(o *Object) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	}
	return 2
}

var variable = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)(?::=([^}]*))?\}`)

// substitute fills in variables from the ConfigMaps that postBuild names.
func (f *FluxPlayer) substitute(ctx context.Context, o *Object, text string) (string, error) {
	from, found, _ := unstructured.NestedSlice(o.Object, "spec", "postBuild", "substituteFrom")
	if !found {
		return text, nil
	}
	values := map[string]string{}
	for _, s := range from {
		m, _ := s.(map[string]any)
		name, _ := m["name"].(string)
		optional, _ := m["optional"].(bool)
		c, err := f.Get(ctx, Kind("", "ConfigMap"), o.GetNamespace(), name)
		if err != nil && !optional {
			return "", err
		}
		if err == nil {
			data, _, _ := unstructured.NestedStringMap(c.Object, "data")
			maps.Copy(values, data)
		}
	}
	return variable.ReplaceAllStringFunc(text, func(place string) string {
		m := variable.FindStringSubmatch(place)
		return cmp.Or(values[m[1]], m[2])
	}), nil
}

// destination is the cluster a Kustomization applies to.
func (f *FluxPlayer) destination(ctx context.Context, o *Object) (*Client, error) {
	name, found, _ := unstructured.NestedString(o.Object, "spec", "kubeConfig", "secretRef", "name")
	if !found {
		return f.Client, nil
	}
	secret, err := f.Get(ctx, Kind("", "Secret"), o.GetNamespace(), name)
	if err != nil {
		return nil, err
	}
	coded, _, _ := unstructured.NestedString(secret.Object, "data", "value")
	text, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return nil, err
	}
	rc, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, err
	}
	// It is reached by the name that it has among the containers.
	if at, err := url.Parse(rc.Host); err == nil && f.Resolve != nil {
		rc.Host, rc.ServerName = "https://"+f.Resolve(at.Host), "localhost"
	}
	return NewClient(rc)
}

// healthy checks the objects a Kustomization calls its health.
func (c *Client) healthy(ctx context.Context, o *Object) error {
	checks, _, _ := unstructured.NestedSlice(o.Object, "spec", "healthChecks")
	for _, check := range checks {
		m, _ := check.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		group, _, _ := strings.Cut(text("apiVersion"), "/")
		is, err := c.Get(ctx, Kind(group, text("kind")), text("namespace"), text("name"))
		if err != nil {
			return err
		}
		if Condition(is, "Available") != "True" && Condition(is, "Ready") != "True" {
			return fmt.Errorf("%s is not ready", label(is))
		}
	}
	return nil
}

// object makes an object.
func object(version, kind, ns, name string, fields map[string]any) *Object {
	o := &Object{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}}
	if ns != "" {
		o.SetNamespace(ns)
	}
	maps.Copy(o.Object, fields)
	return o
}
