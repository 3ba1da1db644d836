package keyword_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const app = "[app#1]\ntype = simple\nstart = /bin/x\n"
	for name, c := range map[string]struct {
		text string
		want []keyword.Alert
	}{
		"a right configuration": {
			"id = 1\nnodes = n1 n2\noptional = true\npath = /x/{nosuch}\n" + app + "start@n2 = /bin/y {nodename}\n[env]\nx@n1 = {nodename} {\"a\": 1}\n[labels]\naz = 1\n", nil,
		},
		"an empty one": {"", nil},
		"an unknown section": {"[apps#1]\nx = 1\n", []keyword.Alert{
			{keyword.LevelError, "unknown section", "apps#1", "", "", "section apps#1 is unknown: did you mean app#1?"},
		}},
		"an unknown driver": {"[app#1]\ntype = simpel\nxyzzy = 1\n", []keyword.Alert{
			{keyword.LevelError, "unknown driver", "app#1", "type", "app.simpel", `app#1.type: "simpel" is an unknown driver: did you mean simple?`},
		}},
		"a scope on a section": {"[app#1@n1]\ntype = simple\n", []keyword.Alert{
			{keyword.LevelError, "unknown section", "app#1@n1", "", "", "section app#1@n1: a section has no scope: write [app#1], and the scope after its options, as option@n1"},
		}},
		"a missing driver": {"[app#1]\nstart = 1\n", []keyword.Alert{
			{keyword.LevelError, "required", "app#1", "type", "", "app#1.type is required, and not set: use one of forking, simple"},
		}},
		"an unknown keyword": {app + "startt@n1 = 1\n", []keyword.Alert{
			{keyword.LevelError, "unknown keyword", "app#1", "startt@n1", "app.simple", "app#1.startt: unknown keyword of app.simple: did you mean start?"},
		}},
		"a missing keyword": {"[app#1]\ntype = simple\n", []keyword.Alert{
			{keyword.LevelError, "required", "app#1", "start", "app.simple", "app#1.start: required, and not set"},
		}},
		"a keyword set for another node only": {"[app#1]\ntype = simple\nstart@n2 = x\n", []keyword.Alert{
			{keyword.LevelError, "required", "app#1", "start", "app.simple", "app#1.start: required, and not set"},
		}},
		"a scope on what cannot have one": {app + "kill@n1 = tree\n[labels]\naz@n1 = 1\n", []keyword.Alert{
			{keyword.LevelError, "scoping", "app#1", "kill@n1", "app.simple", "app#1.kill@n1: this keyword is the same on every node: write it without @n1"},
			{keyword.LevelError, "scoping", "labels", "az@n1", "", "labels.az@n1: this keyword is the same on every node: write it without @n1"},
		}},
		"a scope nobody is in": {app + "start@n9 = 1\n", []keyword.Alert{
			{keyword.LevelWarning, "scoping", "app#1", "start@n9", "app.simple", "app#1.start@n9: n9 is none of the nodes of the object, nor nodes, drpnodes or encapnodes: nobody reads this line"},
		}},
		"a reference to nothing": {app + "start@n1 = {nosuch}\n[env]\nx = {env.y}\n", []keyword.Alert{
			{keyword.LevelError, "evaluation", "app#1", "start@n1", "app.simple", "app#1.start@n1: reference {nosuch}: no such option in [app#1] nor in [DEFAULT], and no well-known reference of that name"},
			{keyword.LevelError, "evaluation", "env", "x", "", "env.x: reference {env.y}: env.y is not set"},
		}},
		"a circle": {"[env]\nx = {env.y}\ny = {env.x}\n", []keyword.Alert{
			{keyword.LevelError, "evaluation", "env", "x", "", "env.x: reference {env.y}: reference {env.x}: references in a circle: env.x -> env.y -> env.x"},
			{keyword.LevelError, "evaluation", "env", "y", "", "env.y: reference {env.x}: reference {env.y}: references in a circle: env.y -> env.x -> env.y"},
		}},
		"a value which is no candidate": {"topology = flexible\n", []keyword.Alert{
			{keyword.LevelError, "not a candidate", "DEFAULT", "topology", "", `topology: "flexible" is not one of failover, flex`},
		}},
		"a candidate misspelt": {"topology = flx\n", []keyword.Alert{
			{keyword.LevelError, "not a candidate", "DEFAULT", "topology", "", `topology: "flx" is not one of failover, flex: did you mean flex?`},
		}},
		"a value that does not convert": {app + "optional = yes\n", []keyword.Alert{
			{keyword.LevelError, "does not convert", "app#1", "optional", "app.simple", `app#1.optional: value "yes": not a boolean: write true or false`},
		}},
		"an inherited value that does not convert, once": {"optional = yes\n" + app + "[app#2]\ntype = simple\nstart = x\n", []keyword.Alert{
			{keyword.LevelError, "does not convert", "DEFAULT", "optional", "", `optional: value "yes": not a boolean: write true or false`},
		}},
		"a node which is not in the cluster": {"nodes = n1 n9\n", []keyword.Alert{
			{keyword.LevelError, "does not convert", "DEFAULT", "nodes", "", `nodes: value "n1 n9": node n9 is not in the cluster`},
		}},
		"a deprecated keyword": {"[app#1]\ntype = forking\nscript = x\n", []keyword.Alert{
			{keyword.LevelWarning, "deprecated", "app#1", "script", "app.forking", "app#1.script: deprecated: write start, stop and check"},
		}},
		"a keyword nothing reads": {"flex_min = x\n[fs#1]\ntype = directory\npath = /x\nvlan = 1\nmode = bridge\n", []keyword.Alert{
			{keyword.LevelWarning, "depends", "DEFAULT", "flex_min", "", "flex_min: read only with topology=flex"},
			{keyword.LevelWarning, "depends", "fs#1", "vlan", "fs.directory", "fs#1.vlan: read only with mode=ovs"},
		}},
		"a key written twice": {"id = 1\nid = 2\n", []keyword.Alert{
			{keyword.LevelWarning, "duplicate", "DEFAULT", "id", "", "id: written 2 times, on lines 1, 2: only the last one is read"},
		}},
		"a section written twice": {"[env]\n[labels]\n[env]\n", []keyword.Alert{
			{keyword.LevelWarning, "duplicate", "env", "", "", "section env: written 2 times, on lines 1, 3: read as one"},
		}},
		"a keyword of another kind": {"size = 1g\n", []keyword.Alert{
			{keyword.LevelError, "unknown keyword", "DEFAULT", "size", "", "size: unknown keyword: it is a keyword of vol objects"},
		}},
		"a value known only at run time": {app + "optional = {disk#1.free}\nkill = {disk#1.free}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := schema()
			c1 := keyword.Context{Nodes: func(text string) ([]string, error) {
				if text == "n1 n9" {
					return nil, errors.New("node n9 is not in the cluster")
				}
				return nil, nil
			}}

			got := s.Validate(evaluator(t, s, c.text), c1)

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	t.Run("an alert names its key", func(t *testing.T) {
		t.Parallel()
		for a, want := range map[keyword.Alert]string{
			{Section: "app#1"}:                    "app#1",
			{Section: "app#1", Option: "x@n1"}:    "app#1.x@n1",
			{Section: "DEFAULT", Option: "nodes"}: "nodes",
		} {
			if a.Key() != want {
				t.Errorf("got %q, want %q", a.Key(), want)
			}
		}
	})
}
