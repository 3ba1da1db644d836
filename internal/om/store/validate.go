package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// AlertUnknownNode is the kind of the alerts on names that are not those of
// nodes of the cluster.
const AlertUnknownNode = "unknown node"

// Validate reports what is wrong in a configuration of an object, on any of its
// nodes. Alerts of level error refuse a commit.
func (s *Store) Validate(p object.Path, doc *config.Document) []keyword.Alert {
	return s.validate(p, doc, nil)
}

// validate reports what is wrong in doc, which is to replace former. Nodes that
// left the cluster only raise warnings where they were written already: their
// objects must remain editable.
func (s *Store) validate(p object.Path, doc, former *config.Document) []keyword.Alert {
	// A broken node or cluster configuration refuses every write but its own repair.
	if _, err := s.merged(); err != nil && !isSite(p) {
		return []keyword.Alert{{Level: keyword.LevelError, Kind: keyword.AlertEvaluation, Comment: err.Error()}}
	}
	local := s.evaluator(p, doc, "")
	var alerts []keyword.Alert
	seen := map[keyword.Alert]bool{}
	add := func(found []keyword.Alert) {
		for _, a := range found {
			// The keys of datastores are taken as they are: braces refer to nothing in
			// them, and what follows an "@" is part of their name.
			verbatim := a.Section == "data" && (a.Kind == keyword.AlertEvaluation || a.Kind == keyword.AlertScoping)
			if !seen[a] && !verbatim {
				seen[a] = true
				alerts = append(alerts, a)
			}
		}
	}
	sch, c := s.Schema(p), s.Context()
	add(sch.Validate(local, c))
	add(s.validateNodes(p, local, former))
	add(s.validateEnv(p, local, former))
	add(s.validateVital(p, local, former))
	add(validateSealed(p, doc))
	add(s.validateQuorum(p, local))
	if !varies(doc) {
		return alerts
	}
	for _, node := range slices.Concat(local.Scope.Nodes, local.Scope.DRPNodes) {
		if node == local.Scope.Node {
			continue
		}
		ev := s.evaluator(p, doc, node)
		add(sch.Validate(ev, c))
		add(s.validateNodes(p, ev, former))
		add(s.validateEnv(p, ev, former))
	}
	return alerts
}

// varies tells whether the values of a configuration may differ from one node
// to another: a key is scoped, or something refers to the node.
func varies(doc *config.Document) bool {
	for _, section := range doc.Sections() {
		for _, key := range doc.Keys(section) {
			value, _ := doc.Get(key)
			if key.Scope != "" || strings.Contains(value, "node") && strings.Contains(value, "{") {
				return true
			}
		}
	}
	return false
}

// validateNodes looks for names that are not those of nodes of the cluster.
func (s *Store) validateNodes(p object.Path, ev *config.Evaluator, former *config.Document) []keyword.Alert {
	if isSite(p) {
		return nil
	}
	known, err := s.knownNodes()
	if err != nil {
		return []keyword.Alert{{Level: keyword.LevelError, Kind: keyword.AlertEvaluation, Comment: err.Error()}}
	}
	var alerts []keyword.Alert
	for _, option := range []string{"nodes", "drpnodes", "flex_primary"} {
		o, ok := ev.Options(config.DefaultSection, option)
		if !ok {
			continue
		}
		raw, key, found, err := ev.Raw(config.DefaultSection, o)
		if err != nil || !found {
			continue
		}
		text, _, err := ev.Value(config.DefaultSection, o)
		if err != nil {
			continue // the schema reports it
		}
		level := keyword.LevelError
		if former != nil {
			if was, ok := former.Get(key); ok && was == raw {
				level = keyword.LevelWarning
			}
		}
		for _, comment := range s.unknownNodes(text, known) {
			alerts = append(alerts, keyword.Alert{
				Level: level, Kind: AlertUnknownNode, Section: key.Section, Option: scoped(key), Comment: key.String() + ": " + comment,
			})
		}
		if chosen, err := s.Context().Nodes(text); err == nil && len(chosen) == 0 && text != "" {
			alerts = append(alerts, keyword.Alert{
				Level: keyword.LevelWarning, Kind: AlertUnknownNode, Section: key.Section, Option: scoped(key),
				Comment: fmt.Sprintf("%s: %q designates no node of the cluster, for now: they are %s", key, text, strings.Join(known, ", ")),
			})
		}
	}
	return alerts
}

func scoped(key config.Key) string {
	if key.Scope == "" {
		return key.Option
	}
	return key.Option + "@" + key.Scope
}

func (s *Store) unknownNodes(text string, known []string) []string {
	sel, err := object.ParseNodeSelector(text)
	if err != nil {
		return nil // the conversion reports it
	}
	_, err = sel.Select(known, nil)
	var out []string
	for _, one := range split(err) {
		if unknown, ok := errors.AsType[*object.UnknownNodeError](one); ok {
			out = append(out, fmt.Sprintf("%s is not a node of the cluster: use %s", unknown.Node, strings.Join(known, ", ")))
		}
	}
	return out
}

// split returns the errors that were joined.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// writtenOnce refuses a configuration that is handed over with lines nobody
// reads. In a file edited in place they only raise warnings.
func writtenOnce(p object.Path, doc *config.Document) error {
	var alerts []keyword.Alert
	for _, d := range doc.Duplicates() {
		alerts = append(alerts, keyword.Alert{
			Level: keyword.LevelError, Kind: keyword.AlertDuplicate, Section: d.Key.Section, Option: scoped(d.Key),
			Comment: d.String() + ": write it once",
		})
	}
	if len(alerts) == 0 {
		return nil
	}
	return &InvalidError{Path: p, Alerts: alerts}
}
