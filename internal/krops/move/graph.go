package move

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// key identifies an object on any cluster.
type key struct {
	schema.GroupKind

	namespace, name string
}

// String is how the object is called in messages.
func (k key) String() string {
	if k.namespace == "" {
		return k.Kind + " " + k.name
	}
	return k.Kind + " " + k.namespace + "/" + k.name
}

// node is an object of the source and what ties it to others.
type node struct {
	key

	kind   kind
	object *unstructured.Unstructured
	uid    types.UID
	owners []types.UID // by reference
	soft   []*node     // by name only

	force, tree bool // moved by itself; with all it owns
	taken       bool // a move takes it
	ofCluster   bool // a Cluster is above it, or it is one
	worldwide   bool // below an object that lives in no namespace
	keep        bool // not deleted at the source
	level       int  // after how many generations of owners it can be made; -1 never
}

// graph is what the library would find in a namespace, found by ourselves: the
// one is checked against the other.
type graph struct {
	namespace string
	kinds     kinds
	nodes     []*node // sorted by key
	byUID     map[types.UID]*node
	providers []provider
}

// provider is an entry of the inventory of providers.
type provider struct{ name, kind, namespace, version string }

// discover builds the graph of a namespace.
func (s *side) discover(ctx context.Context, namespace string) (*graph, error) {
	found, err := s.kinds(ctx)
	if err != nil {
		return nil, err
	}
	g := &graph{namespace: namespace, kinds: found, byUID: map[types.UID]*node{}}
	if g.providers, err = s.providers(ctx, found); err != nil {
		return nil, err
	}
	for _, k := range g.known() {
		where := []string{namespace}
		if k.global {
			where = []string{""}
		}
		if k.GroupKind() == kube.Secret {
			for _, p := range g.providers {
				if p.kind == "InfrastructureProvider" && !slices.Contains(where, p.namespace) {
					where = append(where, p.namespace)
				}
			}
		}
		for _, in := range where {
			if err := s.each(ctx, k.gvr(), k.Kind, in, page, func(u *unstructured.Unstructured) error { g.add(k, u); return nil }); err != nil {
				return nil, fmt.Errorf("list %s of the %s cluster: %w", k.resource, s.name, err)
			}
		}
	}
	if err := s.foreignClasses(ctx, g); err != nil {
		return nil, err
	}
	shared, err := s.sharedClasses(ctx, g)
	if err != nil {
		return nil, err
	}
	g.link(shared)
	return g, nil
}

