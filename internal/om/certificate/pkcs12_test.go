package certificate_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// The shape of an archive, as far as the test opens it: that it is one for other
// programs is seen in the lab, with openssl.
type (
	info struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue // tagged 0
	}
	archive struct {
		Version int
		Safe    info
		MAC     asn1.RawValue
	}
	sealedContent struct {
		Version int
		Content struct {
			Type      asn1.ObjectIdentifier
			Algorithm pkix.AlgorithmIdentifier
			Data      []byte `asn1:"tag:0"`
		}
	}
	bag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue   `asn1:"tag:0,explicit"`
		Attributes []asn1.RawValue `asn1:"set,optional"`
	}
	sealedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
)

func TestAnArchiveHoldsTheKeyAndTheChainSealed(t *testing.T) {
	t.Parallel()
	const password = "pässw€rd"
	root := selfSigned(t, schema.CertificateSettings{CommonName: "root"}, certificate.Mutual)
	pair := signed(t, schema.CertificateSettings{CommonName: "www.example.com"}, certificate.Server, root)

	der, err := pair.PKCS12(rand.Reader, password, "www")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(der, pair.Leaf().Raw) {
		t.Error("the certificate is in clear")
	}
	var a archive
	unmarshal(t, der, &a)
	var parts []info
	unmarshal(t, octets(t, a.Safe), &parts)
	if a.Version != 3 || len(parts) != 2 {
		t.Fatalf("version %d, %d parts", a.Version, len(parts))
	}
	var certs sealedContent
	unmarshal(t, parts[0].Content.Bytes, &certs)
	plain := decrypt(t, certs.Content.Algorithm, certs.Content.Data, password)
	for _, c := range pair.Chain {
		if !bytes.Contains(plain, c.Raw) {
			t.Errorf("the certificate of %s is missing", c.Subject)
		}
	}
	var bags []bag
	unmarshal(t, octets(t, parts[1]), &bags)
	var key sealedKey
	unmarshal(t, bags[0].Value.Bytes, &key)
	parsed, err := x509.ParsePKCS8PrivateKey(decrypt(t, key.Algorithm, key.Data, password))
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := pair.Key.(interface{ Equal(x any) bool }); ok && !own.Equal(parsed) {
		t.Error("another private key")
	}
	if len(bags[0].Attributes) != 2 {
		t.Errorf("%d attributes", len(bags[0].Attributes))
	}
}

func TestAnArchiveHasAPassword(t *testing.T) {
	t.Parallel()
	pair := selfSigned(t, schema.CertificateSettings{CommonName: "root"}, certificate.Mutual)
	if _, err := pair.PKCS12(rand.Reader, "", "x"); err == nil || !strings.Contains(err.Error(), "password is empty") {
		t.Errorf("got %v", err)
	}
}

func unmarshal(t *testing.T, der []byte, into any) {
	t.Helper()
	rest, err := asn1.Unmarshal(der, into)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%T: %v, %d bytes left", into, err, len(rest))
	}
}

func octets(t *testing.T, i info) []byte {
	t.Helper()
	var b []byte
	unmarshal(t, i.Content.Bytes, &b)
	return b
}

func decrypt(t *testing.T, algorithm pkix.AlgorithmIdentifier, data []byte, password string) []byte {
	t.Helper()
	var params struct{ KDF, Scheme pkix.AlgorithmIdentifier }
	unmarshal(t, algorithm.Parameters.FullBytes, &params)
	var kdf struct {
		Salt       []byte
		Iterations int
		PRF        pkix.AlgorithmIdentifier
	}
	unmarshal(t, params.KDF.Parameters.FullBytes, &kdf)
	var iv []byte
	unmarshal(t, params.Scheme.Parameters.FullBytes, &iv)
	key, err := pbkdf2.Key(sha256.New, password, kdf.Salt, kdf.Iterations, 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	plain := bytes.Clone(data)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, plain)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		t.Fatal("wrong key")
	}
	return plain[:len(plain)-pad]
}
