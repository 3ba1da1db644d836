package setup

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// validity of what is made here: rotating is an operator's decision.
const validity = 10 * 365 * 24 * time.Hour

// backdate covers clocks a little behind that of the node that made a certificate.
const backdate = time.Hour

func (o Options) newAuthority() (map[string][]byte, error) {
	settings, err := o.Store.Cluster()
	if err != nil {
		return nil, err
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := o.template(pkix.Name{CommonName: settings.Name + " authority", Organization: []string{settings.Name}})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of the authority: %w", err)
	}
	return encodePair(key, der)
}

func (o Options) newCertificate() (map[string][]byte, error) {
	authority, signer, err := o.readAuthority()
	if err != nil {
		return nil, err
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := o.template(pkix.Name{CommonName: o.Node, Organization: authority.Subject.Organization})
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{o.Node, "localhost"}
	template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, o.Addresses...)
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of the listener: %w", err)
	}
	return encodePair(key, der, authority.Raw)
}

func (o Options) template(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: o.Now.Add(-backdate), NotAfter: o.Now.Add(validity),
	}, nil
}

// readAuthority returns the authority of the cluster, checked.
func (o Options) readAuthority() (*x509.Certificate, crypto.Signer, error) {
	text, err := o.Data.Decode(Authority(), keyCertificate)
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, unusable(Authority(), errors.New(keyCertificate+" is no PEM block"))
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, unusable(Authority(), err)
	}
	if text, err = o.Data.Decode(Authority(), keyPrivate); err != nil {
		return nil, nil, err
	}
	key, err := parseSigner(Authority(), text)
	if err != nil {
		return nil, nil, err
	}
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(certificate.PublicKey) {
		return nil, nil, unusable(Authority(), errors.New(keyPrivate+" is not that of "+keyCertificate))
	}
	return certificate, key, nil
}

func newTokenKey() (map[string][]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	text, err := encodeKey(key)
	return map[string][]byte{keyPrivate: text}, err
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func encodePair(key *ecdsa.PrivateKey, certificate []byte, issuers ...[]byte) (map[string][]byte, error) {
	private, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	chain := append([]byte(nil), text...)
	for _, der := range issuers {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return map[string][]byte{keyPrivate: private, keyCertificate: text, keyChain: chain}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// parseSigner reads the private key of p: the administrator may have put there
// one of another kind than those made here.
func parseSigner(p object.Path, text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, unusable(p, errors.New(keyPrivate+" is no PEM block"))
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, unusable(p, fmt.Errorf("%s: %w", keyPrivate, err))
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, unusable(p, fmt.Errorf("%s: a %T cannot sign", keyPrivate, parsed))
	}
	return key, nil
}

// parseKey reads the P-256 private key of p.
func parseKey(p object.Path, text []byte) (*ecdsa.PrivateKey, error) {
	signer, err := parseSigner(p, text)
	if err != nil {
		return nil, err
	}
	key, ok := signer.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, unusable(p, errors.New(keyPrivate+" is no P-256 key"))
	}
	return key, nil
}
