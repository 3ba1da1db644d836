// Package schema declares the keywords that belong to no resource driver: those
// of the objects themselves, of the nodes and of the cluster. Each section is a
// table; the sections the agent reads bind to the typed settings of this
// package, the others are only declared, so that they can be written, checked
// and documented. The package is pure.
package schema

import (
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/policy"
)

// Object is the schema of the objects of a kind; drivers are the sections of
// the resources they may hold.
func Object(kind object.Kind, drivers []keyword.Section) *keyword.Schema {
	if kind == object.KindCcfg {
		return Cluster()
	}
	sections := []keyword.Section{head(kind), environment(), labels()}
	if kind.Stores() {
		sections = append(sections, data())
	}
	if kind == object.KindSec {
		sections = append(sections, acme())
	}
	if kind == object.KindNscfg {
		sections = append(sections, claim())
	}
	if kind.Runs() {
		sections = append(sections, subset())
		sections = append(sections, drivers...)
	}
	return &keyword.Schema{Name: string(kind), Kind: kind, Sections: sections, Access: func(driver, option string) string {
		return policy.For(kind, driver, option).String()
	}}
}

// Node is the schema of node.conf.
func Node() *keyword.Schema {
	sections := append([]keyword.Section{identity(), node(true)}, site()...)
	return &keyword.Schema{Name: "node", Sections: append(sections, backup())}
}

// Cluster is the schema of cluster.conf.
func Cluster() *keyword.Schema {
	sections := append([]keyword.Section{identity(), node(false)}, site()...)
	return &keyword.Schema{Name: "cluster", Kind: object.KindCcfg, Sections: sections}
}

// site lists the sections allowed both in node.conf and in cluster.conf.
func site() []keyword.Section {
	return []keyword.Section{
		cluster(), listener(), heartbeat(), arbitrator(), stonith(), unixGroup(),
		hook(), console(), syslog(), collector(), cni(),
		asset(), checks(), compliance(), disks(), packages(), patches(), stats(), sysreport(),
		pool(), network(), array(), fabricSwitch(),
		environment(), labels(),
	}
}

// untyped is the section of a single table.
func untyped(name, doc string, declare func(*keyword.Table)) keyword.Section {
	return keyword.Section{Name: name, Doc: doc, Types: single(declare)}
}

// numbered is untyped, for sections written name#index.
func numbered(name, doc string, declare func(*keyword.Table)) keyword.Section {
	s := untyped(name, doc, declare)
	s.Indexed = true
	return s
}

func single(declare func(*keyword.Table)) map[string]func() *keyword.Table {
	return map[string]func() *keyword.Table{"": table(declare)}
}

func table(declare ...func(*keyword.Table)) func() *keyword.Table {
	return func() *keyword.Table {
		t := &keyword.Table{}
		for _, d := range declare {
			d(t)
		}
		return t
	}
}
