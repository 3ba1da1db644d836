package auth

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// The keys of the usr and sec objects looked at.
const (
	keyCertificate = "certificate"
	keyChain       = "certificate_chain"
)

// Directory is what the configurations of this node say of users.
type Directory struct {
	Store *store.Store
	Data  *datastore.Data
}

// UserPath is the object of a user.
func UserPath(name string) object.Path {
	return object.Path{Namespace: object.SystemNamespace, Kind: object.KindUsr, Name: name}
}

// Grants returns the grants of a user. Without such a user the error is an
// *[object.NotFoundError].
func (d *Directory) Grants(name string) (rbac.Grants, error) {
	return d.GrantsOf(name, "")
}

func (d *Directory) settings(name string) (*schema.ObjectSettings, error) {
	p := UserPath(name)
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	return d.Store.Object(p)
}

// ID returns the id of the object of a user.
func (d *Directory) ID(name string) (string, error) {
	settings, err := d.settings(name)
	if err != nil {
		return "", err
	}
	return settings.ID, nil
}

// GrantsOf returns the grants of the user whose object has that id, of whichever when
// it is empty. Without that user, another of the name being there or not, the error
// is an *[object.NotFoundError].
func (d *Directory) GrantsOf(name, id string) (rbac.Grants, error) {
	settings, err := d.settings(name)
	if err != nil {
		return nil, err
	}
	if id != "" && id != settings.ID {
		return nil, &object.NotFoundError{What: UserPath(name).String() + " of id " + id}
	}
	grants, err := rbac.Parse(strings.Join(settings.Grant, " "))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", UserPath(name), err)
	}
	return grants, nil
}

// Limit narrows the grants of a caller to those its user still has. A user who is
// gone, or whose grants cannot be read, has none: that is an error.
func (d *Directory) Limit(p Principal) (Principal, error) {
	if !p.User {
		return p, nil
	}
	current, err := d.GrantsOf(p.Name, p.UserID)
	if err != nil {
		return Principal{}, err
	}
	p.Grants = p.Grants.Within(current)
	return p, nil
}

// Password returns the hash of the password of a user, empty for one who does
// not exist or has none.
func (d *Directory) Password(name string) (string, error) {
	p := UserPath(name)
	if !isName(p) {
		return "", nil
	}
	hash, err := d.Data.PasswordHash(p)
	var (
		noUser *object.NotFoundError
		noKey  *datastore.KeyNotFoundError
	)
	if errors.As(err, &noUser) || errors.As(err, &noKey) {
		return "", nil
	}
	return hash, err
}

// isName reports whether a user may have the name.
func isName(p object.Path) bool { return p.Validate() == nil }

// Stamp tells one password from another without telling anything of it: it is
// derived from the hash, which holds a salt. A user without password has none.
func (d *Directory) Stamp(name string) (string, error) {
	hash, err := d.Password(name)
	if err != nil || hash == "" {
		return "", err
	}
	sum := sha256.Sum256([]byte("session of " + hash))
	return hex.EncodeToString(sum[:8]), nil
}

// NodeSecret returns the secret of the cluster if name is one of its nodes.
func (d *Directory) NodeSecret(name string) (secret.String, error) {
	c, err := d.Store.Cluster()
	if err != nil {
		return secret.String{}, err
	}
	if !slices.Contains(c.Nodes, name) {
		return secret.String{}, nil
	}
	return d.Store.ClusterSecret()
}

// defaultAuthority signs the certificates of users when the cluster names none.
func defaultAuthority() object.Path {
	return object.Path{Namespace: object.SystemNamespace, Kind: object.KindSec, Name: "ca"}
}

// Authorities returns the certificates of the authorities of the users, and
// those between them and the certificates they sign. An authority that cannot be
// read vouches for nobody: the error says which, those that can are returned.
func (d *Directory) Authorities() (roots, between []*x509.Certificate, err error) {
	c, err := d.Store.Cluster()
	if err != nil {
		return nil, nil, err
	}
	paths := []object.Path{defaultAuthority()}
	if len(c.CA) > 0 {
		paths = nil
	}
	var errs []error
	for _, name := range c.CA {
		p, err := object.Parse(name)
		if err == nil && p.Kind != object.KindSec {
			err = fmt.Errorf("%s is no sec object", p)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("cluster.ca: %w", err))
			continue
		}
		paths = append(paths, p)
	}
	for _, p := range paths {
		own, chain, err := d.authority(p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		roots, between = append(roots, own), append(between, chain...)
	}
	return roots, between, errors.Join(errs...)
}

// authority reads the certificate of an authority: the one it signs with.
func (d *Directory) authority(p object.Path) (*x509.Certificate, []*x509.Certificate, error) {
	var chain []*x509.Certificate
	for _, key := range []string{keyCertificate, keyChain} {
		text, err := d.Data.Decode(p, key)
		if _, ok := errors.AsType[*datastore.KeyNotFoundError](err); ok {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		found, err := parseCertificates(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: key %s: %w", p, key, err)
		}
		chain = append(chain, found...)
	}
	if len(chain) == 0 {
		return nil, nil, fmt.Errorf("%s: neither key %s nor %s holds a certificate", p, keyCertificate, keyChain)
	}
	return chain[0], chain[1:], nil
}

func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return found, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
}
