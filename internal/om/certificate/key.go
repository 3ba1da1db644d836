package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// NewKey makes a private key: RSA of that many bits, or ECDSA on P-256 for 0.
func NewKey(random io.Reader, bits int64) (crypto.Signer, error) {
	if err := schema.CheckBits(bits); err != nil {
		return nil, err
	}
	var key crypto.Signer
	var err error
	if bits == 0 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), random)
	} else {
		key, err = rsa.GenerateKey(random, int(bits))
	}
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	return key, nil
}

// EncodeKey writes a private key in PEM, as PKCS #8.
func EncodeKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads a private key in PEM, whatever made it. Parameters of curves may
// come before it.
func ParseKey(text []byte) (crypto.Signer, error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("no private key in PEM")
		}
		text = rest
		switch block.Type {
		case "EC PARAMETERS":
			continue
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("the private key is encrypted: decrypt it first, the object seals it")
		}
		if block.Headers["DEK-Info"] != "" {
			return nil, errors.New("the private key is encrypted: decrypt it first, the object seals it")
		}
		return parseKey(block.Bytes)
	}
}

func parseKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", parsed)
	}
	return key, nil
}

// Fits reports whether a private key is that of a certificate.
func Fits(key crypto.Signer, c *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}
