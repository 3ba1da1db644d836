package membership

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// The nodes share one certificate. When the agent made it, it is made again to name a
// node that joins; else the node makes one of its own, for who asks for it by its
// name, which takes the private key of the authority.

// sign returns the certificate of this node alone, if one can be made.
func (m *Manager) sign() (*x509.Certificate, error) {
	if m.o.Sign == nil {
		return nil, errors.New("no certificate is made here")
	}
	c, err := m.o.Sign()
	return c.Leaf, err
}

// isCalled refuses a name that no certificate of this node is for.
func (m *Manager) isCalled(host string) error {
	leaf, err := m.leaf()
	if err != nil {
		return err
	}
	err = leaf.VerifyHostname(bracketed(host))
	if alone, signing := m.sign(); err != nil && signing == nil {
		return alone.VerifyHostname(bracketed(host))
	}
	return err
}

func (m *Manager) leaf() (*x509.Certificate, error) {
	pair, err := m.pair(setup.Certificate())
	if err != nil {
		return nil, err
	}
	return pair.Leaf(), nil
}

// certifies refuses a node that the certificate of the cluster cannot name.
func (m *Manager) certifies(node string) error {
	leaf, err := m.leaf()
	if err != nil {
		return err
	}
	if leaf.VerifyHostname(node) == nil {
		return nil
	}
	if _, err := m.sign(); err == nil {
		return nil // it will make one of its own
	}
	refuse := func(why error) error {
		return problem(http.StatusConflict, "%s does not name %s, and cannot be made again here: %v: have it made with that name among its alt_names, then try again",
			setup.Certificate(), node, why)
	}
	if err := certificate.CheckName(node); err != nil {
		return refuse(err)
	}
	settings, err := m.o.Store.Object(setup.Certificate())
	if err != nil {
		return err
	}
	if settings.Certificate.CA != setup.Authority().String() {
		return refuse(fmt.Errorf("it is not signed by %s", setup.Authority()))
	}
	ca, err := m.pair(setup.Authority())
	if err != nil {
		return refuse(err)
	}
	if !ca.Leaf().IsCA {
		return refuse(errors.New(setup.Authority().String() + " is no authority"))
	}
	return nil
}

// name has the certificate of the cluster name a node and its addresses.
func (m *Manager) name(ctx context.Context, in api.Candidate) error {
	if err := m.certifies(in.Node); err != nil {
		return err
	}
	settings, err := m.o.Store.Object(setup.Certificate())
	if err != nil {
		return err
	}
	if settings.Certificate.CA != setup.Authority().String() {
		return nil // made elsewhere
	}
	leaf, err := m.leaf()
	if err != nil {
		return err
	}
	missing := []string{}
	for _, name := range append([]string{in.Node}, in.Addr...) {
		if ip := net.ParseIP(name); name != in.Node && (ip == nil || !ip.IsGlobalUnicast()) {
			continue
		}
		if leaf.VerifyHostname(bracketed(name)) != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	change := config.Change{}
	for _, name := range missing {
		change.Set = append(change.Set, config.Op{Key: config.Key{Section: config.DefaultSection, Option: "alt_names"}, Operator: config.OpAdd, Value: name})
	}
	if _, err := m.o.Store.Update(ctx, setup.Certificate(), change); err != nil {
		return fmt.Errorf("add %s to the certificate of the cluster: %w", strings.Join(missing, ", "), err)
	}
	if _, err := m.renewer().Create(ctx, setup.Certificate()); err != nil {
		return fmt.Errorf("add %s to the certificate of the cluster: %w", strings.Join(missing, ", "), err)
	}
	m.refresh(setup.Certificate())
	return nil
}

// refresh has the daemon know a configuration at once; it sees it soon anyway.
func (m *Manager) refresh(p object.Path) {
	_ = m.o.Discover.Refresh(p)
}

// bracketed is an address as certificates are asked about it.
func bracketed(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
