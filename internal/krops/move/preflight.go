package move

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// RefusalError tells why a move was not begun. Nothing was touched.
type RefusalError struct{ Problems []string }

// Error lists every problem.
func (r *RefusalError) Error() string {
	if len(r.Problems) == 1 {
		return "the move was not begun: " + r.Problems[0]
	}
	return "the move was not begun:\n- " + strings.Join(r.Problems, "\n- ")
}

// Found is what a move would take.
type Found struct {
	Clusters []string // namespace/name
	Objects  map[string]int
}

// Count is the number of objects.
func (f Found) Count() int {
	n := 0
	for _, c := range f.Objects {
		n += c
	}
	return n
}

// Preflight proves that everything a move must take can be taken, and tells what
// that is. It writes nothing. What stands against the move is a [RefusalError].
func Preflight(ctx context.Context, source, target Cluster, namespace string) (Found, error) {
	m, err := begin(Options{Source: source, Target: target, Namespace: namespace})
	if err != nil {
		return Found{}, err
	}
	past, err := m.source.journal(ctx, namespace)
	if err != nil {
		return Found{}, err
	}
	g, err := m.source.discover(ctx, namespace)
	if err != nil {
		return Found{}, err
	}
	_, err = m.preflight(ctx, g, past)
	if err == nil {
		var there *unstructured.Unstructured
		if there, err = m.target.get(ctx, namespaces, "", namespace); err == nil && there != nil {
			err = m.rehearse(ctx, g)
		}
	}
	return g.found(), err
}

func (g *graph) found() Found {
	f := Found{Objects: map[string]int{}}
	for _, n := range g.moved() {
		f.Objects[n.Kind]++
		if n.GroupKind == kube.CAPICluster {
			f.Clusters = append(f.Clusters, n.namespace+"/"+n.name)
		}
	}
	return f
}

// preflight finds what stands against moving a graph. It returns which objects
// the target has that are no copies of ours, and may stay.
func (m *mover) preflight(ctx context.Context, g *graph, past *journal) (prior map[key]bool, err error) {
	target, err := m.target.kinds(ctx)
	if err != nil {
		return nil, err
	}
	providers, err := m.target.providers(ctx, target)
	if err != nil {
		return nil, err
	}
	problems := contracts(g.kinds, target)
	problems = append(problems, olderProviders(g.providers, providers)...)
	problems = append(problems, g.unready()...)
	problems = append(problems, g.stranded()...)
	problems = append(problems, g.unservable(target)...)
	lost, err := m.lost(ctx, g)
	if err != nil {
		return nil, err
	}
	problems = append(problems, lost...)
	if len(problems) == 0 {
		var foreign []string
		if prior, foreign, err = m.prior(ctx, g, past); err != nil {
			return nil, err
		}
		problems = append(problems, foreign...)
	}
	if len(problems) > 0 {
		return nil, &RefusalError{problems}
	}
	return prior, nil
}

// contracts checks that both sides store Clusters in the version the library works with.
func contracts(source, target kinds) []string {
	var problems []string
	for _, side := range []struct {
		name  string
		kinds kinds
	}{{"source", source}, {"target", target}} {
		switch k, ok := side.kinds[kube.CAPICluster]; {
		case !ok:
			problems = append(problems, "the "+side.name+" cluster has no CRD clusters."+clusterAPI+": Cluster API is not installed there")
		case k.Version != contract:
			problems = append(problems, fmt.Sprintf("CRD clusters.%s of the %s cluster stores version %s, and this program moves %s: install a Cluster API that does", clusterAPI, side.name, k.Version, contract))
		}
	}
	return problems
}

