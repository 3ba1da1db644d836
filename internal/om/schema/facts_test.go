package schema_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

//go:embed testdata/facts.jsonl
var facts []byte

// A fact is a keyword as an earlier implementation documents it: existing
// configurations rely on it.
type fact struct {
	Store, Section, Option string
	Types                  []string
	Kinds                  []object.Kind
	attributes
}

type attributes struct {
	Type       string
	Aliases    []string
	Candidates []string
	Depends    []string
	Default    string
	Inherit    string
	Required   bool
	Scopable   bool
}

// exceptions are the facts that do not hold, each with the reason.
func exceptions() map[string]string {
	const (
		common  = "a keyword of resources, declared with them"
		hidden  = "part of the configuration tree: the path follows the root of the agent"
		renamed = "info_schedule is its name, this one an alias"
		more    = "candidates were added since: lo for networks, pure for arrays"
		faster  = "keys are ECDSA ones unless a size is set"
		port    = "the documented default heartbeat is on the port of the listener"
	)
	return map[string]string{
		"object  type":                    common,
		"object DEFAULT bits":             faster,
		"object DEFAULT resinfo_schedule": renamed,
		"cluster network type":            more,
		"cluster array type":              more,
		"cluster hb port unicast":         port,
		"cluster cni config":              hidden,
		"cluster listener crl":            hidden,
		"cluster  max_peers drbd":         "a keyword of the drbd pools, as its type says",
	}
}

func TestTheKeywordsExistingConfigurationsUseAreDeclared(t *testing.T) {
	t.Parallel()
	unused := exceptions()
	for _, f := range readFacts(t) {
		types := f.Types
		if len(types) == 0 {
			types = []string{""}
		}
		for _, typ := range types {
			id := strings.TrimSpace(strings.Join([]string{f.Store, f.Section, f.Option, typ}, " "))
			if _, ok := exceptions()[id]; ok {
				delete(unused, id)
				continue
			}
			for _, s := range f.schemas() {
				got, err := find(s, f, typ)
				if err != nil {
					t.Errorf("%s of %s: %v", id, s.Name, err)
					continue
				}
				if diff := cmp.Diff(f.attributes, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s of %s: want, got\n%s", id, s.Name, diff)
				}
			}
		}
	}
	for id := range unused {
		t.Errorf("the exception %q is about nothing", id)
	}
}

func readFacts(t *testing.T) []fact {
	t.Helper()
	var out []fact
	for line := range bytes.Lines(facts) {
		var f fact
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&f); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &f.attributes); err != nil {
			t.Fatal(err)
		}
		slices.Sort(f.Candidates)
		out = append(out, f)
	}
	if len(out) < 250 {
		t.Fatalf("only %d facts", len(out))
	}
	return out
}

// schemas lists where the keyword is expected.
func (f fact) schemas() []*keyword.Schema {
	switch f.Store {
	case "node":
		return []*keyword.Schema{schema.Node()}
	case "cluster":
		return []*keyword.Schema{schema.Node(), schema.Cluster()}
	}
	kinds := f.Kinds
	if len(kinds) == 0 {
		kinds = []object.Kind{object.KindSvc, object.KindVol, object.KindCfg, object.KindSec, object.KindUsr, object.KindNscfg}
	}
	var out []*keyword.Schema
	for _, k := range kinds {
		out = append(out, schema.Object(k, nil))
	}
	return out
}

// find looks in the tables themselves: what a document accepts is the business
// of package keyword.
func find(s *keyword.Schema, f fact, typ string) (attributes, error) {
	section := f.Section
	if section == "" {
		section = "DEFAULT"
	}
	for _, d := range s.Sections {
		if d.Name != section {
			continue
		}
		for _, name := range []string{typ, ""} {
			build := d.Types[name]
			if build == nil {
				continue
			}
			if k := build().Find(f.Option); k != nil && allows(k, s.Kind) {
				return describe(k), nil
			}
		}
		return attributes{}, fmt.Errorf("section %s has no %s", section, f.Option)
	}
	return attributes{}, fmt.Errorf("no section %s", section)
}

func allows(k *keyword.Keyword, kind object.Kind) bool {
	return kind == "" || len(k.Kinds) == 0 || slices.Contains(k.Kinds, kind)
}

func describe(k *keyword.Keyword) attributes {
	candidates := slices.Clone(k.Candidates)
	slices.Sort(candidates)
	return attributes{
		Type: string(k.Type), Aliases: k.Aliases, Candidates: candidates, Depends: k.Depends, Default: k.Option.Default,
		Inherit: k.Option.Inherit.String(), Required: k.Option.Required, Scopable: k.Option.Scopable,
	}
}
