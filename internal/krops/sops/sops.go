// Package sops reads YAML files that SOPS has encrypted for age keys.
//
// It reads, it never writes, and of all that SOPS can do it knows what a bootstrap
// needs. What it does not know it refuses: no file is half decrypted, and nothing
// is given out before the MAC of the whole file is found right.
//
//	metadata ─► age ─► data key ─► each value, its path as additional data ─► MAC
package sops

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// metadataKey is the key of a document that SOPS keeps its own data under.
const metadataKey = "sops"

// macOnlyEncrypted begins the MAC of a file whose MAC covers encrypted values
// only: that of a file of the other sort never fits.
const macOnlyEncrypted = "8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69"

// Decrypt returns the documents of an encrypted file as plain YAML. Errors name
// the path of a value, never the value.
func Decrypt(text []byte, key *Key) ([]byte, error) {
	documents, err := parse(text)
	if err != nil {
		return nil, err
	}
	var m *metadata
	for i, d := range documents {
		node, err := cut(d)
		if err != nil {
			return nil, err
		}
		// SOPS writes the same into every document and reads the first.
		if i == 0 {
			if m, err = readMetadata(node); err != nil {
				return nil, err
			}
		}
	}
	if m == nil {
		return nil, errors.New("it has no document")
	}
	secret, err := key.open(m)
	if err != nil {
		return nil, err
	}
	w := &walk{metadata: m, key: secret, mac: sha512.New()}
	if m.MACOnlyEncrypted {
		start, err := hex.DecodeString(macOnlyEncrypted)
		if err != nil {
			return nil, err
		}
		_, _ = w.mac.Write(start)
	}
	for _, d := range documents {
		if err := w.document(d); err != nil {
			return nil, err
		}
	}
	if err := m.verify(secret, w.mac); err != nil {
		return nil, err
	}
	return emit(documents)
}

// parse reads the documents. Those that are empty are left out.
func parse(text []byte) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		d := &yaml.Node{}
		err := decoder.Decode(d)
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, fmt.Errorf("it is no YAML: %w", err)
		case d.Kind != yaml.DocumentNode || len(d.Content) != 1:
			return nil, fmt.Errorf("document %d has no content", len(documents)+1)
		}
		switch content := d.Content[0]; {
		case content.Kind == yaml.MappingNode:
			documents = append(documents, d)
		case content.Kind != yaml.ScalarNode || content.ShortTag() != "!!null":
			return nil, fmt.Errorf("document %d, line %d: a document that is no mapping cannot be decrypted", len(documents)+1, content.Line)
		}
	}
}

// cut takes what SOPS added out of a document. Comments before it are the end of
// the rest.
func cut(document *yaml.Node) (*yaml.Node, error) {
	var found *yaml.Node
	mapping := document.Content[0]
	rest := mapping.Content[:0:0]
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case name.Value != metadataKey:
			rest = append(rest, name, value)
			continue
		case found != nil:
			return nil, errors.New("it has the key sops twice")
		}
		found = value
		last := document
		if len(rest) > 0 {
			last = rest[len(rest)-2]
		}
		last.FootComment = strings.TrimPrefix(last.FootComment+"\n"+name.HeadComment, "\n")
	}
	mapping.Content = rest
	return found, nil
}

// verify compares the MAC of what was decrypted with that in the file.
func (m *metadata) verify(key []byte, sum hash.Hash) error {
	want, err := open(m.MAC, key, m.modified())
	if err != nil {
		return fmt.Errorf("sops.mac: %w", err)
	}
	got := strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))
	if !hmac.Equal([]byte(got), want.data) {
		return errors.New("MAC mismatch: a value was added, removed or changed since the file was encrypted; edit it with sops")
	}
	return nil
}

func emit(documents []*yaml.Node) ([]byte, error) {
	var plain bytes.Buffer
	encoder := yaml.NewEncoder(&plain)
	encoder.SetIndent(4) // as SOPS does
	for _, d := range documents {
		if err := encoder.Encode(d); err != nil {
			return nil, errors.New("the decrypted values make no YAML")
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, errors.New("the decrypted values make no YAML")
	}
	return plain.Bytes(), nil
}
