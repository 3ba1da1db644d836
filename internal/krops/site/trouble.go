package site

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// grace is how long a failure that does not pass by itself is watched before it is
// believed: what it is due to may still be on its way.
const grace = 2 * time.Minute

// trouble is what objects of Flux say that are not ready.
type trouble struct {
	lines []string
	fatal map[string]string // what does not pass by itself, by the name of the object
}

// why says it in a few words.
func (t *trouble) why() string { return strings.Join(t.lines, "\n") }

// look takes note of an object that is not ready.
func (t *trouble) look(u *unstructured.Unstructured) {
	if suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); suspended {
		return
	}
	status, reason, message, ok := kube.Condition(u, "Ready")
	stalled, why, about, _ := kube.Condition(u, "Stalled")
	if stalled == "True" {
		status, reason, message = "False", why, about
	}
	if status == "True" || !ok && stalled != "True" {
		return
	}
	name := u.GetKind() + " " + kube.Name(u)
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	line := strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", name, reason, first), ": ")
	t.lines = append(t.lines, line)
	if stalled == "True" || status == "False" && lasting(reason, message) {
		if t.fatal == nil {
			t.fatal = map[string]string{}
		}
		t.fatal[name] = line
	}
}

// lasting tells whether a failure stays as it is until somebody changes something:
// the repository is wrong, or the credentials are.
func lasting(reason, message string) bool {
	switch reason {
	case "BuildFailed", "AuthenticationFailed", "RetriesExceeded", "InvalidURL", "URLInvalid", "DependencyCycle":
		return true
	case "GitOperationFailed", "OCIArtifactPullFailed", "OCIPullFailed", "OCIOperationFailed":
		message = strings.ToLower(message)
		return slices.ContainsFunc([]string{"authentication required", "authorization failed", "unauthorized", "401", "403", "denied"},
			func(sign string) bool { return strings.Contains(message, sign) })
	}
	return false
}

// from takes note of what keeps a Kustomization from being ready: the sources of
// the namespace, the Kustomization itself and all it depends on.
func (t *trouble) from(ctx context.Context, c *kube.Cluster, namespace, name string) {
	for _, kind := range []string{"GitRepository", "OCIRepository"} {
		// What cannot be listed says nothing. The next look may.
		list, _ := c.List(ctx, schema.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: kind}, namespace)
		for i := range list {
			if list[i].GetName() == fluxSync {
				t.look(&list[i])
			}
		}
	}
	list, _ := c.List(ctx, kube.Kustomization, namespace)
	for _, u := range needed(list, namespace, name, fluxSync) {
		t.look(u)
	}
}

// needed returns the Kustomizations of those names with all they depend on.
func needed(list []unstructured.Unstructured, namespace string, names ...string) []*unstructured.Unstructured {
	byName := map[string]*unstructured.Unstructured{}
	for i := range list {
		byName[kube.Name(&list[i])] = &list[i]
	}
	var found []*unstructured.Unstructured
	seen := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		u := byName[name]
		if u == nil || seen[name] {
			return
		}
		seen[name] = true
		before, _, _ := unstructured.NestedSlice(u.Object, "spec", "dependsOn")
		for _, d := range before {
			on, _ := d.(map[string]any)
			name, _ := on["name"].(string)
			in, _ := on["namespace"].(string)
			if in == "" {
				in = u.GetNamespace()
			}
			walk(in + "/" + name)
		}
		found = append(found, u)
	}
	for _, name := range names {
		walk(namespace + "/" + name)
	}
	return found
}

// patience remembers since when an object has been in trouble that does not pass.
type patience struct {
	now   func() time.Time
	since map[string]time.Time
}

// with returns an error once a trouble has lasted too long. One that is over, be it
// for a moment, is forgotten.
func (p *patience) with(t *trouble) error {
	now := p.now()
	since := map[string]time.Time{}
	var over []string
	for name, line := range t.fatal {
		first, known := p.since[name]
		if !known {
			first = now
		}
		since[name] = first
		if now.Sub(first) >= grace {
			over = append(over, line)
		}
	}
	p.since = since
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	return fmt.Errorf("this does not pass by itself: %s", strings.Join(over, "; "))
}
