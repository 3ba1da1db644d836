package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Residents says what the resources of the node are, whose processes may be at the
// other end of the user socket; *[Directory] does.
type Residents interface {
	// Resident returns whether the processes of a resource are of a container, and
	// what they are given then.
	Resident(m resource.Member) (isContainer bool, grants rbac.Grants, err error)
	// HasContainers reports whether an object of the node has any.
	HasContainers() (bool, error)
}

// keywordUXGrant is what a container says its processes are given.
const keywordUXGrant = "uxgrant"

// resident returns the resource of the agent the caller is a process of, the zero
// Member for a process of none. What is not told, or told in two ways, is refused:
// the caller may be in a container, where the number of its account means nothing.
func (a *Accounts) resident(c Caller) (resource.Member, error) {
	if c.Unseen {
		some, err := a.Residents.HasContainers()
		if err != nil {
			return resource.Member{}, err
		}
		if some {
			return resource.Member{}, errors.New("the kernel does not hold on to the process that connects, so that a process of a container is not told from an account of the node: Linux 6.5 is needed")
		}
		return resource.Member{}, nil
	}
	if len(c.Groups) == 0 {
		return resource.Member{}, errors.New("its control group is not known")
	}
	var found resource.Member
	outside := ""
	for _, group := range c.Groups {
		m, err := resource.MemberOf(a.Root, group)
		switch {
		case err != nil:
			return resource.Member{}, err
		case m.IsZero() && group == "/": // a hierarchy that nobody groups processes in
		case m.IsZero():
			outside = group
		case !found.IsZero() && m != found:
			return resource.Member{}, fmt.Errorf("its control groups are of %s and of %s", found, m)
		default:
			found = m
		}
	}
	if !found.IsZero() && outside != "" {
		return resource.Member{}, fmt.Errorf("its control groups are of %s and %s", found, outside)
	}
	return found, nil
}

// sidecar returns who a process of a container is. A process of another resource
// is none: found is false then, and it is the account it runs as.
func (a *Accounts) sidecar(m resource.Member) (p Principal, found bool, err error) {
	isContainer, grants, err := a.Residents.Resident(m)
	switch {
	case err != nil:
		return Principal{}, false, err
	case !isContainer:
		return Principal{}, false, nil
	case len(grants) == 0:
		return Principal{}, false, fmt.Errorf("container %s is given nothing: set its %s", m, keywordUXGrant)
	}
	return Principal{Name: m.Path.String() + "/" + m.RID, Namespace: m.Path.Namespace, Method: MethodSidecar, Grants: grants}, true, nil
}

// Resident implements [Residents]. The processes of apps and of the tasks of the
// host are accounts of the node; those of what is neither these nor a container
// are nobody.
func (d *Directory) Resident(m resource.Member) (isContainer bool, grants rbac.Grants, err error) {
	doc, err := d.Store.Load(m.Path)
	if err != nil {
		return false, nil, fmt.Errorf("process of %s: %w", m, err)
	}
	driver, keywords, err := d.Store.Schema(m.Path).Declarer(doc.Doc)(m.RID)
	switch {
	case !doc.Doc.Has(m.RID):
		return false, nil, fmt.Errorf("process of %s: its object has no such resource any more", m)
	case err != nil:
		return false, nil, fmt.Errorf("process of %s: %w", m, err)
	case strings.HasPrefix(driver, "app."), driver == "task.host":
		return false, nil, nil
	case !strings.HasPrefix(driver, "container."):
		return false, nil, fmt.Errorf("process of %s: a %s is no container, nor are its processes accounts of the node", m, driver)
	}
	for _, k := range keywords {
		if k.Name != keywordUXGrant {
			continue
		}
		ev, err := d.Store.Evaluator(m.Path, doc.Doc, "")
		if err != nil {
			return false, nil, fmt.Errorf("process of %s: %w", m, err)
		}
		text, _, err := ev.Value(m.RID, k.Option)
		if err != nil {
			return false, nil, fmt.Errorf("process of %s: %s: %w", m, keywordUXGrant, err)
		}
		if grants, err = rbac.Parse(strings.ToLower(text)); err != nil {
			return false, nil, fmt.Errorf("process of %s: %s: %w", m, keywordUXGrant, err)
		}
	}
	return true, grants, nil
}

// HasContainers implements [Residents]. A configuration that cannot be read may
// have some.
func (d *Directory) HasContainers() (bool, error) {
	paths, err := d.Store.List()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(paths, func(p object.Path) bool {
		if !p.Kind.Runs() {
			return false
		}
		f, err := d.Store.Load(p)
		return err != nil || slices.ContainsFunc(f.Doc.Sections(), func(section string) bool {
			group, _, _ := strings.Cut(section, "#")
			driver, err := d.Store.Schema(p).Driver(f.Doc, section)
			return group == "container" || group == "task" && (err != nil || driver != "task.host")
		})
	}), nil
}
