// Package renewal gives sec and usr objects their certificates: made here, signed
// by the certificate of another object, or issued by an ACME directory.
//
// It knows neither where objects are nor how a directory is asked: [Objects] and
// [Issuer] do. What a certificate looks like, and when it is to be renewed, is
// decided by package certificate.
package renewal

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// The keys that the renewals of a sec keep beside its certificate.
const (
	KeyAccount   = "acme_account"   // the private key of the account at the directories
	KeyIssuer    = "acme_issuer"    // which directory issued the certificate
	KeyChallenge = "acme_challenge" // what the listeners of the nodes answer, while a renewal goes on
)

// Objects gives the objects of the cluster.
type Objects interface {
	// Describe returns what the configuration of an object says.
	Describe(ctx context.Context, p object.Path) (Description, error)
	// Read decodes the keys of an object; those it does not have are left out.
	Read(ctx context.Context, p object.Path, keys ...string) (map[string][]byte, error)
	// Write gives keys their values in one commit, and removes those that are nil.
	Write(ctx context.Context, p object.Path, values map[string][]byte) error
}

// Issuer asks ACME directories; *acme.Client is one.
type Issuer interface {
	Issue(ctx context.Context, o certificate.Order) ([]*x509.Certificate, error)
}

// Description is the configuration of an object, as far as its certificate goes.
type Description struct {
	Certificate schema.CertificateSettings
	ACME        schema.ACMESettings
	Share       []string // namespaces that may use the keys
	Site        Site
}

// Site is what the configuration of the cluster says.
type Site struct {
	Authorities []object.Path // whose certificates make the users; the first one signs them
	Presented   []object.Path // whose certificates the listeners present
	Node        string        // this one
	Nodes       []string
	Addr        string // of the listener of this node
	ACMEPort    int    // where the nodes answer challenges; 0: nowhere
}

// Renewer makes and renews the certificates of objects.
type Renewer struct {
	Objects Objects
	Issuer  Issuer // nil: directories cannot be asked from here
	Random  io.Reader
	Now     func() time.Time
	Nodes   Asker // nil: the listeners cannot be asked from here
}

// Create makes a private key and a certificate, and gives them to an object.
func (r *Renewer) Create(ctx context.Context, p object.Path) (*certificate.Pair, error) {
	d, err := r.describe(ctx, p)
	if err != nil {
		return nil, err
	}
	return r.create(ctx, p, d)
}

