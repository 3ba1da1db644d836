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
	NeedRefresh         // a refresh token
	NeedWriter          // what writing a configuration asks, see [Need.On]
	NeedSquatter        // squatter: writes the configurations of namespaces
	NeedJoin            // join, or root: adds a node, and reads what it needs
	NeedLeave           // leave, or root: removes a node
	NeedHeartbeat       // heartbeat, or root: uses the relay, and asks for votes
)

var needWords = [...]string{
	"undeclared", "public", "any user", "any role", "guest in the namespace", "operator in the namespace",
	"admin in the namespace", "root", "root socket", "the root socket or a password", "a refresh token",
	"admin in the namespace, squatter for the configuration of a namespace", "squatter", "join", "leave", "heartbeat",
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
	return []Need{Public, Known, AnyRole, NeedGuest, NeedOperator, NeedAdmin, NeedRoot, ThroughSocket, NeedCredential, NeedRefresh, NeedWriter, NeedSquatter, NeedJoin, NeedLeave, NeedHeartbeat}
}

// Caller is who calls, as far as rights are concerned.
type Caller struct {
	Known    bool // authenticated
	Socket   bool // came through the root socket
	Password bool // presented a password
	Refresh  bool // presented a refresh token, which makes nobody known
	Grants   Grants
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
	case ThroughSocket:
		return c.Known && c.Socket && c.Grants.Has(Root)
	case NeedCredential:
		return c.Known && (c.Password || c.Socket && c.Grants.Has(Root))
	case NeedRefresh:
		return c.Refresh
	case NeedWriter:
		return c.Known && (c.Grants.In(namespace, Admin) || c.Grants.Has(Squatter))
	case NeedSquatter:
		return c.Known && c.Grants.Has(Squatter)
	case NeedJoin:
		return c.Known && c.Grants.Has(Join)
	case NeedLeave:
		return c.Known && c.Grants.Has(Leave)
	case NeedHeartbeat:
		return c.Known && c.Grants.Has(Heartbeat)
	case Undeclared:
	}
	return false
}

// On is what an operation of need n asks when it acts on an object of a kind.
// Some objects are more than the namespace they are filed under: the users and
// the secrets of the namespace system are the access to the cluster, and the
// configuration of a namespace rations the namespace to those who administer it.
func (n Need) On(kind, namespace string) Need {
	if n != NeedAdmin && n != NeedWriter {
		return n
	}
	switch {
	case kind == "ccfg", namespace == systemNamespace && (kind == "usr" || kind == "sec"):
		return NeedRoot
	case kind == "nscfg":
		return NeedSquatter
	case kind == "":
		return n
	}
	return NeedAdmin
}

const systemNamespace = "system"

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
	case ThroughSocket:
		return "only allowed through the root socket of the node"
	case NeedCredential:
		return "not allowed to create token: only those who come through the root socket of the node, or with a password, are"
	case NeedRefresh:
		return "only allowed with a refresh token"
	case NeedWriter:
		return "needs the admin grant on namespace " + namespace + ", or root"
	case NeedSquatter:
		return "need one of [squatter root] grant"
	case NeedJoin:
		return "need one of [join root] grant"
	case NeedLeave:
		return "need one of [leave root] grant"
	case NeedHeartbeat:
		return "need one of [heartbeat root] grant"
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
