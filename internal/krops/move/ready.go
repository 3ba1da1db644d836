package move

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// Readiness tells whether the Clusters of a namespace can be moved.
type Readiness struct {
	Clusters int
	Waiting  []string // what each Cluster that cannot be moved yet waits for
	// Begun tells that a move is past the point of no return: there is nothing to
	// wait for any more.
	Begun bool
}

// Ready tells whether the namespace can be moved: it has Clusters, each is
// provisioned, and each Machine has a node.
func (r Readiness) Ready() bool { return r.Begun || r.Clusters > 0 && len(r.Waiting) == 0 }

// String says what is waited for, in one line.
func (r Readiness) String() string {
	switch {
	case r.Begun:
		return "the move is to be finished"
	case r.Clusters == 0:
		return "there is no Cluster yet"
	case len(r.Waiting) == 0:
		return "ready"
	}
	return strings.Join(r.Waiting, "; ")
}

// Ready looks at the Clusters and Machines of a namespace.
func Ready(ctx context.Context, source Cluster, namespace string) (Readiness, error) {
	s, err := open("source", source, queryPatience)
	if err != nil {
		return Readiness{}, err
	}
	j, err := s.journal(ctx, namespace)
	if err != nil {
		return Readiness{}, err
	}
	if j != nil && j.phase == removing {
		return Readiness{Begun: true}, nil
	}
	clusters, err := s.list(ctx, kube.CAPICluster, namespace)
	if err != nil {
		return Readiness{}, err
	}
	machines, err := s.list(ctx, kube.CAPIMachine, namespace)
	if err != nil {
		return Readiness{}, err
	}
	return readiness(clusters, machines), nil
}

// list returns the objects of a kind; a server that does not have the kind has none.
func (s *side) list(ctx context.Context, kind schema.GroupKind, namespace string) ([]unstructured.Unstructured, error) {
	k, err := s.kind(ctx, kind)
	if err != nil || k == nil {
		return nil, err
	}
	var list []unstructured.Unstructured
	err = s.each(ctx, k.gvr(), k.Kind, namespace, page, func(u *unstructured.Unstructured) error { list = append(list, *u); return nil })
	if err != nil {
		return nil, fmt.Errorf("list %s of the %s cluster: %w", k.resource, s.name, err)
	}
	return list, nil
}

// kind returns how a server stores a kind of Cluster API, nil when it does not.
// The names of these definitions follow from the kinds.
func (s *side) kind(ctx context.Context, of schema.GroupKind) (*kind, error) {
	plural := strings.ToLower(of.Kind) + "s"
	if of == kube.CAPIClusterClass {
		plural = "clusterclasses"
	}
	u, err := s.get(ctx, definitions, "", plural+"."+of.Group)
	if err != nil {
		return nil, fmt.Errorf("get the definition of %s of the %s cluster: %w", plural, s.name, err)
	}
	if u == nil {
		return nil, nil //nolint:nilnil // no kind is an answer
	}
	k, err := define(u)
	return &k, err
}

func readiness(clusters, machines []unstructured.Unstructured) Readiness {
	r := Readiness{Clusters: len(clusters)}
	for i := range clusters {
		c := &clusters[i]
		name := c.GetNamespace() + "/" + c.GetName()
		why := unprovisioned(c)
		if why == "" {
			why = nodeless(c, machines)
		}
		if why == "" {
			continue
		}
		if paused(c) && !ours(c) {
			why += ", and it is paused: nothing will come of it until whoever paused it resumes it"
		}
		r.Waiting = append(r.Waiting, name+": "+why)
	}
	return r
}

// unprovisioned says what a Cluster waits for, "" when it is made.
func unprovisioned(c *unstructured.Unstructured) string {
	done, _, _ := unstructured.NestedBool(c.Object, "status", "initialization", "infrastructureProvisioned")
	if !done {
		return "the infrastructure is being provisioned" + reason(c, "InfrastructureReady")
	}
	initialized, _ := condition(c, "ControlPlaneInitialized")
	if _, has, _ := unstructured.NestedMap(c.Object, "spec", "controlPlaneRef"); has && initialized == "True" {
		if done, _, _ := unstructured.NestedBool(c.Object, "status", "initialization", "controlPlaneInitialized"); !done {
			initialized = ""
		}
	}
	if initialized != "True" {
		return "the control plane is not initialized" + reason(c, "ControlPlaneInitialized", "ControlPlaneAvailable")
	}
	return ""
}

// nodeless says which Machines of a Cluster have no node yet.
func nodeless(c *unstructured.Unstructured, machines []unstructured.Unstructured) string {
	all := 0
	var without []string
	for i := range machines {
		m := &machines[i]
		if of, _, _ := unstructured.NestedString(m.Object, "spec", "clusterName"); of != c.GetName() {
			continue
		}
		all++
		if node, _, _ := unstructured.NestedString(m.Object, "status", "nodeRef", "name"); node == "" {
			without = append(without, m.GetName())
		}
	}
	if len(without) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d machines have a node, not yet %s", all-len(without), all, few(without))
}

// few names some of many.
func few(names []string) string {
	const some = 3
	if len(names) > some {
		return strings.Join(names[:some], ", ") + fmt.Sprintf(" and %d more", len(names)-some)
	}
	return strings.Join(names, ", ")
}

// reason quotes the first condition that is not true and says something.
func reason(u *unstructured.Unstructured, types ...string) string {
	for _, t := range types {
		if status, message := condition(u, t); status != "True" && message != "" {
			first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
			return " (" + strings.TrimPrefix(first, "* ") + ")"
		}
	}
	return ""
}

// condition returns the status of a condition, "" without one.
func condition(u *unstructured.Unstructured, name string) (status, message string) {
	c := conditionOf(u, name)
	status, _ = c["status"].(string)
	message, _ = c["message"].(string)
	return status, message
}

// conditionOf finds a condition, also where older kinds keep the new ones.
func conditionOf(u *unstructured.Unstructured, name string) map[string]any {
	for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}} {
		list, _, _ := unstructured.NestedSlice(u.Object, path...)
		for _, e := range list {
			if c, ok := e.(map[string]any); ok && c["type"] == name {
				return c
			}
		}
	}
	return nil
}
