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

func (d *Data) codec(p object.Path, key string) codec {
	if p.Kind == object.KindCfg {
		return plain{}
	}
	return crypt{secret: d.store.ClusterSecret, associated: []byte(p.FQN() + "\x00" + key)}
}

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

// crypt is for the values of a sec or of a usr.
type crypt struct {
	secret     func() (secret.String, error)
	associated []byte
}

func (c crypt) key() (secret.Key, error) {
	master, err := c.secret()
	if err != nil {
		return secret.Key{}, err
	}
	if master.IsZero() {
		return secret.Key{}, errors.New("cluster.secret is not set: start the daemon once, it makes one")
	}
	return secret.Derive([]byte(master.Reveal()), purpose)
}

func (c crypt) encode(value []byte) (string, error) {
	key, err := c.key()
	if err != nil {
		return "", err
	}
	box, err := secret.Seal(key, value, c.associated)
	if err != nil {
		return "", err
	}
	return sealed + scheme + base64.RawURLEncoding.EncodeToString(box), nil
}

func (c crypt) decode(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return nil, errors.New("the value is not sealed: crypt: is not what it begins with")
	}
	rest, ok = strings.CutPrefix(rest, scheme)
	if !ok {
		version, _, _ := strings.Cut(rest, ":")
		return nil, fmt.Errorf("sealed with scheme %.8q, which this release does not know", version)
	}
	box, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil {
		return nil, errors.New("the sealed value is damaged")
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	value, err := secret.Open(key, box, c.associated)
	if err != nil {
		return nil, fmt.Errorf("%w: the cluster secret changed, or the value comes from another object or key", err)
	}
	return value, nil
}