// known lists the kinds the library looks for.
func (g *graph) known() []kind {
	var list []kind
	for _, k := range g.kinds {
		if k.known {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b kind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return list
}

func (s *side) providers(ctx context.Context, found kinds) ([]provider, error) {
	k, ok := found[providerKind]
	if !ok {
		return nil, nil
	}
	var list []provider
	err := s.each(ctx, k.gvr(), k.Kind, "", page, func(u *unstructured.Unstructured) error {
		text := func(field string) string { v, _, _ := unstructured.NestedString(u.Object, field); return v }
		list = append(list, provider{cmp.Or(text("providerName"), u.GetName()), text("type"), u.GetNamespace(), text("version")})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the providers of the %s cluster: %w", s.name, err)
	}
	return list, nil
}

func (g *graph) add(k kind, u *unstructured.Unstructured) *node {
	if n := g.byUID[u.GetUID()]; n != nil {
		return n
	}
	u = u.DeepCopy()
	n := &node{key: key{k.GroupKind(), u.GetNamespace(), u.GetName()}, kind: k, object: u, uid: u.GetUID(), force: k.move, tree: k.hierarchy, level: -1}
	for _, o := range u.GetOwnerReferences() {
		n.owners = append(n.owners, o.UID)
	}
	if _, ok := u.GetLabels()[moveLabel]; ok {
		n.force = true
	}
	if _, ok := u.GetLabels()[treeLabel]; ok {
		n.tree = true
	}
	g.nodes = append(g.nodes, n)
	g.byUID[n.uid] = n
	return n
}

// foreignClasses adds the ClusterClasses of other namespaces that Clusters use,
// with their templates.
func (s *side) foreignClasses(ctx context.Context, g *graph) error {
	for _, n := range slices.Clone(g.nodes) {
		if n.GroupKind != kube.CAPICluster {
			continue
		}
		class, in := classOf(n.object)
		if class == "" || in == g.namespace {
			continue
		}
		k, ok := g.kinds[kube.CAPIClusterClass]
		if !ok {
			return fmt.Errorf("%s uses a ClusterClass, and the source has no such kind", n.key)
		}
		u, err := s.get(ctx, k.gvr(), in, class)
		if err != nil {
			return fmt.Errorf("get ClusterClass %s/%s: %w", in, class, err)
		}
		if u == nil {
			return fmt.Errorf("ClusterClass %s/%s, which %s uses, does not exist", in, class, n.key)
		}
		if g.byUID[u.GetUID()] != nil {
			continue
		}
		for _, ref := range references(g.add(k, u).object) {
			k, ok := g.kinds[ref.GroupKind]
			if !ok || ref.namespace != in {
				continue
			}
			t, err := s.get(ctx, k.gvr(), in, ref.name)
			if err != nil {
				return fmt.Errorf("get %s: %w", ref, err)
			}
			if t != nil {
				g.add(k, t)
			}
		}
	}
	return nil
}

// sharedClasses lists the ClusterClasses of the namespace that Clusters of others use.
func (s *side) sharedClasses(ctx context.Context, g *graph) (map[string]bool, error) {
	shared := map[string]bool{}
	k, ok := g.kinds[kube.CAPICluster]
	if !ok {
		return shared, nil
	}
	err := s.each(ctx, k.gvr(), k.Kind, "", page, func(u *unstructured.Unstructured) error {
		if class, in := classOf(u); class != "" && in == g.namespace && u.GetNamespace() != g.namespace {
			shared[class] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the Clusters of the source cluster: %w", err)
	}
	return shared, nil
}

// classOf returns the ClusterClass of a Cluster.
func classOf(u *unstructured.Unstructured) (name, namespace string) {
	name, _, _ = unstructured.NestedString(u.Object, "spec", "topology", "classRef", "name")
	namespace, _, _ = unstructured.NestedString(u.Object, "spec", "topology", "classRef", "namespace")
	return name, cmp.Or(namespace, u.GetNamespace())
}

// link ties the nodes together and decides what a move takes.
func (g *graph) link(shared map[string]bool) {
	slices.SortFunc(g.nodes, func(a, b *node) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
	g.soften()
	below := map[*node][]*node{}
	owned := map[*node][]*node{}
	for _, n := range g.nodes {
		for _, uid := range n.owners {
			if o := g.byUID[uid]; o != nil {
				below[o], owned[o] = append(below[o], n), append(owned[o], n)
			}
		}
		for _, o := range n.soft {
			below[o] = append(below[o], n)
		}
	}
	for _, n := range g.nodes {
		if n.force {
			n.taken = true
		}
		if n.tree {
			descend(n, below, func(d *node) bool { d.taken, d.worldwide = true, d.worldwide || n.kind.global; return true })
		}
		if n.GroupKind == kube.CAPICluster {
			descend(n, owned, func(d *node) bool { d.ofCluster = true; return true })
		}
		if n.GroupKind == kube.CAPIClusterClass && (n.namespace != g.namespace || shared[n.name]) {
			descend(n, owned, func(d *node) bool { d.keep = true; return true })
		}
	}
	for _, n := range g.nodes {
		n.keep = n.keep || n.worldwide || n.kind.global
	}
	g.rank()
}

// descend calls act with a node and all below it, each once.
func descend(n *node, below map[*node][]*node, act func(*node) bool) {
	seen := map[*node]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if seen[n] || !act(n) {
			return
		}
		seen[n] = true
		for _, d := range below[n] {
			visit(d)
		}
	}
	visit(n)
}

// soften ties what belongs together by name only: the secrets of a Cluster, a
// Cluster to its class, the binding of a resource set to its Cluster.
func (g *graph) soften() {
	at := map[key]*node{}
	for _, n := range g.nodes {
		at[n.key] = n
	}
	for _, n := range g.nodes {
		var owner key
		switch n.GroupKind {
		case kube.Secret:
			cluster, _, err := secret.ParseSecretName(n.name)
			if len(n.owners) > 0 || err != nil {
				continue
			}
			owner = key{kube.CAPICluster, n.namespace, cluster}
		case kube.CAPICluster:
			class, in := classOf(n.object)
			owner = key{kube.CAPIClusterClass, in, class}
		case bindingKind:
			cluster, _, _ := unstructured.NestedString(n.object.Object, "spec", "clusterName")
			owner = key{kube.CAPICluster, n.namespace, cluster}
		default:
			continue
		}
		if o := at[owner]; o != nil {
			n.soft = append(n.soft, o)
		}
	}
}

// rank gives each node that is taken the level it can be made at: after all its
// owners. One with an owner that is not taken has none.
func (g *graph) rank() {
	for level := 0; ; level++ {
		var now []*node
		for _, n := range g.nodes {
			if n.taken && n.level < 0 && len(g.missing(n)) == 0 {
				now = append(now, n)
			}
		}
		if len(now) == 0 {
			return
		}
		for _, n := range now {
			n.level = level
		}
	}
}

// missing lists the owners a node waits for.
func (g *graph) missing(n *node) []string {
	var names []string
	for i, uid := range n.owners {
		if o := g.byUID[uid]; o == nil || !o.taken || o.level < 0 {
			ref := n.object.GetOwnerReferences()[i]
			names = append(names, ref.Kind+" "+ref.Name)
		}
	}
	for _, o := range n.soft {
		if !o.taken || o.level < 0 {
			names = append(names, o.key.String())
		}
	}
	return names
}

// moved lists what a move takes, owners first.
func (g *graph) moved() []*node {
	var list []*node
	for _, n := range g.nodes {
		if n.taken && n.level >= 0 {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *node) int { return a.level - b.level })
	return list
}

// clusters lists the Clusters, and classes the ClusterClasses that are moved.
func (g *graph) of(kind schema.GroupKind) []*node {
	var list []*node
	for _, n := range g.nodes {
		if n.GroupKind == kind {
			list = append(list, n)
		}
	}
	return list
}

// references lists what an object names in its spec, by group, kind and name.
func references(u *unstructured.Unstructured) []key {
	var list []key
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if k, ok := reference(v, u.GetNamespace()); ok && !slices.Contains(list, k) {
				list = append(list, k)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(u.Object["spec"])
	slices.SortFunc(list, func(a, b key) int { return strings.Compare(a.String(), b.String()) })
	return list
}

func reference(v map[string]any, namespace string) (key, bool) {
	kind, _ := v["kind"].(string)
	name, _ := v["name"].(string)
	group, _ := v["apiGroup"].(string)
	if version, ok := v["apiVersion"].(string); ok && group == "" {
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			return key{}, false
		}
		group = gv.Group
	}
	if kind == "" || name == "" || group == "" {
		return key{}, false
	}
	if in, _ := v["namespace"].(string); in != "" {
		namespace = in
	}
	return key{schema.GroupKind{Group: group, Kind: kind}, namespace, name}, true
}

// fingerprint is the same for two states of an object that a copy does not tell apart.
func (n *node) fingerprint() string {
	state := map[string]any{"owners": n.owners, "labels": n.object.GetLabels(), "annotations": n.object.GetAnnotations(), "finalizers": n.object.GetFinalizers()}
	for field, v := range n.object.Object {
		if field != "metadata" && field != "status" {
			state[field] = v
		}
	}
	text, err := json.Marshal(state)
	if err != nil {
		return "" // of what was JSON: cannot be
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
