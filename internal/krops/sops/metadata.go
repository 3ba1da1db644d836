package sops

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// metadata is what SOPS says of a file: who can read it, what is encrypted.
type metadata struct {
	Age []struct {
		Recipient string `yaml:"recipient"`
		Encrypted string `yaml:"enc"`
	} `yaml:"age"`
	LastModified            string `yaml:"lastmodified"`
	MAC                     string `yaml:"mac"`
	MACOnlyEncrypted        bool   `yaml:"mac_only_encrypted"`
	UnencryptedSuffix       string `yaml:"unencrypted_suffix"`
	EncryptedSuffix         string `yaml:"encrypted_suffix"`
	UnencryptedRegex        string `yaml:"unencrypted_regex"`
	EncryptedRegex          string `yaml:"encrypted_regex"`
	UnencryptedCommentRegex string `yaml:"unencrypted_comment_regex"`
	EncryptedCommentRegex   string `yaml:"encrypted_comment_regex"`
	ShamirThreshold         int    `yaml:"shamir_threshold"`

	rule rule
}

// otherKeys are the kinds of keys SOPS knows besides age. One of several is
// enough to read a file.
func otherKeys() []string { return []string{"kms", "gcp_kms", "hckms", "azure_kv", "hc_vault", "pgp"} }

// defaultSuffix is what the keys of plain values end in when a file has no rule.
const defaultSuffix = "_unencrypted"

func readMetadata(node *yaml.Node) (*metadata, error) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, errors.New("it is not encrypted: it has no metadata of SOPS")
	}
	known := append([]string{
		"age", "lastmodified", "mac", "mac_only_encrypted", "version", "shamir_threshold",
		"unencrypted_suffix", "encrypted_suffix", "unencrypted_regex", "encrypted_regex", "unencrypted_comment_regex", "encrypted_comment_regex",
	}, otherKeys()...)
	var others []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, node.Content[i+1]
		switch {
		case name == "key_groups":
			return nil, errors.New("sops.key_groups: files whose key is shared between groups are not supported; encrypt it with one group")
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("sops.%s is unknown: a newer sops wrote the file in a way that is not understood", name)
		case slices.Contains(otherKeys(), name) && len(value.Content) > 0:
			others = append(others, name)
		}
	}
	m := &metadata{}
	if err := node.Decode(m); err != nil {
		return nil, fmt.Errorf("its metadata make no sense (line %d)", node.Line)
	}
	switch {
	case m.ShamirThreshold > 1:
		return nil, errors.New("sops.shamir_threshold: files whose key is shared are not supported; encrypt it with one group")
	case len(m.Age) == 0 && len(others) > 0:
		return nil, fmt.Errorf("it is encrypted for %s only, and an age key is what there is", strings.Join(others, ", "))
	case len(m.Age) == 0:
		return nil, errors.New("it is encrypted for nobody: sops.age is empty")
	case m.MAC == "":
		return nil, errors.New("sops.mac is missing: without it nobody knows what was changed")
	}
	if _, err := time.Parse(time.RFC3339, m.LastModified); err != nil {
		return nil, errors.New("sops.lastmodified is no time")
	}
	return m, m.readRule()
}

// modified is the time of the last change as SOPS uses it for the MAC.
func (m *metadata) modified() string {
	at, err := time.Parse(time.RFC3339, m.LastModified)
	if err != nil {
		return m.LastModified
	}
	return at.Format(time.RFC3339)
}

// A rule says which values are encrypted: those that match, or those that do not.
type rule struct {
	matches   func(text string) bool
	encrypted bool // what matches is encrypted, and nothing else
	comments  bool // it is about comments, not keys
}

func (m *metadata) readRule() error {
	suffix := func(s string) (func(string) bool, error) {
		return func(key string) bool { return strings.HasSuffix(key, s) }, nil
	}
	expression := func(text string) (func(string) bool, error) {
		r, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		return r.MatchString, nil
	}
	set := false
	for _, c := range []struct {
		name, text          string
		encrypted, comments bool
		make                func(string) (func(string) bool, error)
	}{
		{"unencrypted_suffix", m.UnencryptedSuffix, false, false, suffix},
		{"encrypted_suffix", m.EncryptedSuffix, true, false, suffix},
		{"unencrypted_regex", m.UnencryptedRegex, false, false, expression},
		{"encrypted_regex", m.EncryptedRegex, true, false, expression},
		{"unencrypted_comment_regex", m.UnencryptedCommentRegex, false, true, expression},
		{"encrypted_comment_regex", m.EncryptedCommentRegex, true, true, expression},
	} {
		if c.text == "" {
			continue
		}
		if set {
			return fmt.Errorf("sops.%s is one rule too many: a file has one at most", c.name)
		}
		set = true
		matches, err := c.make(c.text)
		if err != nil {
			return fmt.Errorf("sops.%s: %w", c.name, err)
		}
		m.rule = rule{matches, c.encrypted, c.comments}
	}
	if !set {
		matches, err := suffix(defaultSuffix)
		m.rule = rule{matches: matches}
		return err
	}
	return nil
}

// encrypts tells whether a value below some keys is encrypted. comments are those
// that stand before it, at each level; of a comment itself the last is its own.
func (r rule) encrypts(path []string, comments [][]string, isComment bool) bool {
	if !r.comments {
		return slices.ContainsFunc(path, r.matches) == r.encrypted
	}
	for level, texts := range comments {
		// A comment that asks for encryption is itself plain.
		if r.encrypted && isComment && level == len(comments)-1 {
			texts = texts[:len(texts)-1]
		}
		if slices.ContainsFunc(texts, r.matches) {
			return r.encrypted
		}
	}
	return !r.encrypted
}
