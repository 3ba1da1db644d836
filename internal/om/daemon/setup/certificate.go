package setup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// validity of what is made here: rotating is an operator's decision.
const validity = "10y"

// authorityKeywords describe the certificate of the authority in its object, for
// the certificate command to make another one like it.
func (o Options) authorityKeywords() (map[string]string, error) {
	settings, err := o.Store.Cluster()
	if err != nil {
		return nil, err
	}
	return map[string]string{"cn": settings.Name + " authority", "o": settings.Name, "validity": validity}, nil
}

// certificateKeywords describe the certificate of the listener.
func (o Options) certificateKeywords() (map[string]string, error) {
	settings, err := o.Store.Cluster()
	if err != nil {
		return nil, err
	}
	names := []string{"localhost", "127.0.0.1", "::1"}
	for _, address := range o.Addresses {
		names = append(names, address.String())
	}
	return map[string]string{
		"cn": o.Node, "alt_names": strings.Join(names, " "), "ca": Authority().String(), "o": settings.Name, "validity": validity,
	}, nil
}

func (o Options) newAuthority() (map[string][]byte, error) {
	request, err := o.request(Authority(), certificate.Authority, o.authorityKeywords)
	if err != nil {
		return nil, err
	}
	pair, err := o.maker().SelfSign(request)
	if err != nil {
		return nil, err
	}
	return pair.Keys()
}

// Sign makes a certificate for this node that is kept nowhere: one that the nodes
// share may not name it, or not yet.
func Sign(o Options) (tls.Certificate, error) {
	authority, err := o.readAuthority()
	if err != nil {
		return tls.Certificate{}, err
	}
	words, err := o.certificateKeywords()
	if err != nil {
		return tls.Certificate{}, err
	}
	settings := schema.CertificateSettings{CommonName: words["cn"], Organization: words["o"], AltNames: strings.Fields(words["alt_names"])}
	if settings.Validity, err = config.ParseDuration(words["validity"]); err != nil {
		return tls.Certificate{}, err
	}
	request, err := certificate.From(settings, certificate.Server)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := o.maker().Sign(request, authority)
	if err != nil {
		return tls.Certificate{}, unusable(Authority(), err)
	}
	return pair.TLS(), nil
}

func (o Options) newCertificate() (map[string][]byte, error) {
	authority, err := o.readAuthority()
	if err != nil {
		return nil, err
	}
	request, err := o.request(Certificate(), certificate.Server, o.certificateKeywords)
	if err != nil {
		return nil, err
	}
	pair, err := o.maker().Sign(request, authority)
	if err != nil {
		return nil, unusable(Authority(), err)
	}
	return pair.Keys()
}

func (o Options) maker() certificate.Maker { return certificate.Maker{Random: rand.Reader, Now: o.Now} }

// request is what the keywords of an object ask for: those it was made with, when
// whoever made it wrote none.
func (o Options) request(p object.Path, usage certificate.Usage, keywords func() (map[string]string, error)) (certificate.Request, error) {
	object, err := o.Store.Object(p)
	if err != nil {
		return certificate.Request{}, err
	}
	settings := object.Certificate
	if settings.CommonName == "" {
		words, err := keywords()
		if err != nil {
			return certificate.Request{}, err
		}
		settings.CommonName, settings.Organization, settings.AltNames = words["cn"], words["o"], strings.Fields(words["alt_names"])
		if settings.Validity, err = config.ParseDuration(words["validity"]); err != nil {
			return certificate.Request{}, err
		}
	}
	request, err := certificate.From(settings, usage)
	if err != nil {
		return request, fmt.Errorf("%s: %w", p, err)
	}
	return request, nil
}

// readAuthority returns the authority of the cluster, checked.
func (o Options) readAuthority() (*certificate.Pair, error) {
	pair, err := o.readPair(Authority())
	if err != nil {
		return nil, err
	}
	if !pair.Leaf().IsCA {
		return nil, unusable(Authority(), errors.New("its certificate is not that of an authority"))
	}
	return pair, nil
}

func (o Options) readPair(p object.Path) (*certificate.Pair, error) {
	keys := map[string][]byte{}
	for _, name := range []string{certificate.KeyPrivate, certificate.KeyChain, certificate.KeyCertificate} {
		value, err := o.Data.Decode(p, name)
		if err != nil {
			return nil, err
		}
		keys[name] = value
	}
	pair, err := certificate.Parse(keys)
	if err != nil {
		return nil, unusable(p, err)
	}
	return pair, nil
}

func newTokenKey() (map[string][]byte, error) {
	key, err := certificate.NewKey(rand.Reader, 0)
	if err != nil {
		return nil, err
	}
	text, err := certificate.EncodeKey(key)
	return map[string][]byte{certificate.KeyPrivate: text}, err
}

// parseKey reads the P-256 private key of p.
func parseKey(p object.Path, text []byte) (*ecdsa.PrivateKey, error) {
	signer, err := certificate.ParseKey(text)
	if err != nil {
		return nil, unusable(p, fmt.Errorf("key %s: %w", certificate.KeyPrivate, err))
	}
	key, ok := signer.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, unusable(p, errors.New(certificate.KeyPrivate+" is no P-256 key"))
	}
	return key, nil
}
