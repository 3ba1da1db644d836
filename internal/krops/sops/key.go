package sops

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

// dataKeySize is that of an AES-256 key.
const dataKeySize = 32

// A Key is what an age key file holds.
type Key struct {
	identities []age.Identity
	recipients []string
}

// ParseKey reads the text of an age key file. Errors name a line, never its text.
func ParseKey(text []byte) (*Key, error) {
	k := &Key{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found, err := age.ParseIdentities(strings.NewReader(line))
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("line %d is no age identity", number)
		}
		k.identities = append(k.identities, found[0])
		switch identity := found[0].(type) {
		case *age.X25519Identity:
			k.recipients = append(k.recipients, identity.Recipient().String())
		case *age.HybridIdentity:
			k.recipients = append(k.recipients, identity.Recipient().String())
		}
	}
	if len(k.identities) == 0 {
		return nil, errors.New("it holds no age identity (a line that begins with AGE-SECRET-KEY-)")
	}
	return k, nil
}

// Recipients are the public keys, derived from the secret ones.
func (k *Key) Recipients() []string { return append([]string(nil), k.recipients...) }

// open decrypts the data key of a file.
func (k *Key) open(m *metadata) ([]byte, error) {
	var recipients []string
	for _, a := range m.Age {
		recipients = append(recipients, a.Recipient)
		plain, err := age.Decrypt(armor.NewReader(strings.NewReader(strings.TrimSpace(a.Encrypted))), k.identities...)
		if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
			continue
		}
		var key []byte
		if err == nil {
			key, err = io.ReadAll(io.LimitReader(plain, dataKeySize+1))
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("decrypt the data key for %s: %w", a.Recipient, err)
		case len(key) != dataKeySize:
			return nil, fmt.Errorf("the data key for %s is none: it has not %d bytes", a.Recipient, dataKeySize)
		}
		return key, nil
	}
	return nil, fmt.Errorf("the key does not fit: the file is encrypted for %s, the key is that of %s",
		strings.Join(recipients, ", "), strings.Join(k.recipients, ", "))
}
