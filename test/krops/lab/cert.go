package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// An authority signs the certificates of one control plane.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: block("CERTIFICATE", der)}, nil
}

func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // rand.Reader never fails
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// serving returns the certificate and key of a server on loopback.
func (a *authority) serving(name string, names ...string) (cert, key []byte, err error) {
	template := certificate(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}
	template.DNSNames = append([]string{"localhost", "kubernetes", "kubernetes.default.svc"}, names...)
	return a.sign(template)
}

// client returns the certificate and key of a user.
func (a *authority) client(user string, groups ...string) (cert, key []byte, err error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	key, err = private2pem(private)
	return block("CERTIFICATE", der), key, err
}

// private2pem writes a key in the form that an API server finds the public key in.
func private2pem(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return block("EC PRIVATE KEY", der), nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// save writes files that only their owner reads.
func save(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
