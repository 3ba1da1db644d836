package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// validateEnv looks for an environment that is none of cluster.envs. One that
// was written already, and left that list since, only raises a warning.
func (s *Store) validateEnv(p object.Path, ev *config.Evaluator, former *config.Document) []keyword.Alert {
	section := config.DefaultSection
	if isSite(p) {
		section = "node"
	}
	o, ok := ev.Options(section, "env")
	if !ok {
		return nil
	}
	raw, key, found, err := ev.Raw(section, o)
	if err != nil || !found {
		return nil
	}
	text, _, err := ev.Value(section, o)
	text = strings.TrimSpace(text)
	known := s.envs(p, ev)
	if err != nil || text == "" || len(known) == 0 || slices.Contains(known, text) {
		return nil // the schema reports the error
	}
	level := keyword.LevelError
	if former != nil {
		if was, ok := former.Get(key); ok && was == raw {
			level = keyword.LevelWarning
		}
	}
	return []keyword.Alert{{
		Level: level, Kind: keyword.AlertCandidate, Section: key.Section, Option: scoped(key),
		Comment: fmt.Sprintf("%s: %q is none of the environments of the cluster: use one of %s, or add it to cluster.envs", key, text, strings.Join(known, ", ")),
	}}
}

// envs lists the environments: those of the configuration being written when it
// says them.
func (s *Store) envs(p object.Path, ev *config.Evaluator) []string {
	if isSite(p) && ev.Doc.Mentions("cluster", "envs") {
		if o, ok := ev.Options("cluster", "envs"); ok {
			text, _, err := ev.Value("cluster", o)
			if err != nil {
				return nil // the schema reports it
			}
			return strings.Fields(text)
		}
	}
	c, err := s.Cluster()
	if err != nil {
		return nil
	}
	return c.Envs
}