func (r *Renewer) create(ctx context.Context, p object.Path, d Description) (*certificate.Pair, error) {
	issuer, usage, err := r.issuer(ctx, p, d)
	if err != nil {
		return nil, err
	}
	request, err := certificate.From(d.Certificate, usage)
	if err != nil {
		return nil, err
	}
	maker := r.maker()
	var pair *certificate.Pair
	if issuer == nil {
		pair, err = maker.SelfSign(request)
	} else {
		pair, err = maker.Sign(request, issuer)
		if err != nil {
			err = fmt.Errorf("ca = %s: %w", d.Certificate.CA, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return pair, r.keep(ctx, p, pair, nil)
}

// keep writes a pair in one commit. What belonged to the former one goes: the
// directory that issued it, the request for another.
func (r *Renewer) keep(ctx context.Context, p object.Path, pair *certificate.Pair, issuer []byte) error {
	keys, err := pair.Keys()
	if err != nil {
		return err
	}
	keys[KeyIssuer], keys[certificate.KeyRequest] = issuer, nil
	return r.Objects.Write(ctx, p, keys)
}

func (r *Renewer) maker() certificate.Maker {
	return certificate.Maker{Random: r.Random, Now: r.Now()}
}

// describe refuses what holds no certificate, and completes the description of
// a user: its certificate has its name, signed by the authority of the cluster.
func (r *Renewer) describe(ctx context.Context, p object.Path) (Description, error) {
	if p.Kind != object.KindSec && p.Kind != object.KindUsr {
		return Description{}, fmt.Errorf("objects of kind %s hold no certificate: only sec and usr do", p.Kind)
	}
	d, err := r.Objects.Describe(ctx, p)
	if err != nil {
		return d, err
	}
	if p.Kind == object.KindUsr {
		d.Certificate.CommonName = cmp.Or(d.Certificate.CommonName, p.Name)
		if d.Certificate.CA == "" && len(d.Site.Authorities) > 0 {
			d.Certificate.CA = d.Site.Authorities[0].String()
		}
	}
	return d, nil
}

// issuer returns what signs the certificate of an object, nil when it does
// itself, and what that makes the certificate good for. A certificate of the
// authority of the cluster that is good for clients lets its holder in as a
// user: that of a sec is not.
func (r *Renewer) issuer(ctx context.Context, p object.Path, d Description) (*certificate.Pair, certificate.Usage, error) {
	usage := certificate.Mutual
	switch {
	case p.Kind == object.KindUsr:
		usage = certificate.Client
	case slices.Contains(d.Site.Authorities, p):
		usage = certificate.Authority
	}
	if d.Certificate.CA == "" {
		return nil, usage, nil
	}
	ca, err := certificate.Sec(d.Certificate.CA, p.Namespace)
	if err != nil {
		return nil, usage, fmt.Errorf("ca: %w", err)
	}
	if ca == p {
		return nil, usage, nil
	}
	if usage == certificate.Mutual && slices.Contains(d.Site.Authorities, ca) {
		usage = certificate.Server
	}
	pair, err := r.read(ctx, ca, p.Namespace)
	if err != nil {
		return nil, usage, fmt.Errorf("ca = %s: %w", d.Certificate.CA, err)
	}
	return pair, usage, nil
}

// read reads the pair of another object, which must share it.
func (r *Renewer) read(ctx context.Context, p object.Path, namespace string) (*certificate.Pair, error) {
	d, err := r.Objects.Describe(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := shares(p, d, namespace); err != nil {
		return nil, err
	}
	return r.pair(ctx, p)
}

func (r *Renewer) pair(ctx context.Context, p object.Path) (*certificate.Pair, error) {
	keys, err := r.Objects.Read(ctx, p, certificate.KeyPrivate, certificate.KeyChain, certificate.KeyCertificate)
	if err != nil {
		return nil, err
	}
	pair, err := certificate.Parse(keys)
	if errors.Is(err, certificate.ErrNone) {
		return nil, fmt.Errorf("%s holds %w: om %s certificate create", p, err, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return pair, nil
}

// shares refuses the objects of another namespace, unless they share their keys.
func shares(p object.Path, d Description, namespace string) error {
	if p.Namespace == namespace || slices.ContainsFunc(d.Share, func(with string) bool { return object.Glob(with, namespace) }) {
		return nil
	}
	return fmt.Errorf("%s does not share its keys with namespace %s: add it to the share keyword of %s", p, namespace, p)
}

// SigningRequest asks an authority elsewhere for the certificate of an object, as
// a PKCS #10 request in PEM, which the object keeps too. The private key the
// object has is kept, so that its present certificate goes on serving.
func (r *Renewer) SigningRequest(ctx context.Context, p object.Path) ([]byte, error) {
	d, err := r.describe(ctx, p)
	if err != nil {
		return nil, err
	}
	request, err := certificate.From(d.Certificate, certificate.Server)
	if err != nil {
		return nil, err
	}
	keys, err := r.Objects.Read(ctx, p, certificate.KeyPrivate)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	text := keys[certificate.KeyPrivate]
	if len(text) == 0 {
		key, err := certificate.NewKey(r.Random, request.Bits)
		if err != nil {
			return nil, err
		}
		if text, err = certificate.EncodeKey(key); err != nil {
			return nil, err
		}
		values[certificate.KeyPrivate] = text
	}
	key, err := certificate.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", certificate.KeyPrivate, err)
	}
	csr, err := r.maker().SigningRequest(request, key)
	if err != nil {
		return nil, err
	}
	values[certificate.KeyRequest] = csr
	return csr, r.Objects.Write(ctx, p, values)
}

// PKCS12 exports the private key and the certificates of an object in an archive
// sealed with a password.
func (r *Renewer) PKCS12(ctx context.Context, p object.Path, password string) ([]byte, error) {
	if _, err := r.describe(ctx, p); err != nil {
		return nil, err
	}
	pair, err := r.pair(ctx, p)
	if err != nil {
		return nil, err
	}
	return pair.PKCS12(r.Random, password, cmp.Or(pair.Leaf().Subject.CommonName, p.Name))
}