// olderProviders compares the inventories of providers.
func olderProviders(source, target []provider) []string {
	var problems []string
	for _, p := range source {
		want, err := version.ParseSemantic(p.version)
		if err != nil {
			problems = append(problems, fmt.Sprintf("provider %s of the source cluster has version %q, which makes no sense", p.name, p.version))
			continue
		}
		var best *version.Version
		for _, q := range target {
			if q.name != p.name || q.kind != p.kind {
				continue
			}
			if v, err := version.ParseSemantic(q.version); err == nil && (best == nil || best.LessThan(v)) {
				best = v
			}
		}
		switch {
		case best == nil:
			problems = append(problems, fmt.Sprintf("%s %s %s of the source cluster is not installed in the target cluster", p.kind, p.name, p.version))
		case best.LessThan(want):
			problems = append(problems, fmt.Sprintf("%s %s is older in the target cluster (v%s) than in the source cluster (v%s): install the newer one there", p.kind, p.name, best, want))
		}
	}
	return problems
}

// unready tells of Clusters that are not ready, and of there being none.
func (g *graph) unready() []string {
	var clusters, machines []unstructured.Unstructured
	for _, n := range g.nodes {
		switch n.GroupKind {
		case kube.CAPICluster:
			clusters = append(clusters, *n.object)
		case kube.CAPIMachine:
			machines = append(machines, *n.object)
		}
	}
	r := readiness(clusters, machines)
	if r.Clusters == 0 {
		return []string{"no Cluster is found in namespace " + g.namespace + " of the source cluster; if there is one, its CRD lacks the label " + knownLabel}
	}
	return r.Waiting
}

// stranded tells of objects the library would neither move nor keep: one of
// their owners is not moved.
func (g *graph) stranded() []string {
	var problems []string
	for _, n := range g.nodes {
		if n.taken && n.level < 0 {
			problems = append(problems, fmt.Sprintf("%s would be lost: it is owned by %s, which is not moved", n.key, few(g.missing(n))))
		}
	}
	return problems
}

// unservable tells of kinds the target cannot hold, or would not find again.
func (g *graph) unservable(target kinds) []string {
	var problems []string
	seen := map[schema.GroupKind]bool{}
	for _, n := range g.moved() {
		if seen[n.GroupKind] || n.Group == "" {
			continue
		}
		seen[n.GroupKind] = true
		problems = append(problems, unservable(n.kind, target)...)
	}
	return problems
}

func unservable(k kind, target kinds) []string {
	switch t, ok := target[k.GroupKind()]; {
	case !ok:
		return []string{"the target cluster has no CRD " + k.definition() + ": install the provider it is of"}
	case !t.serves(k.Version):
		return []string{fmt.Sprintf("CRD %s of the target cluster serves %s, and the source cluster stores %s", k.definition(), strings.Join(t.served, ", "), k.Version)}
	case !t.known:
		return []string{unlabelled(k, "target")}
	}
	return nil
}

func unlabelled(k kind, side string) string {
	return fmt.Sprintf("CRD %s of the %s cluster lacks the label %s: a move would lose its objects; add the label", k.definition(), side, knownLabel)
}

