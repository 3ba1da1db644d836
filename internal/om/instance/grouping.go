package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// grouping names the control groups of an object. The names nest by dashes, as
// those of systemd slices do.
type grouping struct {
	tree   *cgroup.Tree // nil: the processes of the object are not grouped
	reason error        // why not, when the object wants them to be
	object string       // group of the object
	prefix string       // what the names of the groups in it start with
}

func (e *Engine) grouping(p object.Path, s *schema.ObjectSettings) grouping {
	if !s.CreatePG || !p.Kind.Runs() {
		return grouping{}
	}
	tree, err := cgroup.Open()
	if err != nil {
		return grouping{reason: err}
	}
	group, prefix := groupOf(e.Host.Paths.Root, p)
	if err := tree.Usable(group); err != nil {
		return grouping{reason: err}
	}
	return grouping{tree: tree, object: group, prefix: prefix}
}

// groupOf is the control group of an object. An agent that lives under a root of
// its own has groups of its own, so that two agents never see each other.
func groupOf(root string, p object.Path) (group, prefix string) {
	group, prefix = "/opensvc.slice", "opensvc"
	down := func(name string) {
		prefix += "-" + name
		group += "/" + prefix + ".slice"
	}
	if root != "" {
		sum := sha256.Sum256([]byte(root))
		down("root." + hex.EncodeToString(sum[:4]))
	}
	if p.Namespace != object.RootNamespace {
		down("ns." + p.Namespace)
	}
	down(string(p.Kind) + "." + p.Name)
	return group, prefix
}

// of is the control group of a resource, empty when it has none.
func (g grouping) of(rid, subset string) string {
	if g.tree == nil {
		return ""
	}
	group, prefix := g.object, g.prefix
	if subset != "" {
		prefix += "-subset." + strings.ReplaceAll(subset, "/", "_")
		group += "/" + prefix + ".slice"
	}
	return group + "/" + prefix + "-" + strings.Replace(rid, "#", ".", 1) + ".slice"
}
