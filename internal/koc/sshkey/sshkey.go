// Package sshkey reads the private keys of SSH that can decrypt, those of RSA, in
// the formats that ssh-keygen writes. It is here because golang.org/x/crypto/ssh
// reads them only together with the rest of the protocol, whose initialisation
// every start of koc would pay for.
package sshkey

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

// ErrLocked is the error for a key with a passphrase when none is given.
var ErrLocked = errors.New("the key has a passphrase")

// errPassphrase is the error for a passphrase that does not unlock the key.
var errPassphrase = errors.New("wrong passphrase")

var errBroken = errors.New("the key is damaged")

// RSA returns the key of a PEM text. passphrase is nil for none.
func RSA(text, passphrase []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no private key in PEM format")
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		return pkcs1(block, passphrase)
	case "PRIVATE KEY":
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		key, ok := parsed.(*rsa.PrivateKey)
		if !ok {
			return nil, other(fmt.Sprintf("%T", parsed))
		}
		return key, nil
	case "OPENSSH PRIVATE KEY":
		return openssh(block.Bytes, passphrase)
	case "EC PRIVATE KEY", "DSA PRIVATE KEY":
		return nil, other(block.Type)
	}
	return nil, fmt.Errorf("a PEM block of type %s is no private key", block.Type)
}

func other(kind string) error {
	return fmt.Errorf("it is a key of type %s, and only keys of RSA can decrypt: the others only sign", kind)
}

// pkcs1 reads the older format, whose encryption is OpenSSL's.
func pkcs1(block *pem.Block, passphrase []byte) (*rsa.PrivateKey, error) {
	der := block.Bytes
	if x509.IsEncryptedPEMBlock(block) { //nolint:staticcheck // weak, and what the user has
		if passphrase == nil {
			return nil, ErrLocked
		}
		var err error
		if der, err = x509.DecryptPEMBlock(block, passphrase); err != nil { //nolint:staticcheck // the same
			return nil, errPassphrase
		}
	}
	key, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil && passphrase != nil {
		return nil, errPassphrase
	}
	return key, err
}

const magic = "openssh-key-v1\x00"

// openssh reads the format of OpenSSH: PROTOCOL.key in its sources.
func openssh(data, passphrase []byte) (*rsa.PrivateKey, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, errBroken
	}
	r := &reader{rest: data[len(magic):]}
	cipherName, kdf, options := string(r.text()), string(r.text()), r.text()
	count := r.number()
	r.text() // the public key
	private := r.text()
	if r.failed || count != 1 {
		return nil, errBroken
	}
	if cipherName != "none" {
		if passphrase == nil {
			return nil, ErrLocked
		}
		var err error
		if private, err = unlock(cipherName, kdf, options, private, passphrase); err != nil {
			return nil, err
		}
	}
	r = &reader{rest: private}
	if first, second := r.number(), r.number(); r.failed || first != second {
		if cipherName != "none" {
			return nil, errPassphrase
		}
		return nil, errBroken
	}
	if kind := string(r.text()); kind != "ssh-rsa" {
		return nil, other(kind)
	}
	n, e, d := r.integer(), r.integer(), r.integer()
	r.integer() // q⁻¹ mod p, which is computed again
	p, q := r.integer(), r.integer()
	if r.failed || !e.IsInt64() || e.Int64() > 1<<31-1 {
		return nil, errBroken
	}
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n, E: int(e.Int64())}, D: d, Primes: []*big.Int{p, q}}
	if err := key.Validate(); err != nil {
		return nil, err
	}
	key.Precompute()
	return key, nil
}

// unlock decrypts the private part of a key.
func unlock(cipherName, kdf string, options, private, passphrase []byte) ([]byte, error) {
	if kdf != "bcrypt" || cipherName != "aes256-ctr" && cipherName != "aes256-cbc" {
		return nil, fmt.Errorf("the key is encrypted with %s and %s, which is not supported: ssh-keygen -p writes it anew", cipherName, kdf)
	}
	r := &reader{rest: options}
	salt, rounds := r.text(), r.number()
	if r.failed || rounds == 0 || rounds > 1<<20 || len(private)%aes.BlockSize != 0 || len(passphrase) == 0 {
		return nil, errPassphrase
	}
	const keySize = 32
	secret, err := bcryptPBKDF(passphrase, salt, int(rounds), keySize+aes.BlockSize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret[:keySize])
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(private))
	if iv := secret[keySize:]; cipherName == "aes256-ctr" {
		cipher.NewCTR(block, iv).XORKeyStream(plain, private)
	} else {
		cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, private)
	}
	return plain, nil
}

// reader reads the encoding of SSH.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() uint32 {
	if len(r.rest) < 4 {
		r.failed = true
		return 0
	}
	n := binary.BigEndian.Uint32(r.rest)
	r.rest = r.rest[4:]
	return n
}

func (r *reader) text() []byte {
	n := r.number()
	if r.failed || uint64(n) > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *reader) integer() *big.Int { return new(big.Int).SetBytes(r.text()) }