// lost finds objects that belong to what is moved and would stay behind: of kinds
// the library does not look for, or with nothing that ties them.
func (m *mover) lost(ctx context.Context, g *graph) ([]string, error) {
	var problems []string
	for _, k := range slices.SortedFunc(maps.Values(g.kinds), func(a, b kind) int { return strings.Compare(a.definition(), b.definition()) }) {
		if k.known || k.global {
			continue
		}
		owned := false
		err := m.source.entries(ctx, k, g.namespace, func(o *unstructured.Unstructured) {
			owned = owned || slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { n := g.byUID[r.UID]; return n != nil && n.taken })
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of the source cluster: %w", k.resource, err)
		}
		if owned {
			problems = append(problems, unlabelled(k, "source"))
		}
	}
	behind, err := m.behind(ctx, g)
	for _, p := range behind {
		if !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	return problems, err
}

// behind follows the references of what is moved.
func (m *mover) behind(ctx context.Context, g *graph) ([]string, error) {
	at := map[key]*node{}
	for _, n := range g.nodes {
		at[n.key] = n
	}
	var problems []string
	for _, n := range g.moved() {
		if !ofClusterAPI(n.Group) {
			continue
		}
		for _, ref := range references(n.object) {
			k, ok := g.kinds[ref.GroupKind]
			if !ok || !ofClusterAPI(ref.Group) || k.global || ref.namespace != n.namespace {
				continue
			}
			switch to := at[ref]; {
			case to != nil && to.taken:
			case to != nil:
				problems = append(problems, fmt.Sprintf("%s would stay behind: %s names it, but nothing that is moved owns it", ref, n.key))
			case !k.known:
				there, err := m.source.get(ctx, k.gvr(), ref.namespace, ref.name)
				if err != nil {
					return nil, fmt.Errorf("get %s of the source cluster: %w", ref, err)
				}
				if there != nil && !slices.Contains(problems, unlabelled(k, "source")) {
					problems = append(problems, unlabelled(k, "source"))
				}
			}
		}
	}
	return problems, nil
}

func ofClusterAPI(group string) bool {
	return group == clusterAPI || strings.HasSuffix(group, "."+clusterAPI)
}

// prior lists what the target has already that no copy of ours explains: secrets
// that were applied there, and what is never deleted at the source, may be there;
// anything else is somebody's, and is not overwritten.
func (m *mover) prior(ctx context.Context, g *graph, past *journal) (prior map[key]bool, problems []string, err error) {
	there, err := m.target.present(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	copies := map[key]item{}
	if past != nil && !past.committed() {
		copies = past.past()
	}
	prior = map[key]bool{}
	for _, n := range g.moved() {
		if _, ok := there[n.key]; !ok {
			continue
		}
		if i, ok := copies[n.key]; ok {
			prior[n.key] = i.prior
			continue
		}
		if n.Group == "" || n.keep {
			prior[n.key] = true
			continue
		}
		problems = append(problems, fmt.Sprintf("the target cluster has %s already, and this move did not bring it there: it would be overwritten", n.key))
	}
	return prior, problems, nil
}

// entry is what is known of an object from a list.
type entry struct {
	uid    types.UID
	owners []types.UID
}

// present lists which objects of a graph a cluster has, by name.
func (s *side) present(ctx context.Context, g *graph) (map[key]entry, error) {
	type place struct {
		schema.GroupKind

		namespace string
	}
	found, seen := map[key]entry{}, map[place]bool{}
	for _, n := range g.moved() {
		p := place{n.GroupKind, n.namespace}
		if seen[p] {
			continue
		}
		seen[p] = true
		err := s.entries(ctx, n.kind, n.namespace, func(o *unstructured.Unstructured) {
			e := entry{uid: o.GetUID()}
			for _, r := range o.GetOwnerReferences() {
				e.owners = append(e.owners, r.UID)
			}
			found[key{n.GroupKind, o.GetNamespace(), o.GetName()}] = e
		})
		if err != nil {
			return nil, fmt.Errorf("list %s of the %s cluster: %w", n.kind.resource, s.name, err)
		}
	}
	return found, nil
}

// rehearse lets the target judge what its features decide: Clusters with a
// topology, their classes, pools of machines. Nothing is stored.
func (m *mover) rehearse(ctx context.Context, g *graph) error {
	var problems []string
	for _, n := range g.moved() {
		if n.Group != clusterAPI || n.Kind != "Cluster" && n.Kind != "ClusterClass" && n.Kind != "MachinePool" {
			continue
		}
		u := n.object.DeepCopy()
		u.SetResourceVersion("")
		u.SetUID("")
		u.SetOwnerReferences(nil)
		u.SetManagedFields(nil)
		u.SetGenerateName("")
		delete(u.Object, "status")
		err := m.target.persist(ctx, func(ctx context.Context) error {
			_, err := m.target.in(n.kind.gvr(), n.namespace).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: manager})
			return err
		})
		var status apierrors.APIStatus
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
		case errors.As(err, &status):
			problems = append(problems, fmt.Sprintf("the target cluster does not take %s: %v", n.key, err))
		default:
			return fmt.Errorf("rehearse the creation of %s: %w", n.key, err)
		}
	}
	if len(problems) > 0 {
		return &RefusalError{problems}
	}
	return nil
}
