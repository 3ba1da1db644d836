package setup

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Authority is the sec object of the certificate authority of the cluster. Its
// private key is nowhere else.
func Authority() object.Path { return sec("ca") }

// Certificate is the sec object of the certificate of the listener.
func Certificate() object.Path { return sec("cert") }

// TokenKey is the sec object of the key that signs tokens. It is not that of the
// listener: renewing the certificate ends no session.
func TokenKey() object.Path { return sec("token") }

func sec(name string) object.Path {
	return object.Path{Namespace: object.SystemNamespace, Kind: object.KindSec, Name: name}
}

// Identity is what the daemon proves who it is with.
type Identity struct {
	ClusterID   string
	Certificate tls.Certificate
	Authority   []byte // PEM, what clients trust
	TokenKey    *ecdsa.PrivateKey
}

// material is a sec object and the keys it must hold.
type material struct {
	path object.Path
	keys []string
	// keywords describe the object; nil: none do.
	keywords func() (map[string]string, error)
	make     func() (map[string][]byte, error)
}

func (o Options) materials() []material {
	pair := []string{certificate.KeyPrivate, certificate.KeyCertificate, certificate.KeyChain}
	return []material{
		{Authority(), pair, o.authorityKeywords, o.newAuthority},
		{Certificate(), pair, o.certificateKeywords, o.newCertificate},
		{TokenKey(), []string{certificate.KeyPrivate}, nil, newTokenKey},
	}
}

func (o Options) makeObject(ctx context.Context, m material) error {
	if o.Store.Exists(m.path) {
		return nil
	}
	options := store.CreateOptions{}
	if m.keywords != nil {
		keywords, err := m.keywords()
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(keywords)) {
			key := config.Key{Section: config.DefaultSection, Option: name}
			options.Change.Set = append(options.Change.Set, config.Op{Key: key, Operator: config.OpSet, Value: keywords[name]})
		}
	}
	if _, err := o.Store.Create(ctx, m.path, nil, options); err != nil {
		if _, ok := errors.AsType[*store.ExistsError](err); !ok {
			return err
		}
	}
	return nil
}

// makeKeys makes every key of m when it has none, in one commit.
func (o Options) makeKeys(ctx context.Context, m material) error {
	present, err := o.Data.Keys(m.path)
	if err != nil {
		return err
	}
	var missing []string
	for _, key := range m.keys {
		if !slices.Contains(present, key) {
			missing = append(missing, key)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case len(m.keys):
		values, err := m.make()
		if err != nil {
			return err
		}
		if err := o.Data.SetAll(ctx, m.path, values); err != nil {
			return err
		}
		return o.report(m.path, m.keys, nil)
	default:
		return fmt.Errorf("%s has %s but not %s: restore the object from a backup, or remove its keys to have all of them made again",
			m.path, strings.Join(present, ", "), strings.Join(missing, ", "))
	}
}

// load reads and checks what the steps made.
func (o Options) load() (Identity, error) {
	settings, err := o.Store.Cluster()
	if err != nil {
		return Identity{}, fmt.Errorf("cluster configuration: %w", err)
	}
	identity := Identity{ClusterID: settings.ID}
	authority, err := o.readAuthority()
	if err != nil {
		return Identity{}, err
	}
	identity.Authority = certificate.EncodeChain(authority.Leaf())
	if identity.Certificate, err = o.readCertificate(); err != nil {
		return Identity{}, err
	}
	pem, err := o.Data.Decode(TokenKey(), certificate.KeyPrivate)
	if err != nil {
		return Identity{}, err
	}
	if identity.TokenKey, err = parseKey(TokenKey(), pem); err != nil {
		return Identity{}, err
	}
	return identity, nil
}

func (o Options) readCertificate() (tls.Certificate, error) {
	pair, err := o.readPair(Certificate())
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := pair.Leaf().VerifyHostname(o.Node); err != nil {
		o.Log.Info("the certificate of the cluster does not name this node: another one is made for it", slog.Any("err", err))
	}
	if left := pair.Leaf().NotAfter.Sub(o.Now); left < renewWarning {
		o.Log.Warn("the certificate of the listener expires", slog.Time("at", pair.Leaf().NotAfter))
	}
	return pair.TLS(), nil
}

// renewWarning is how long before its end a certificate is worth a warning.
const renewWarning = 30 * 24 * time.Hour

// unusable says that what exists cannot serve, and that it was not replaced.
func unusable(p object.Path, err error) error {
	return fmt.Errorf("%s cannot be used and was left as it is: %w: restore it from a backup, or remove its keys to have them made again", p, err)
}
