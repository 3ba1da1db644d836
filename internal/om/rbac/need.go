package rbac

import "strings"

// Need is what an operation asks of the one who calls it. The zero Need is no
// need at all: an operation that forgot to declare it is refused to everybody.
type Need int

// The needs.
const (
	Undeclared     Need = iota
	Public              // nothing, not even to be known
	Known               // to be authenticated; the answer is limited to what the grants show
	AnyRole             // a role that reads something, in any namespace
	NeedGuest           // guest, in the namespace of the object
	NeedOperator        // operator, in the namespace of the object
	NeedAdmin           // admin, in the namespace of the object
	NeedRoot            // root
	ThroughSocket       // the root socket of the node: an agent process on it
	NeedCredential      // root socket or password: what may be exchanged for a token
)

var needWords = [...]string{
	"undeclared", "public", "any user", "any role", "guest in the namespace", "operator in the namespace",
	"admin in the namespace", "root", "root socket", "root, through the root socket",
}

// String says the need in words, as the API document prints it.
func (n Need) String() string {
	if n < 0 || int(n) >= len(needWords) {
		return needWords[Undeclared]
	}
	return needWords[n]
}

// Needs lists the declared needs.
func Needs() []Need {
	return []Need{Public, Known, AnyRole, NeedGuest, NeedOperator, NeedAdmin, NeedRoot, ThroughSocket, NeedCredential}
}

// Caller is who calls, as far as rights are concerned.
type Caller struct {
	Known  bool // authenticated
	Socket bool // came through the root socket
	Grants Grants
}

// Allows reports whether c may call an operation of need n on an object of
// namespace; operations on no object have an empty namespace.
func (c Caller) Allows(n Need, namespace string) bool {
	switch n {
	case Public:
		return true
	case Known:
		return c.Known
	case AnyRole:
		return c.Known && c.anyRole()
	case NeedGuest:
		return c.Known && c.Grants.In(namespace, Guest)
	case NeedOperator:
		return c.Known && c.Grants.In(namespace, Operator)
	case NeedAdmin:
		return c.Known && c.Grants.In(namespace, Admin)
	case NeedRoot:
		return c.Known && c.Grants.Has(Root)
	case ThroughSocket, NeedCredential:
		return c.Known && c.Socket && c.Grants.Has(Root)
	case Undeclared:
	}
	return false
}

func (c Caller) anyRole() bool {
	for _, g := range c.Grants {
		if g.Role.rank() > 0 || g.Role == Join || g.Role == Leave {
			return true
		}
	}
	return false
}

// Refusal says what was missing, to the one who was refused.
func (n Need) Refusal(namespace string) string {
	var role string
	switch n {
	case NeedGuest:
		role = "guest, operator or admin"
	case NeedOperator:
		role = "operator or admin"
	case NeedAdmin:
		role = "admin"
	case ThroughSocket, NeedCredential:
		return "only allowed through the root socket of the node"
	case NeedRoot:
		return "needs the root grant"
	case Undeclared, Public, Known, AnyRole:
		return "needs a grant: one of " + strings.TrimSpace(joinRoles(Roles()))
	}
	if namespace == "" {
		return "needs the " + role + " grant, or root"
	}
	return "needs the " + role + " grant on namespace " + namespace + ", or root"
}
