// Package auth finds out who calls: from the credentials of the process at the
// other end of a unix socket, from a bearer token, from a password or from a
// certificate. What the caller may do then is package rbac.
//
// Each way is a type of its own that answers with a [Principal] or an error. The
// error is for the log: the one who calls is told nothing of it.
package auth

import (
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// The ways a caller is recognised.
const (
	MethodSocket      = "ux"      // the root socket
	MethodAccount     = "uxuser"  // the user socket, a local account
	MethodSidecar     = "uxgrant" // the user socket, a process of a container of the agent
	MethodToken       = "jwt"     // a token of the cluster
	MethodOpenID      = "openid"  // a token of the OpenID provider
	MethodBasic       = "basic"   // the password of a user
	MethodNode        = "node"    // the secret of the cluster
	MethodCertificate = "x509"    // a client certificate
	MethodRefresh     = "refresh" // a token that only renews
)

// Principal is an authenticated caller. The zero Principal is nobody.
type Principal struct {
	Name      string
	Namespace string // of the usr object the name designates
	Method    string
	Grants    rbac.Grants
	User      bool      // the grants are at most those the user of the name has now
	UserID    string    // of the object of that user: one made later with the name is another
	Expires   time.Time // when what was presented is worth nothing more; zero: not known
	Proxied   bool      // recognised by another node, which forwards the request
	Session   *Session  // what a refresh token renews; nil for all others
}

// Caller returns what rights are decided on.
func (p Principal) Caller() rbac.Caller {
	return rbac.Caller{
		Known:    p.Method != "" && p.Method != MethodRefresh,
		Socket:   p.Method == MethodSocket && !p.Proxied,
		Password: (p.Method == MethodBasic || p.Method == MethodNode) && !p.Proxied,
		Refresh:  p.Method == MethodRefresh && p.Session != nil,
		Grants:   p.Grants,
	}
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

// Credentials are the ways to recognise a caller besides the tokens of the
// cluster. One that is nil recognises nobody.
type Credentials struct {
	Users        *Directory
	Passwords    *Passwords
	Certificates *Certificates
	OpenID       *OpenID
	Accounts     *Accounts // of the user socket
}
