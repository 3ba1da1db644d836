package secret

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the size of a sealing key.
const KeySize = chacha20poly1305.KeySize

// Key is a sealing key. It does not print.
type Key [KeySize]byte

var (
	_ fmt.Formatter  = Key{}
	_ slog.LogValuer = Key{}
)

// Format writes [Hidden], whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Hidden)) }

// LogValue returns [Hidden].
func (k Key) LogValue() slog.Value { return slog.StringValue(Hidden) }

// ErrSealed is the error of sealed data that does not open: another key, other
// associated data, or damage. Which one cannot be told.
var ErrSealed = errors.New("sealed data does not open with this key")

// sealVersion starts sealed data: XChaCha20-Poly1305 with a random nonce.
const sealVersion = 1

// Overhead is how much longer sealed data is than what was sealed.
const Overhead = 1 + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead

// Derive makes the key for one purpose out of a master secret (HKDF-SHA256), so
// that what leaks for one purpose opens nothing else. An empty master is refused.
func Derive(master []byte, purpose string) (Key, error) {
	if len(master) == 0 {
		return Key{}, fmt.Errorf("derive the key for %s: the master secret is empty", purpose)
	}
	b, err := hkdf.Key(sha256.New, master, nil, purpose, KeySize)
	if err != nil {
		return Key{}, fmt.Errorf("derive the key for %s: %w", purpose, err)
	}
	return Key(b), nil
}

// Seal encrypts plaintext. The associated data is not stored: it must be given
// to Open again, which ties the result to its place.
func Seal(key Key, plaintext, associated []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	head := 1 + aead.NonceSize()
	sealed := make([]byte, head, head+len(plaintext)+aead.Overhead())
	sealed[0] = sealVersion
	nonce := sealed[1:head]
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return aead.Seal(sealed, nonce, plaintext, associated), nil //nolint:gosec // the nonce is random, two lines above
}

// Open returns what was sealed, or an error that is [ErrSealed].
func Open(key Key, sealed, associated []byte) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	head := 1 + aead.NonceSize()
	if len(sealed) < head+aead.Overhead() || sealed[0] != sealVersion {
		return nil, ErrSealed
	}
	plaintext, err := aead.Open(nil, sealed[1:head], sealed[head:], associated)
	if err != nil {
		return nil, ErrSealed
	}
	return plaintext, nil
}
