package daemon

import (
	"crypto/x509"
	"fmt"
	"net"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
)

// peers are the nodes of the cluster, as the view has them.
type peers struct{ state *state.State }

var _ httpd.Peers = peers{}

// Peers implements [httpd.Peers].
func (p peers) Peers() []string { return p.state.View().Config.Nodes }

// Address implements [httpd.Peers]: a node is reached by its name, on the port it
// is known to listen on, else on the one the cluster says.
func (p peers) Address(node string) (string, error) {
	v := p.state.View()
	if n := v.Nodes[node]; n != nil && n.Listener.Port != "" {
		return net.JoinHostPort(node, n.Listener.Port), nil
	}
	if v.Config.Listener.Port == 0 {
		return "", fmt.Errorf("the port of the API of %s is not known: see the issues of the cluster configuration", node)
	}
	return net.JoinHostPort(node, strconv.Itoa(v.Config.Listener.Port)), nil
}

// authorities are those that sign the certificates of the nodes.
func authorities(pem []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem) // none: no peer is believed
	return pool
}
