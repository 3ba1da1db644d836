package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is how a server serves a kind.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// path returns where an object is, or with no name where its like are listed. No
// namespace is all of them.
func (r resource) path(namespace, name string) []string {
	segments := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		segments = []string{"/api", r.Version}
	}
	if r.namespaced && namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	segments = append(segments, r.Resource)
	if name != "" {
		segments = append(segments, name)
	}
	return segments
}

// KindError tells that a server does not have a kind.
type KindError struct {
	Kind schema.GroupKind
	// Incomplete says why the server could not list all its kinds; the kind may
	// be one of the others then. It is nil when it listed them.
	Incomplete error
}

// Error names the kind.
func (e *KindError) Error() string {
	name := e.Kind.Kind
	if e.Kind.Group != "" {
		name += " of " + e.Kind.Group
	}
	if e.Incomplete != nil {
		return "the server could not tell whether it has the kind " + name + ": " + e.Incomplete.Error()
	}
	return "the server does not have the kind " + name
}

// Unwrap returns why the server could not tell.
func (e *KindError) Unwrap() error { return e.Incomplete }

// answerError is an answer that makes no sense.
type answerError struct{ what string }

func (e *answerError) Error() string { return "unreadable answer: " + e.what }

// with calls act with how the server serves a kind. A server that no longer knows
// the path is asked once more how it serves the kind.
func (c *Cluster) with(ctx context.Context, kind schema.GroupKind, act func(r resource) error) error {
	for first := true; ; first = false {
		r, known, err := c.resolve(ctx, kind)
		if err != nil {
			return err
		}
		err = act(r)
		if !first || !pageMissing(err) {
			return err
		}
		c.forget(kind)
		if !known {
			return err
		}
	}
}

// resolve tells how the server serves a kind, and whether that was known before.
func (c *Cluster) resolve(ctx context.Context, kind schema.GroupKind) (r resource, known bool, err error) {
	c.mu.Lock()
	r, known = c.kinds[kind]
	c.mu.Unlock()
	if known {
		return r, true, nil
	}
	if r, err = c.discover(ctx, kind); err != nil {
		return resource{}, false, err
	}
	c.mu.Lock()
	c.kinds[kind] = r
	c.mu.Unlock()
	return r, false, nil
}

func (c *Cluster) forget(kind schema.GroupKind) {
	c.mu.Lock()
	delete(c.kinds, kind)
	c.mu.Unlock()
}

// discover asks how the server serves a kind: in the version it prefers, else in
// another it has the kind in. Only the group of the kind is asked for: what
// another group does proves nothing of this one.
func (c *Cluster) discover(ctx context.Context, kind schema.GroupKind) (resource, error) {
	versions, err := c.versions(ctx, kind)
	if err != nil {
		return resource{}, err
	}
	var incomplete error
	for _, version := range versions {
		r, ok, err := c.served(ctx, schema.GroupVersion{Group: kind.Group, Version: version}, kind.Kind)
		switch {
		case ok:
			return r, nil
		case err != nil && incomplete == nil:
			incomplete = err
		}
	}
	if incomplete != nil {
		return resource{}, fmt.Errorf("ask which kinds of %s there are: %w", cmp.Or(kind.Group, "the core"), incomplete)
	}
	return resource{}, &KindError{Kind: kind}
}

// versions lists those of the group of a kind, the preferred one first.
func (c *Cluster) versions(ctx context.Context, kind schema.GroupKind) ([]string, error) {
	if kind.Group == "" {
		return []string{"v1"}, nil
	}
	var group metav1.APIGroup
	err := c.index(ctx, "/apis/"+kind.Group, "APIGroup", &group)
	if pageMissing(err) {
		return nil, c.noGroup(ctx, kind)
	}
	if err != nil {
		return nil, err
	}
	if group.Name != kind.Group {
		return nil, &answerError{"another group than " + kind.Group}
	}
	var versions []string
	if group.PreferredVersion.Version != "" {
		versions = append(versions, group.PreferredVersion.Version)
	}
	for _, v := range group.Versions {
		if v.Version != "" && !slices.Contains(versions, v.Version) {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// noGroup makes sure that a group is missing: something between here and the
// server may have said so.
func (c *Cluster) noGroup(ctx context.Context, kind schema.GroupKind) error {
	var groups metav1.APIGroupList
	if err := c.index(ctx, "/apis", "APIGroupList", &groups); err != nil {
		return fmt.Errorf("ask which groups of kinds there are: %w", err)
	}
	for _, g := range groups.Groups {
		if g.Name == kind.Group {
			return &KindError{Kind: kind, Incomplete: fmt.Errorf("group %s is listed but not served", kind.Group)}
		}
	}
	if len(groups.Groups) == 0 {
		return &KindError{Kind: kind, Incomplete: &answerError{"no groups at all"}}
	}
	return &KindError{Kind: kind}
}

// served tells how the server serves a kind in a version.
func (c *Cluster) served(ctx context.Context, version schema.GroupVersion, kind string) (resource, bool, error) {
	path := "/apis/" + version.String()
	if version.Group == "" {
		path = "/api/" + version.Version
	}
	var list metav1.APIResourceList
	if err := c.index(ctx, path, "APIResourceList", &list); err != nil {
		return resource{}, false, err
	}
	for _, r := range list.APIResources {
		if r.Kind == kind && !strings.Contains(r.Name, "/") {
			return resource{version.WithResource(r.Name), kind, r.Namespaced}, true, nil
		}
	}
	return resource{}, false, nil
}

// index reads what a server tells of what it serves.
func (c *Cluster) index(ctx context.Context, path, kind string, into any) error {
	answer, err := c.ask(ctx, c.rest.Get().AbsPath(path))
	if err != nil {
		return err
	}
	var is metav1.TypeMeta
	if err := json.Unmarshal(answer, &is); err != nil || is.Kind != kind {
		return &answerError{"no " + kind + " at " + path}
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return &answerError{"no " + kind + " at " + path}
	}
	return nil
}
