package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// What sec and usr objects hold is sealed with the cluster secret. A commit that
// changes the secret keeps the one it replaces in cluster.former_secrets, in the
// same file: there is no instant at which what was sealed cannot be opened. Only
// [Store.ForgetSecrets] removes it, whatever else is written there.

func formerSecretsKey() config.Key { return config.Key{Section: "cluster", Option: "former_secrets"} }

// Secrets are those the keys of the cluster are derived from.
type Secrets struct {
	Current secret.String   // empty before the first start of a daemon
	Former  []secret.String // keys may still be sealed with them
	Damaged error           // why there may be other former ones
}

// ClusterSecrets returns the secret of the cluster, and those it had before.
func (s *Store) ClusterSecrets() (known Secrets, err error) {
	if known.Current, err = s.ClusterSecret(); err != nil {
		return known, err
	}
	f, err := s.loadOrEmpty(object.Cluster())
	if err != nil {
		return known, err
	}
	texts, damaged := formerSecrets(f.Doc)
	for _, text := range texts {
		known.Former = append(known.Former, secret.New(text))
	}
	known.Damaged = damaged
	return known, nil
}

// ForgetSecrets removes former secrets of the cluster: nothing is sealed with
// them any more.
func (s *Store) ForgetSecrets(ctx context.Context, gone []secret.String) error {
	forgetful := *s
	forgetful.forgets = gone
	_, err := forgetful.Modify(ctx, object.Cluster(), func(*config.Document) error { return nil })
	return err
}

// keepSecrets has a configuration of the cluster that replaces another one hold
// the secrets which that one knew.
func (s *Store) keepSecrets(p object.Path, doc, replaced *config.Document) error {
	if p != object.Cluster() || replaced == nil {
		return nil
	}
	known, _ := formerSecrets(replaced) // this commit may be the repair of what is damaged
	kept, err := formerSecrets(doc)
	if err != nil {
		return err
	}
	current := secretsOf(doc)
	for _, text := range slices.Concat(known, secretsOf(replaced)) {
		if !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	kept = slices.DeleteFunc(kept, func(text string) bool {
		return slices.Contains(current, text) || slices.ContainsFunc(s.forgets, secret.New(text).Equal)
	})
	if len(kept) == 0 {
		doc.Unset(formerSecretsKey())
		return nil
	}
	for i, text := range kept {
		kept[i] = base64.RawURLEncoding.EncodeToString([]byte(text))
	}
	return doc.Set(formerSecretsKey(), strings.Join(kept, " "))
}

// secretsOf returns the secrets written in a configuration of the cluster.
func secretsOf(doc *config.Document) []string {
	var texts []string
	for _, key := range doc.Keys("cluster") {
		if text, _ := doc.Get(key); key.Option == "secret" && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// formerSecrets reads the former secrets, each in base64: they may hold blanks.
func formerSecrets(doc *config.Document) (texts []string, damaged error) {
	list, _ := doc.Get(formerSecretsKey())
	for i, word := range strings.Fields(list) {
		text, err := base64.RawURLEncoding.DecodeString(word)
		if err != nil {
			damaged = fmt.Errorf("%s: word %d is damaged: restore it from a backup, or remove it", formerSecretsKey(), i+1)
			continue
		}
		texts = append(texts, string(text))
	}
	return texts, damaged
}
