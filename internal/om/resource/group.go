package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The control groups of the agent. Their names nest by dashes, as those of
// systemd slices do: each repeats the name of the one above it.
const (
	groupRoot   = "opensvc"
	groupSuffix = ".slice"
)

// ObjectGroup is the control group of an object, and what the names of the groups
// in it start with. An agent that lives under a root of its own has groups of its
// own, so that two agents never see each other.
func ObjectGroup(root string, p object.Path) (group, prefix string) {
	group, prefix = "/"+groupRoot+groupSuffix, groupRoot
	down := func(name string) {
		prefix += "-" + name
		group += "/" + prefix + groupSuffix
	}
	if root != "" {
		down(agentWord(root))
	}
	if p.Namespace != object.RootNamespace {
		down("ns." + p.Namespace)
	}
	down(string(p.Kind) + "." + p.Name)
	return group, prefix
}

func agentWord(root string) string {
	sum := sha256.Sum256([]byte(root))
	return "root." + hex.EncodeToString(sum[:4])
}

// GroupOf is the control group of a resource.
func GroupOf(root string, p object.Path, subset, rid string) string {
	group, prefix := ObjectGroup(root, p)
	if subset != "" {
		prefix += "-subset." + strings.ReplaceAll(subset, "/", "_")
		group += "/" + prefix + groupSuffix
	}
	return group + "/" + prefix + "-" + strings.Replace(rid, "#", ".", 1) + groupSuffix
}

// Member is a resource a process belongs to. The zero Member is none.
type Member struct {
	Path   object.Path
	Subset string // as the name of the control group has it
	RID    string
}

// IsZero reports whether there is no resource.
func (m Member) IsZero() bool { return m == Member{} }

// String names the resource.
func (m Member) String() string { return m.Path.String() + " " + m.RID }

// MemberOf returns the resource the processes of a control group are of: of the
// group of the resource, or of one below it. The group is as /proc/<pid>/cgroup
// has it. A group outside those of the agents is of no resource; one that is
// theirs, or could be, without being exactly what [GroupOf] makes is an error.
func MemberOf(root, group string) (Member, error) {
	names := strings.Split(strings.TrimPrefix(group, "/"), "/")
	switch {
	case group == "/":
		return Member{}, nil
	case strings.HasSuffix(group, " (deleted)"):
		return Member{}, fmt.Errorf("control group %s is gone", group)
	case group != path.Clean("/"+group):
		return Member{}, fmt.Errorf("control group %s is out of sight", group)
	case names[0] != groupRoot+groupSuffix:
		for _, name := range names {
			if strings.HasPrefix(name, groupRoot) && strings.HasSuffix(name, groupSuffix) {
				return Member{}, fmt.Errorf("control group %s is that of an agent, in another place than those of this one", group)
			}
		}
		return Member{}, nil
	}
	return ownMember(root, group, names)
}

// ownMember reads a group below that of the agents.
func ownMember(root, group string, names []string) (m Member, err error) {
	prefix, next := groupRoot, 1
	word := func() string { // of the next level, empty when it is none of ours
		if next == len(names) {
			return ""
		}
		inner, ok := strings.CutPrefix(names[next], prefix+"-")
		inner, isSlice := strings.CutSuffix(inner, groupSuffix)
		if !ok || !isSlice {
			return ""
		}
		return inner
	}
	down := func() {
		prefix += "-" + word()
		next++
	}
	if root != "" {
		if word() != agentWord(root) {
			return Member{}, fmt.Errorf("control group %s is that of another agent", group)
		}
		down()
	}
	m.Path.Namespace = object.RootNamespace
	if namespace, ok := strings.CutPrefix(word(), "ns."); ok {
		m.Path.Namespace = namespace
		down()
	}
	kind, name, _ := strings.Cut(word(), ".")
	if m.Path.Kind, m.Path.Name = object.Kind(kind), name; name == "" || m.Path.Validate() != nil || !m.Path.Kind.Runs() {
		return Member{}, fmt.Errorf("control group %s is of no object of this agent", group)
	}
	down()
	if subset, ok := strings.CutPrefix(word(), "subset."); ok {
		m.Subset = subset
		down()
	}
	of, index, _ := strings.Cut(word(), ".")
	m.RID = of + "#" + index
	if _, isKnown := Rank(of); !isKnown || index == "" {
		return Member{}, fmt.Errorf("control group %s is of no resource", group)
	}
	down()
	// Where systemd nests names at each of their dashes, a group is below that of
	// another object whose name begins alike, or looks like a subset of it: it is of
	// neither.
	if word() != "" || m.Subset != "" && next < len(names) && strings.HasSuffix(names[next], ".scope") {
		return Member{}, fmt.Errorf("control group %s is of more than one resource", group)
	}
	if own := GroupOf(root, m.Path, m.Subset, m.RID); own != "/"+path.Join(names[:next]...) {
		return Member{}, fmt.Errorf("control group %s is of no resource: that of %s is %s", group, m, own)
	}
	return m, nil
}
