package certificate

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // a label that ties a key to its certificate, as every reader expects it
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The object identifiers of a PKCS #12 archive.
const (
	oidData          = "1.2.840.113549.1.7.1"
	oidEncryptedData = "1.2.840.113549.1.7.6"
	oidKeyBag        = "1.2.840.113549.1.12.10.1.2"
	oidCertBag       = "1.2.840.113549.1.12.10.1.3"
	oidX509          = "1.2.840.113549.1.9.22.1"
	oidFriendlyName  = "1.2.840.113549.1.9.20"
	oidLocalKeyID    = "1.2.840.113549.1.9.21"
	oidPBES2         = "1.2.840.113549.1.5.13"
	oidPBKDF2        = "1.2.840.113549.1.5.12"
	oidHMACSHA256    = "1.2.840.113549.2.9"
	oidAES256CBC     = "2.16.840.1.101.3.4.1.42"
	oidSHA256        = "2.16.840.1.101.3.4.2.1"
)

type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}
	pfx struct {
		Version  int
		AuthSafe contentInfo
		MAC      macData
	}
	macData struct {
		MAC        digestInfo
		Salt       []byte
		Iterations int
	}
	digestInfo struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}
	safeBag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue
		Attributes []bagAttribute `asn1:"set,omitempty"`
	}
	bagAttribute struct {
		ID    asn1.ObjectIdentifier
		Value asn1.RawValue
	}
	certBag struct {
		ID   asn1.ObjectIdentifier
		Data []byte `asn1:"tag:0,explicit"`
	}
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	encryptedData struct {
		Version int
		Content encryptedContent
	}
	encryptedContent struct {
		Type      asn1.ObjectIdentifier
		Algorithm pkix.AlgorithmIdentifier
		Content   []byte `asn1:"tag:0"`
	}
	pbes2Params struct {
		KDF, Scheme pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       []byte
		Iterations int
		PRF        pkix.AlgorithmIdentifier
	}
)

// iterations slow down who guesses the password of an archive; one takes some
// tens of milliseconds to open.
const iterations = 100_000

// PKCS12 writes the pair in an archive that browsers and systems import, sealed
// with a password: AES-256, with a key derived by PBKDF2 and SHA-256. name is how
// they call it.
func (p *Pair) PKCS12(random io.Reader, password, name string) ([]byte, error) {
	if password == "" {
		return nil, errors.New("the password is empty: it is what protects the private key in the archive")
	}
	seal := sealer{random: random, password: password}
	sum := sha1.Sum(p.Leaf().Raw) //nolint:gosec // see the import
	attributes, err := bagAttributes(sum[:], name)
	if err != nil {
		return nil, err
	}
	certs, err := seal.certificates(p.Chain, attributes)
	if err != nil {
		return nil, err
	}
	keys, err := seal.key(p, attributes)
	if err != nil {
		return nil, err
	}
	safe, err := asn1.Marshal([]contentInfo{certs, keys})
	if err != nil {
		return nil, err
	}
	mac, err := seal.mac(safe)
	if err != nil {
		return nil, err
	}
	content, err := dataInfo(safe)
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(pfx{Version: 3, AuthSafe: content, MAC: mac})
}

type sealer struct {
	random   io.Reader
	password string
}

func (s sealer) certificates(chain []*x509.Certificate, attributes []bagAttribute) (contentInfo, error) {
	bags := make([]safeBag, len(chain))
	for i, c := range chain {
		inner, err := asn1.Marshal(certBag{ID: id(oidX509), Data: c.Raw})
		if err != nil {
			return contentInfo{}, err
		}
		bags[i] = safeBag{ID: id(oidCertBag), Value: explicit(inner)}
	}
	bags[0].Attributes = attributes
	plain, err := asn1.Marshal(bags)
	if err != nil {
		return contentInfo{}, err
	}
	algorithm, sealed, err := s.encrypt(plain)
	if err != nil {
		return contentInfo{}, err
	}
	der, err := asn1.Marshal(encryptedData{Content: encryptedContent{Type: id(oidData), Algorithm: algorithm, Content: sealed}})
	return contentInfo{Type: id(oidEncryptedData), Content: explicit(der)}, err
}

func (s sealer) key(p *Pair, attributes []bagAttribute) (contentInfo, error) {
	plain, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		return contentInfo{}, fmt.Errorf("encode a private key: %w", err)
	}
	algorithm, sealed, err := s.encrypt(plain)
	if err != nil {
		return contentInfo{}, err
	}
	inner, err := asn1.Marshal(encryptedKey{Algorithm: algorithm, Data: sealed})
	if err != nil {
		return contentInfo{}, err
	}
	der, err := asn1.Marshal([]safeBag{{ID: id(oidKeyBag), Value: explicit(inner), Attributes: attributes}})
	if err != nil {
		return contentInfo{}, err
	}
	return dataInfo(der)
}

