package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// State is how many objects there are, and which of them are not ready.
type State struct {
	Total   int
	Pending []string // their names
}

// Ready tells whether there are objects, and all of them are ready. None at all
// is not ready: they are yet to come.
func (s State) Ready() bool { return s.Total > 0 && len(s.Pending) == 0 }

// String says it in a few words.
func (s State) String() string {
	switch {
	case s.Total == 0:
		return "there are none yet"
	case len(s.Pending) == 0:
		return fmt.Sprintf("all %d ready", s.Total)
	}
	const shown = 5
	names := slices.Clone(s.Pending)
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return fmt.Sprintf("%d of %d not ready: %s%s", len(s.Pending), s.Total, strings.Join(names, ", "), more)
}

// NodesReady tells which nodes of a cluster are Ready.
func NodesReady(ctx context.Context, c *Cluster) (State, error) {
	nodes, err := c.List(ctx, Node, "")
	if err != nil {
		return State{}, err
	}
	return stateOf(nodes), nil
}

// PodsReady tells which pods of a namespace, "" for all, that a label selector
// matches are Ready. A pod that has done its work is.
func PodsReady(ctx context.Context, c *Cluster, namespace, selector string) (State, error) {
	pods, err := c.List(ctx, Pod, namespace, Labelled(selector))
	if err != nil {
		return State{}, err
	}
	pods = slices.DeleteFunc(pods, func(u unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		return phase == "Succeeded"
	})
	return stateOf(pods), nil
}

func stateOf(objects []unstructured.Unstructured) State {
	s := State{Total: len(objects)}
	for i := range objects {
		if status, _, _, _ := Condition(&objects[i], "Ready"); status != "True" {
			s.Pending = append(s.Pending, Name(&objects[i]))
		}
	}
	slices.Sort(s.Pending)
	return s
}

// Condition returns a condition of an object; ok tells whether it has it. A
// condition of an earlier generation of the object is not known: it says nothing
// of what was asked for since. Of an object that is suspended the last one holds:
// its controller does not look at it any more.
func Condition(u *unstructured.Unstructured, name string) (status, reason, message string, ok bool) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
	for _, item := range list {
		condition, isMap := item.(map[string]any)
		if !isMap || condition["type"] != name {
			continue
		}
		status, _ := condition["status"].(string)
		reason, _ := condition["reason"].(string)
		message, _ := condition["message"].(string)
		if seen, has := condition["observedGeneration"].(int64); has && !suspended && seen > 0 && seen < u.GetGeneration() {
			status = "Unknown"
		}
		return status, reason, message, true
	}
	return "", "", "", false
}
