package datastore

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const (
	literal = "literal:"
	encoded = "base64:"
	sealed  = "crypt:"

	// scheme is the version of the sealing written by this release: the key is
	// derived with HKDF-SHA256 for the purpose below, and the data sealed by
	// package secret.
	scheme  = "1:"
	purpose = "holdfast datastore 1"
)

// codec turns the value of a key into the text of an option, and back.
type codec interface {
	encode(value []byte) (string, error)
	decode(text string) ([]byte, error)
}

func (tx *Tx) codec(key string) codec {
	if tx.path.Kind == object.KindCfg {
		return plain{}
	}
	return crypt{keys: tx.keys, associated: tx.place(key)}
}

// place is what a sealed value is tied to.
func (tx *Tx) place(key string) []byte { return []byte(tx.path.FQN() + "\x00" + key) }

// plain is for the values of a cfg.
type plain struct{}

func (plain) encode(value []byte) (string, error) {
	if text := string(value); isLiteral(text) {
		return literal + text, nil
	}
	return encoded + base64.StdEncoding.EncodeToString(value), nil
}

// isLiteral tells the texts an option can hold and a reader of the file
// understands. What a document accepts it gives back unchanged.
func isLiteral(text string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, odd) {
		return false
	}
	return config.NewDocument().Set(config.Key{Section: section, Option: "probe"}, literal+text) == nil
}

func (plain) decode(text string) ([]byte, error) {
	if value, ok := strings.CutPrefix(text, literal); ok {
		return []byte(value), nil
	}
	value, ok := strings.CutPrefix(text, encoded)
	if !ok {
		return nil, errors.New("the value begins neither with literal: nor with base64: as those of a cfg do")
	}
	out, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("the value is damaged: %w", err)
	}
	return out, nil
}

// sizeOf returns the size of the value a text holds, -1 when it is damaged. What
// is sealed is not opened: it is longer than its value by a known size.
func sizeOf(text string) int {
	if rest, ok := strings.CutPrefix(text, sealed+scheme); ok {
		box, err := base64.RawURLEncoding.DecodeString(rest)
		if err != nil || len(box) < secret.Overhead {
			return -1
		}
		return len(box) - secret.Overhead
	}
	value, err := plain{}.decode(text)
	if err != nil {
		return -1
	}
	return len(value)
}

// keyring holds the keys derived from the cluster secret, and from those it had
// before as long as something may be sealed with them.
type keyring struct {
	current secret.Key
	former  []secret.Key
}

func (d *Data) keyring() (k keyring, err error) {
	known, err := d.store.ClusterSecrets()
	if err != nil {
		return k, err
	}
	if known.Current.IsZero() {
		return k, errors.New("cluster.secret is not set: start the daemon once, it makes one")
	}
	if k.current, err = secret.Derive([]byte(known.Current.Reveal()), purpose); err != nil {
		return k, err
	}
	for _, f := range known.Former {
		key, err := secret.Derive([]byte(f.Reveal()), purpose)
		if err != nil {
			return k, err
		}
		k.former = append(k.former, key)
	}
	return k, nil
}

// open opens what one of the keys sealed, and tells whether it is the current one.
// An empty value is not nil: to an encoder that would be no value.
func (k keyring) open(box, associated []byte) (value []byte, current bool, err error) {
	if value, err = secret.Open(k.current, box, associated); err == nil {
		return append([]byte{}, value...), true, nil
	}
	for _, key := range k.former {
		if value, formerErr := secret.Open(key, box, associated); formerErr == nil {
			return append([]byte{}, value...), false, nil
		}
	}
	return nil, false, fmt.Errorf("%w: the cluster secret changed, or the value comes from another object or key", err)
}

// crypt is for the values of a sec or of a usr.
type crypt struct {
	keys       func() (keyring, error)
	associated []byte
}

func (c crypt) encode(value []byte) (string, error) {
	keys, err := c.keys()
	if err != nil {
		return "", err
	}
	box, err := secret.Seal(keys.current, value, c.associated)
	if err != nil {
		return "", err
	}
	return sealed + scheme + base64.RawURLEncoding.EncodeToString(box), nil
}

func (c crypt) decode(text string) ([]byte, error) {
	value, _, err := c.open(text)
	return value, err
}

// open is decode, and tells whether the value is sealed with the current secret.
func (c crypt) open(text string) (value []byte, current bool, err error) {
	rest, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return nil, false, errors.New("the value is not sealed: crypt: is not what it begins with")
	}
	rest, ok = strings.CutPrefix(rest, scheme)
	if !ok {
		version, _, _ := strings.Cut(rest, ":")
		return nil, false, fmt.Errorf("sealed with scheme %.8q, which this release does not know", version)
	}
	box, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil {
		return nil, false, errors.New("the sealed value is damaged")
	}
	keys, err := c.keys()
	if err != nil {
		return nil, false, err
	}
	return keys.open(box, c.associated)
}
