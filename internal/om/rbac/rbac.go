// Package rbac says who may do what: roles, the grants of a user, and the need
// of an operation. It is pure; who the user is, is the business of package auth.
//
//	guest ⊂ operator ⊂ admin     in the namespaces the grant names, or everywhere
//	root                         everything
//	squatter, prioritizer, blacklistadmin, heartbeat, join, leave
//	                             one right each, on the whole cluster
package rbac

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Role is a set of rights.
type Role string

// The roles.
const (
	Guest          Role = "guest"          // reads
	Operator       Role = "operator"       // changes the state of what exists
	Admin          Role = "admin"          // changes what exists
	Root           Role = "root"           // everything
	Squatter       Role = "squatter"       // creates namespaces
	Prioritizer    Role = "prioritizer"    // sets priorities
	BlacklistAdmin Role = "blacklistadmin" // clears the client blacklist
	Heartbeat      Role = "heartbeat"      // uses the relay
	Join           Role = "join"           // adds a node
	Leave          Role = "leave"          // removes a node
)

// Roles lists every role, in documentation order.
func Roles() []Role {
	return []Role{Guest, Operator, Admin, Root, Squatter, Prioritizer, BlacklistAdmin, Heartbeat, Join, Leave}
}

// rank orders the roles that inherit one another; the others have none.
func (r Role) rank() int {
	return 1 + slices.Index([]Role{Guest, Operator, Admin, Root}, r)
}

// namespaced reports whether a grant of r may be limited to namespaces.
func (r Role) namespaced() bool { return r == Guest || r == Operator || r == Admin }

// Grant is a role, in the namespaces matching a glob. An empty Namespaces means
// the whole cluster.
type Grant struct {
	Role       Role
	Namespaces string
}

// ParseGrant reads "role" or "role:glob".
func ParseGrant(s string) (Grant, error) {
	role, glob, scoped := strings.Cut(s, ":")
	g := Grant{Role: Role(role), Namespaces: glob}
	if !slices.Contains(Roles(), g.Role) {
		return Grant{}, fmt.Errorf("grant %q: unknown role %q: use one of %s", s, role, joinRoles(Roles()))
	}
	if !scoped {
		return g, nil
	}
	if !g.Role.namespaced() {
		return Grant{}, fmt.Errorf("grant %q: role %s concerns the whole cluster: remove %q", s, role, ":"+glob)
	}
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		return Grant{}, fmt.Errorf("grant %q: %q is no namespace pattern", s, glob)
	}
	return g, nil
}

// String prints the grant as [ParseGrant] reads it.
func (g Grant) String() string {
	if g.Namespaces == "" {
		return string(g.Role)
	}
	return string(g.Role) + ":" + g.Namespaces
}

func (g Grant) covers(namespace string) bool {
	if g.Namespaces == "" {
		return true
	}
	ok, err := path.Match(g.Namespaces, namespace)
	return ok && err == nil
}

// Grants are what a user was given.
type Grants []Grant

// Parse reads the blank separated form of the grant keyword.
func Parse(s string) (Grants, error) {
	var gs Grants
	for word := range strings.FieldsSeq(s) {
		g, err := ParseGrant(word)
		if err != nil {
			return nil, err
		}
		gs = append(gs, g)
	}
	return gs, nil
}

// String prints the grants as [Parse] reads them.
func (gs Grants) String() string { return strings.Join(gs.Strings(), " ") }

// Strings prints each grant.
func (gs Grants) Strings() []string {
	words := make([]string, len(gs))
	for i, g := range gs {
		words[i] = g.String()
	}
	return words
}

// Has reports whether the role itself was granted, root standing for all.
func (gs Grants) Has(r Role) bool {
	return slices.ContainsFunc(gs, func(g Grant) bool { return g.Role == r || g.Role == Root })
}

// In reports whether the grants give at least role in namespace.
func (gs Grants) In(namespace string, role Role) bool {
	return slices.ContainsFunc(gs, func(g Grant) bool {
		return g.Role == Root || g.Role.rank() >= role.rank() && role.rank() > 0 && g.Role.rank() > 0 && g.covers(namespace)
	})
}

// As limits the grants to a role: what they give of it, by a role that includes
// it as well.
func (gs Grants) As(role Role) Grants {
	var limited Grants
	for _, g := range gs {
		switch {
		case g.Role == Root, g.Role == role:
			limited = append(limited, Grant{Role: role, Namespaces: g.Namespaces})
		case role.namespaced() && g.Role.namespaced() && g.Role.rank() > role.rank():
			limited = append(limited, Grant{Role: role, Namespaces: g.Namespaces})
		}
	}
	return limited
}

// Within limits the grants to what others give as well. Where two patterns of
// namespaces overlap without one of them containing the other, nothing is left: a
// grant is never more than either.
func (gs Grants) Within(others Grants) Grants {
	var kept Grants
	for _, g := range gs {
		for _, o := range others {
			role, ok := g.Role.meet(o.Role)
			if !ok {
				continue
			}
			both := Grant{Role: role}
			switch {
			case !role.namespaced():
			case g.Namespaces == o.Namespaces, o.Namespaces == "", !isPattern(g.Namespaces) && g.Namespaces != "" && o.covers(g.Namespaces):
				both.Namespaces = g.Namespaces
			case g.Namespaces == "", !isPattern(o.Namespaces) && g.covers(o.Namespaces):
				both.Namespaces = o.Namespaces
			default:
				continue
			}
			if !slices.Contains(kept, both) {
				kept = append(kept, both)
			}
		}
	}
	return kept
}

// meet is what two roles both give.
func (r Role) meet(other Role) (Role, bool) {
	switch {
	case r == other, other == Root:
		return r, true
	case r == Root:
		return other, true
	case r.namespaced() && other.namespaced():
		if r.rank() < other.rank() {
			return r, true
		}
		return other, true
	}
	return "", false
}

func isPattern(namespaces string) bool { return strings.ContainsAny(namespaces, `*?[\`) }

// ByRole groups the namespace patterns by role, as shown to the user.
func (gs Grants) ByRole() map[Role][]string {
	m := make(map[Role][]string, len(gs))
	for _, g := range gs {
		patterns := m[g.Role]
		if patterns == nil {
			patterns = []string{}
		}
		if g.Namespaces != "" {
			patterns = append(patterns, g.Namespaces)
		}
		m[g.Role] = patterns
	}
	return m
}

func joinRoles(roles []Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}
