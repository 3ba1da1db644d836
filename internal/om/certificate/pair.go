package certificate

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// The keys of an object that holds a certificate.
const (
	KeyPrivate     = "private_key"
	KeyCertificate = "certificate"
	KeyChain       = "certificate_chain" // the certificate, then those of its issuers
	KeyFull        = "fullpem"           // the private key, then the chain
	KeyRequest     = "certificate_signing_request"
)

// Pair is a private key with its certificate.
type Pair struct {
	Key   crypto.Signer
	Chain []*x509.Certificate // its own first, then those of its issuers
}

// Leaf is the certificate itself.
func (p *Pair) Leaf() *x509.Certificate { return p.Chain[0] }

// Keys returns what an object keeps of the pair.
func (p *Pair) Keys() (map[string][]byte, error) {
	private, err := EncodeKey(p.Key)
	if err != nil {
		return nil, err
	}
	chain := EncodeChain(p.Chain...)
	return map[string][]byte{
		KeyPrivate: private, KeyCertificate: EncodeChain(p.Leaf()), KeyChain: chain,
		KeyFull: append(bytes.Clone(private), chain...),
	}, nil
}

// TLS is the pair as a listener presents it.
func (p *Pair) TLS() tls.Certificate {
	t := tls.Certificate{PrivateKey: p.Key, Leaf: p.Leaf()}
	for _, c := range p.Chain {
		t.Certificate = append(t.Certificate, c.Raw)
	}
	return t
}

// EncodeChain writes certificates in PEM.
func EncodeChain(chain ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range chain {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// ParseChain reads certificates in PEM, one at least. What is not a certificate
// is passed over, so that a fullpem is read too.
func ParseChain(text []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("no certificate in PEM")
	}
	return chain, nil
}

// ErrNone says that an object holds no certificate.
var ErrNone = errors.New("no certificate")

// Parse reads the pair that an object keeps. People load a signed certificate in
// the chain alone, or in the certificate alone: the one the private key is of
// counts, the chain when it is both.
func Parse(keys map[string][]byte) (*Pair, error) {
	if len(keys[KeyChain]) == 0 && len(keys[KeyCertificate]) == 0 {
		return nil, ErrNone
	}
	if len(keys[KeyPrivate]) == 0 {
		return nil, fmt.Errorf("no key %s", KeyPrivate)
	}
	key, err := ParseKey(keys[KeyPrivate])
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", KeyPrivate, err)
	}
	var wrong error
	for _, name := range []string{KeyChain, KeyCertificate} {
		if len(keys[name]) == 0 {
			continue
		}
		chain, err := ParseChain(keys[name])
		if err == nil && !Fits(key, chain[0]) {
			err = fmt.Errorf("%s is not that of the certificate", KeyPrivate)
		}
		if err == nil {
			return &Pair{Key: key, Chain: chain}, nil
		}
		wrong = errors.Join(wrong, fmt.Errorf("key %s: %w", name, err))
	}
	return nil, wrong
}

// SelfSigned reports whether nobody else vouches for a certificate.
func SelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}