// encrypt seals as PKCS #5 says (PBES2).
func (s sealer) encrypt(plain []byte) (algorithm pkix.AlgorithmIdentifier, sealed []byte, err error) {
	salt, iv := make([]byte, 16), make([]byte, aes.BlockSize)
	if err := errors.Join(s.fill(salt), s.fill(iv)); err != nil {
		return algorithm, nil, err
	}
	key, err := pbkdf2.Key(sha256.New, s.password, salt, iterations, 32)
	if err != nil {
		return algorithm, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return algorithm, nil, err
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	sealed = append([]byte(nil), plain...)
	for range pad {
		sealed = append(sealed, byte(pad))
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(sealed, sealed)

	kdf, errKDF := asn1.Marshal(pbkdf2Params{Salt: salt, Iterations: iterations, PRF: pkix.AlgorithmIdentifier{Algorithm: id(oidHMACSHA256), Parameters: asn1.NullRawValue}})
	vector, errVector := asn1.Marshal(iv)
	params, errParams := asn1.Marshal(pbes2Params{
		KDF:    pkix.AlgorithmIdentifier{Algorithm: id(oidPBKDF2), Parameters: asn1.RawValue{FullBytes: kdf}},
		Scheme: pkix.AlgorithmIdentifier{Algorithm: id(oidAES256CBC), Parameters: asn1.RawValue{FullBytes: vector}},
	})
	return pkix.AlgorithmIdentifier{Algorithm: id(oidPBES2), Parameters: asn1.RawValue{FullBytes: params}}, sealed, errors.Join(errKDF, errVector, errParams)
}

// mac is what tells a wrong password from a damaged archive.
func (s sealer) mac(content []byte) (macData, error) {
	salt := make([]byte, 16)
	if err := s.fill(salt); err != nil {
		return macData{}, err
	}
	sum := hmac.New(sha256.New, macKey(s.password, salt, iterations))
	sum.Write(content)
	return macData{
		MAC:  digestInfo{Algorithm: pkix.AlgorithmIdentifier{Algorithm: id(oidSHA256), Parameters: asn1.NullRawValue}, Digest: sum.Sum(nil)},
		Salt: salt, Iterations: iterations,
	}, nil
}

func (s sealer) fill(b []byte) error {
	_, err := io.ReadFull(s.random, b)
	return err
}

// macKey derives the key of the MAC as appendix B.2 of RFC 7292 says, for
// SHA-256: one block is enough.
func macKey(password string, salt []byte, rounds int) []byte {
	const purpose, block = 3, sha256.BlockSize
	in := make([]byte, 0, 3*block)
	for range block {
		in = append(in, purpose)
	}
	in = append(in, repeated(salt, block)...)
	in = append(in, repeated(append(bmp(password), 0, 0), block)...)
	sum := sha256.Sum256(in)
	for range rounds - 1 {
		sum = sha256.Sum256(sum[:])
	}
	return sum[:]
}

// repeated fills whole blocks with copies of b.
func repeated(b []byte, block int) []byte {
	out := make([]byte, (len(b)+block-1)/block*block)
	for i := range out {
		out[i] = b[i%len(b)]
	}
	return out
}

// bmp writes a text in UTF-16, the higher byte first.
func bmp(text string) []byte {
	units := utf16.Encode([]rune(text))
	out := make([]byte, 0, 2*len(units)+2)
	for _, u := range units {
		out = append(out, byte(u>>8), byte(u)) //nolint:gosec // both halves
	}
	return out
}

func bagAttributes(label []byte, name string) ([]bagAttribute, error) {
	key, err := asn1.Marshal(label)
	if err != nil {
		return nil, err
	}
	friendly, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagBMPString, Bytes: bmp(name)})
	if err != nil {
		return nil, err
	}
	set := func(der []byte) asn1.RawValue {
		return asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: der}
	}
	return []bagAttribute{{ID: id(oidFriendlyName), Value: set(friendly)}, {ID: id(oidLocalKeyID), Value: set(key)}}, nil
}

// dataInfo is content in clear.
func dataInfo(der []byte) (contentInfo, error) {
	octets, err := asn1.Marshal(der)
	return contentInfo{Type: id(oidData), Content: explicit(octets)}, err
}

// id reads an object identifier written with dots.
func id(text string) asn1.ObjectIdentifier {
	var out asn1.ObjectIdentifier
	for part := range strings.SplitSeq(text, ".") {
		n, _ := strconv.Atoi(part) // the constants above
		out = append(out, n)
	}
	return out
}

// explicit tags what a sequence holds as its element 0.
func explicit(der []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: der}
}
