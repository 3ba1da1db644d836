package instance

import (
	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// grouping puts the processes of an object in control groups.
type grouping struct {
	tree   *cgroup.Tree // nil: the processes of the object are not grouped
	reason error        // why not, when the object wants them to be
	object string       // group of the object
	name   func(subset, rid string) string
}

func (e *Engine) grouping(p object.Path, s *schema.ObjectSettings) grouping {
	if !s.CreatePG || !p.Kind.Runs() {
		return grouping{}
	}
	tree, err := cgroup.Open()
	if err != nil {
		return grouping{reason: err}
	}
	root := e.Host.Paths.Root
	group, _ := resource.ObjectGroup(root, p)
	if err := tree.Usable(group); err != nil {
		return grouping{reason: err}
	}
	return grouping{tree: tree, object: group, name: func(subset, rid string) string { return resource.GroupOf(root, p, subset, rid) }}
}

// of is the control group of a resource, empty when it has none.
func (g grouping) of(rid, subset string) string {
	if g.tree == nil {
		return ""
	}
	return g.name(subset, rid)
}
