// Package password turns passwords into hashes, and compares: argon2id, written
// as the reference implementation writes it, so that each hash says how it was
// made and the cost may grow without losing the passwords set before.
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>
//
// One line end at the end of a password is not part of it: it is what echo, an
// editor and a file leave there, and nobody can type it.
package password

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of the hashes made here: some 20 ms of one core.
const (
	memory   = 19 << 10 // KiB
	passes   = 2
	lanes    = 1
	saltSize = 16
	hashSize = 32
)

// The most work a hash that is read may ask for: whoever wrote it must not be
// able to stop the agent with it.
const (
	maxMemory = 256 << 10 // KiB
	maxPasses = 16
	maxLanes  = 16
	maxSize   = 64 // of the salt, of the hash
)

const name = "argon2id"

// ErrEmpty refuses to hash nothing.
var ErrEmpty = errors.New("the password is empty")

// errUnknown says that a text is no hash. It does not show the text, which may
// be a password written in clear.
var errUnknown = errors.New("the hash of the password is none this release knows: set the password again")

// Hash returns the hash of a password, never the same twice.
func Hash(plain []byte) (string, error) {
	plain = typed(plain)
	if len(plain) == 0 {
		return "", ErrEmpty
	}
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	p := parameters{memory: memory, passes: passes, lanes: lanes, salt: salt}
	return p.format(p.derive(plain, hashSize)), nil
}

// Matches reports whether hash is one of this password, in a time that does not
// depend on where they differ. A text that is no hash is an error.
func Matches(hash string, plain []byte) (bool, error) {
	p, want, err := parse(hash)
	if err != nil {
		return false, err
	}
	plain = typed(plain)
	got := p.derive(plain, uint32(len(want))) //nolint:gosec // at most maxSize
	return subtle.ConstantTimeCompare(got, want) == 1 && len(plain) > 0, nil
}

// Spend does the work of a comparison, for nothing: the answer about a user who
// does not exist takes as long as that about a wrong password.
func Spend(plain []byte) {
	p := parameters{memory: memory, passes: passes, lanes: lanes, salt: make([]byte, saltSize)}
	p.derive(typed(plain), hashSize)
}

// IsHash reports whether a text is a hash [Matches] can read.
func IsHash(text string) bool {
	_, _, err := parse(text)
	return err == nil
}

// typed is a password without the line end that is not part of it.
func typed(plain []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(plain, []byte("\n")), []byte("\r"))
}

// parameters say how a hash is made.
type parameters struct {
	memory, passes uint32
	lanes          uint8
	salt           []byte
}

func (p parameters) derive(plain []byte, size uint32) []byte {
	return argon2.IDKey(plain, p.salt, p.passes, p.memory, p.lanes, size)
}

func (p parameters) format(hash []byte) string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$%s$v=%d$m=%d,t=%d,p=%d$%s$%s", name, argon2.Version, p.memory, p.passes, p.lanes, encode(p.salt), encode(hash))
}

// parse reads a hash. Only the one spelling [parameters.format] gives is read.
func parse(text string) (p parameters, hash []byte, err error) {
	words := strings.Split(text, "$")
	if len(words) != 6 || words[0] != "" || words[1] != name {
		return p, nil, errUnknown
	}
	var version int
	if _, err := fmt.Sscanf(words[2]+" "+words[3], "v=%d m=%d,t=%d,p=%d", &version, &p.memory, &p.passes, &p.lanes); err != nil {
		return p, nil, errUnknown
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(words[4])
	hash, hashErr := base64.RawStdEncoding.DecodeString(words[5])
	p.salt = salt
	switch {
	case errors.Join(saltErr, hashErr) != nil, version != argon2.Version, p.format(hash) != text:
		return p, nil, errUnknown
	case p.passes < 1 || p.lanes < 1 || p.memory < 8*uint32(p.lanes) || len(salt) < 8 || len(hash) < 16:
		return p, nil, errUnknown
	case p.memory > maxMemory || p.passes > maxPasses || p.lanes > maxLanes || len(salt) > maxSize || len(hash) > maxSize:
		return p, nil, errors.New("the hash of the password asks for more work than this release does: set the password again")
	}
	return p, hash, nil
}
