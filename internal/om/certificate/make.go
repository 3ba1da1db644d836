package certificate

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"time"
)

// backdate covers clocks a little behind that of the node that makes a certificate.
const backdate = time.Hour

// Maker makes certificates.
type Maker struct {
	Random io.Reader
	Now    time.Time
}

// SelfSign makes a private key and a certificate nobody else vouches for. It can
// sign others, for an object may be the authority of its namespace.
func (m Maker) SelfSign(r Request) (*Pair, error) {
	key, err := NewKey(m.Random, r.Bits)
	if err != nil {
		return nil, err
	}
	template, err := m.template(r, key.Public())
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	if r.Usage == Authority {
		template.MaxPathLenZero = true // it signs certificates, no other authority
	} else {
		// Both, whatever the usage: those of an authority bound those it signs.
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	own, err := m.sign(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Pair{Key: key, Chain: []*x509.Certificate{own}}, nil
}

// Sign makes a private key and a certificate that an issuer vouches for.
func (m Maker) Sign(r Request, issuer *Pair) (*Pair, error) {
	key, err := NewKey(m.Random, r.Bits)
	if err != nil {
		return nil, err
	}
	chain, err := m.Certify(r, key.Public(), issuer)
	if err != nil {
		return nil, err
	}
	return &Pair{Key: key, Chain: chain}, nil
}

// Certify makes a certificate of a public key that an issuer vouches for, and
// returns its chain.
func (m Maker) Certify(r Request, public crypto.PublicKey, issuer *Pair) ([]*x509.Certificate, error) {
	if err := m.canSign(issuer); err != nil {
		return nil, err
	}
	template, err := m.template(r, public)
	if err != nil {
		return nil, err
	}
	authority := issuer.Leaf()
	if template.NotAfter.After(authority.NotAfter) {
		template.NotAfter = authority.NotAfter // nobody would believe the rest
	}
	leaf, err := m.sign(template, authority, public, issuer.Key)
	if err != nil {
		return nil, err
	}
	return append([]*x509.Certificate{leaf}, issuer.Chain...), nil
}

// canSign refuses an issuer whose signature nobody would accept.
func (m Maker) canSign(issuer *Pair) error {
	switch authority := issuer.Leaf(); {
	case !authority.IsCA || authority.KeyUsage != 0 && authority.KeyUsage&x509.KeyUsageCertSign == 0:
		return errors.New("its certificate is not that of an authority, it cannot sign others")
	case !m.Now.Before(authority.NotAfter):
		return fmt.Errorf("its certificate expired on %s: renew it first", authority.NotAfter.In(m.Now.Location()).Format(time.RFC3339))
	}
	return nil
}

func (m Maker) sign(template, authority *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(m.Random, template, authority, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

func (m Maker) template(r Request, public crypto.PublicKey) (*x509.Certificate, error) {
	if r.Validity <= 0 {
		return nil, fmt.Errorf("validity = %s: a certificate is valid for some time", r.Validity)
	}
	serial, err := m.serial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: r.Subject,
		NotBefore: m.Now.Add(-backdate), NotAfter: m.Now.Add(r.Validity),
	}
	if r.Email != "" {
		t.EmailAddresses = []string{r.Email}
	}
	for _, name := range r.Names {
		if addr, err := netip.ParseAddr(name); err == nil {
			t.IPAddresses = append(t.IPAddresses, addr.AsSlice())
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	switch r.Usage {
	case Authority:
		return t, nil
	case Client:
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	case Mutual:
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	case Server:
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	t.KeyUsage = x509.KeyUsageDigitalSignature
	if _, ok := public.(*rsa.PublicKey); ok {
		t.KeyUsage |= x509.KeyUsageKeyEncipherment // for clients older than TLS 1.3
	}
	return t, nil
}

// serial numbers are random, 127 bits long at most, and never zero.
func (m Maker) serial() (*big.Int, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(m.Random, b); err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	b[0] = b[0]&0x3f | 0x40
	return new(big.Int).SetBytes(b), nil
}

// SigningRequest asks an authority elsewhere for a certificate of key, as a PKCS #10
// request in PEM.
func (m Maker) SigningRequest(r Request, key crypto.Signer) ([]byte, error) {
	t := &x509.CertificateRequest{Subject: r.Subject}
	if r.Email != "" {
		t.EmailAddresses = []string{r.Email}
	}
	for _, name := range r.Names {
		if addr, err := netip.ParseAddr(name); err == nil {
			t.IPAddresses = append(t.IPAddresses, addr.AsSlice())
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificateRequest(m.Random, t, key)
	if err != nil {
		return nil, fmt.Errorf("make the signing request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}
