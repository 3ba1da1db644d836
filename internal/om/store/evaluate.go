package store

import (
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// Evaluator evaluates a configuration of an object as a node does; as this one
// when asNode is empty. The error is that of a node or cluster configuration
// that cannot be read; a [Store.Degraded] goes without.
func (s *Store) Evaluator(p object.Path, doc *config.Document, asNode string) (*config.Evaluator, error) {
	if _, err := s.merged(); err != nil && !s.degraded {
		return nil, err
	}
	return s.evaluator(p, doc, asNode), nil
}

func (s *Store) evaluator(p object.Path, doc *config.Document, asNode string) *config.Evaluator {
	if asNode == "" {
		asNode = s.host.Hostname
	}
	r := &references{store: s, path: p, doc: doc, node: asNode}
	ev := &config.Evaluator{
		Doc:     doc,
		Scope:   config.Scope{Node: asNode},
		Options: s.Schema(p).Options(doc),
		Lookup:  r.lookup,
	}
	ev.Scope = s.scope(p, ev)
	r.scope = &ev.Scope
	return ev
}

// scope evaluates the node lists of an object. Without nodes, the object is of
// the node that reads it; with a selector that designates nobody, of no node. A
// list that cannot be evaluated counts as not written: validation and decoding
// report it.
func (s *Store) scope(p object.Path, ev *config.Evaluator) config.Scope {
	scope := ev.Scope
	if isSite(p) {
		scope.Nodes, _ = s.nodeList(ev, "cluster", "nodes")
		scope.DRPNodes, _ = s.nodeList(ev, "cluster", "drpnodes")
		return scope
	}
	var written bool
	if scope.Nodes, written = s.nodeList(ev, config.DefaultSection, "nodes"); !written {
		scope.Nodes = []string{scope.Node}
	}
	ev.Scope.Nodes = scope.Nodes // for the lists below to refer to
	scope.DRPNodes, _ = s.nodeList(ev, config.DefaultSection, "drpnodes")
	scope.EncapNodes, _ = s.nodeList(ev, config.DefaultSection, "encapnodes")
	return scope
}

func (s *Store) nodeList(ev *config.Evaluator, section, option string) (nodes []string, written bool) {
	o, ok := ev.Options(section, option)
	if !ok {
		return nil, false
	}
	text, _, err := ev.Value(section, o)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, false
	}
	if section == "cluster" || option == "encapnodes" {
		return strings.Fields(text), true
	}
	nodes, err = s.Context().Nodes(text)
	return nodes, err == nil
}

// Object returns the settings of an object, as this node reads them.
func (s *Store) Object(p object.Path) (*schema.ObjectSettings, error) {
	f, err := s.load(p)
	if err != nil {
		return nil, err
	}
	return s.ObjectOf(p, f.Doc, "")
}

// ObjectOf is [Store.Object] for a document at hand, as a node reads it; as
// this one when asNode is empty.
func (s *Store) ObjectOf(p object.Path, doc *config.Document, asNode string) (*schema.ObjectSettings, error) {
	ev, err := s.Evaluator(p, doc, asNode)
	if err != nil {
		return nil, err
	}
	return s.Settings(p, ev)
}

// Settings is [Store.Object] for an evaluator at hand.
func (s *Store) Settings(p object.Path, ev *config.Evaluator) (*schema.ObjectSettings, error) {
	o := &schema.ObjectSettings{Kind: p.Kind}
	t := &keyword.Table{}
	o.Keywords(t)
	if err := keyword.Decode(ev, config.DefaultSection, t, s.Context()); err != nil {
		return nil, fmt.Errorf("%s: %w", name(p), err)
	}
	if len(o.Nodes) == 0 {
		o.Nodes = ev.Scope.Nodes
	}
	if len(o.FlexPrimary) == 0 && len(o.Nodes) > 0 {
		o.FlexPrimary = o.Nodes[:1]
	}
	if o.Env == "" {
		n, err := s.Node()
		switch {
		case err == nil:
			o.Env = n.Env
		case !s.degraded:
			return nil, err
		}
	}
	return o, nil
}
