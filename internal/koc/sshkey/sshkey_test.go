package sshkey_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/holdfast-ops/holdfast/internal/koc/sshkey"
)

func encoded(t *testing.T, key crypto.PrivateKey, passphrase string) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "comment")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "comment", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

func TestKeysOfRSAInEveryFormat(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	der := x509.MarshalPKCS1PrivateKey(key)
	legacy, err := x509.EncryptPEMBlock(rand.Reader, "RSA PRIVATE KEY", der, []byte("pass"), x509.PEMCipherAES256) //nolint:staticcheck // what old keys have
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text   []byte
		locked bool
	}{
		"pkcs1":             {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der}), false},
		"pkcs1 with a pass": {pem.EncodeToMemory(legacy), true},
		"pkcs8":             {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), false},
		"openssh":           {encoded(t, key, ""), false},
		"openssh, a pass":   {encoded(t, key, "pass"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var passphrase []byte
			if c.locked {
				if _, err := sshkey.RSA(c.text, nil); !errors.Is(err, sshkey.ErrLocked) {
					t.Errorf("without a passphrase: %v", err)
				}
				if _, err := sshkey.RSA(c.text, []byte("wrong")); err == nil || !strings.Contains(err.Error(), "wrong passphrase") {
					t.Errorf("with a wrong one: %v", err)
				}
				passphrase = []byte("pass")
			}
			got, err := sshkey.RSA(c.text, passphrase)
			if err != nil || !got.Equal(key) {
				t.Errorf("another key, %v", err)
			}
		})
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string][]byte{
		"type ssh-ed25519":         encoded(t, ed, ""),
		"type ecdsa-sha2-nistp256": encoded(t, ec, ""),
		"type *ecdsa.PrivateKey":   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
		"type CERTIFICATE":         pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE"}),
		"no private key":           []byte("ssh-rsa AAAA"),
		"damaged":                  pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("openssh-key-v1\x00\x00\x00\x00\xff")}),
	} {
		if _, err := sshkey.RSA(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzRSA looks for panics in what is read before anything is checked.
func FuzzRSA(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04none\x00\x00\x00\x04none\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: append([]byte("openssh-key-v1\x00"), data...)})
		_, _ = sshkey.RSA(text, nil)
	})
}
