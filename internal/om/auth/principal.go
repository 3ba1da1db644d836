// Package auth finds out who calls: from the credentials of the process at the
// other end of the unix socket, or from a bearer token. What the caller may do
// then is package rbac.
package auth

import (
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// The ways a caller is recognised.
const (
	MethodSocket = "ux"
	MethodToken  = "jwt"
)

// Principal is an authenticated caller. The zero Principal is nobody.
type Principal struct {
	Name      string
	Namespace string // of the usr object the name designates
	Method    string
	Grants    rbac.Grants
}

// Caller returns what rights are decided on.
func (p Principal) Caller() rbac.Caller {
	return rbac.Caller{Known: p.Method != "", Socket: p.Method == MethodSocket, Grants: p.Grants}
}

// FromPeer recognises the process at the other end of the root socket: root, or
// the owner of an agent that lives unprivileged under a root of its own. The
// mode of the directory already keeps others out; this does not rely on it.
func FromPeer(peer socket.Peer, owner int) (Principal, error) {
	if peer.UID != 0 && peer.UID != owner {
		return Principal{}, fmt.Errorf("process %d of uid %d: neither root nor uid %d, the owner of the agent", peer.Pid, peer.UID, owner)
	}
	return Principal{Name: "root", Namespace: "system", Method: MethodSocket, Grants: rbac.Grants{{Role: rbac.Root}}}, nil
}
