package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/tree"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tree shows a Cluster with what hangs on it and the state of each, as text.
func Tree(ctx context.Context, c Cluster, namespace, name string) (string, error) {
	s, err := open("asked", c, queryPatience)
	if err != nil {
		return "", err
	}
	typed, err := s.typed()
	if err != nil {
		return "", err
	}
	t, err := tree.Discovery(ctx, typed, namespace, name, tree.DiscoverOptions{Grouping: true})
	if err != nil {
		return "", fmt.Errorf("describe Cluster %s/%s: %w", namespace, name, err)
	}
	var b strings.Builder
	branch(&b, t, t.GetRoot(), 0)
	return b.String(), nil
}

func branch(b *strings.Builder, t *tree.ObjectTree, o client.Object, depth int) {
	label := o.GetObjectKind().GroupVersionKind().Kind + "/" + o.GetName()
	switch {
	case tree.IsGroupObject(o):
		label = fmt.Sprintf("%s: %s", o.GetObjectKind().GroupVersionKind().Kind, tree.GetGroupItems(o))
	case tree.IsVirtualObject(o):
		label = o.GetName()
	}
	if meta := tree.GetMetaName(o); meta != "" {
		label = meta + " - " + label
	}
	fmt.Fprintf(b, "%s%s%s\n", strings.Repeat("  ", depth), label, standing(o))
	children := t.GetObjectsByParent(o.GetUID())
	slices.SortFunc(children, func(a, b client.Object) int {
		return cmp.Or(tree.GetZOrder(b)-tree.GetZOrder(a), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, child := range children {
		branch(b, t, child, depth+1)
	}
}

// standing is the state of an object in a few words.
func standing(o client.Object) string {
	for _, c := range []*metav1.Condition{tree.GetAvailableCondition(o), tree.GetReadyCondition(o)} {
		if c == nil {
			continue
		}
		text := "  " + c.Type + ": " + string(c.Status)
		if c.Status != metav1.ConditionTrue && c.Message != "" {
			first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(c.Message), "* "), "\n")
			text += " (" + first + ")"
		}
		return text
	}
	return ""
}
