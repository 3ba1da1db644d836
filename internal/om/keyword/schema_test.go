package keyword_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

const service = `[DEFAULT]
id = 1
nodes = n1 n2

[app#1]
type = simple
start = /bin/sleep 100

[app#2]
type = forking

[app#3]
type = simpel

[app#4]

[fs#1]

[fs#2]
type = directory
`

func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		section, option string
		want            keyword.Type
	}{
		"a keyword of DEFAULT":                   {"DEFAULT", "nodes", keyword.TypeNodes},
		"a keyword of the driver":                {"app#1", "start", keyword.TypeShlex},
		"an alias":                               {"app#1", "kill_mode", keyword.TypeString},
		"a keyword common to the drivers":        {"app#2", "optional", keyword.TypeBool},
		"the type itself":                        {"app#1", "type", keyword.TypeString},
		"the type, even when it is wrong":        {"app#3", "type", keyword.TypeString},
		"a keyword that sections inherit":        {"DEFAULT", "optional", keyword.TypeBool},
		"under the name it has in DEFAULT":       {"DEFAULT", "run_schedule", keyword.TypeString},
		"a keyword inherited by absent sections": {"DEFAULT", "path", keyword.TypeString},
		"anything in an open section":            {"env", "what", keyword.TypeString},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			k, err := schema().Find(document(t, service), c.section, c.option)

			if err != nil || k.Type != c.want {
				t.Errorf("got %v, %v", k, err)
			}
		})
	}

	for name, c := range map[string]struct{ section, option, says string }{
		"a misspelt keyword":                {"app#1", "startt", "app#1.startt: unknown keyword of app.simple: did you mean start?"},
		"a misspelt keyword of DEFAULT":     {"DEFAULT", "nods", "nods: unknown keyword: did you mean nodes?"},
		"a keyword nothing is like":         {"app#1", "xyzzy", "app#1.xyzzy: unknown keyword of app.simple"},
		"a keyword of another driver":       {"app#1", "script", "app#1.script: unknown keyword of app.simple: it is a keyword of app.forking"},
		"a keyword of another section":      {"app#1", "path", "app#1.path: unknown keyword of app.simple: it is a keyword of fs.directory, written fs#1.path"},
		"a keyword of sections, in DEFAULT": {"DEFAULT", "tags", "tags: unknown keyword: it is a keyword of app.forking, app.simple, written app#1.tags"},
		"a keyword of DEFAULT, elsewhere":   {"app#1", "topology", "app#1.topology: unknown keyword of app.simple: it is a keyword of DEFAULT, written topology"},
		"a keyword of another kind":         {"DEFAULT", "size", "size: unknown keyword: it is a keyword of vol objects"},
		"a misspelt driver":                 {"app#3", "start", `app#3.type: "simpel" is an unknown driver: did you mean simple?`},
		"a missing driver":                  {"app#4", "start", "app#4.type is required, and not set: use one of forking, simple"},
		"a misspelt section":                {"apps#2", "start", "section apps#2 is unknown: did you mean app#2?"},
		"a section nothing is like":         {"xyzzy", "start", "section xyzzy is unknown"},
		"a missing index":                   {"app", "start", "section app: an index is missing: write app#1"},
		"an index too many":                 {"env#1", "x", "section env#1: it takes no index: write env"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			t.Parallel()

			_, err := schema().Find(document(t, service), c.section, c.option)

			if err == nil || err.Error() != c.says {
				t.Errorf("got  %v\nwant %s", err, c.says)
			}
		})
	}

	t.Run("what sections inherit is neither required nor has a default in DEFAULT", func(t *testing.T) {
		t.Parallel()
		for _, option := range []string{"path", "kill", "vlan"} {
			k, err := schema().Find(nil, "DEFAULT", option)
			if err != nil || k.Option.Required || k.Option.Default != "" || k.Depends != nil {
				t.Errorf("%s: got %+v, %v", option, k, err)
			}
		}
	})

	t.Run("the errors are told apart", func(t *testing.T) {
		t.Parallel()
		s, d := schema(), document(t, service)
		var section *keyword.UnknownSectionError
		var driver *keyword.UnknownDriverError
		var option *keyword.UnknownKeywordError
		_, err1 := s.Find(d, "nosuch", "x")
		_, err2 := s.Find(d, "app#3", "x")
		_, err3 := s.Find(d, "app#1", "x")
		if !errors.As(err1, &section) || !errors.As(err2, &driver) || !errors.As(err3, &option) {
			t.Error(err1, err2, err3)
		}
	})
}

func TestDriver(t *testing.T) {
	t.Parallel()
	s, d := schema(), document(t, service+"\n[app#5]\ntype = plain\n")
	for section, want := range map[string]string{"app#1": "app.simple", "app#5": "app.simple", "fs#1": "fs.flag", "DEFAULT": "", "env": ""} {
		if got, err := s.Driver(d, section); got != want || err != nil {
			t.Errorf("%s: got %q, %v", section, got, err)
		}
	}
	for _, section := range []string{"app#3", "app#4", "nosuch"} {
		if got, err := s.Driver(d, section); err == nil {
			t.Errorf("%s: got %q", section, got)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	find := schema().Options(document(t, service))

	got, ok := find("app#1", "optional")

	if !ok || !cmp.Equal(got, config.Option{Name: "optional", Scopable: true, Inherit: config.HeadToLeaf}) {
		t.Errorf("got %+v, %t", got, ok)
	}
	if _, ok := find("app#1", "nosuch"); ok {
		t.Error("an unknown keyword is found")
	}
	if got, ok := find("labels", "x"); !ok || got.Scopable {
		t.Errorf("got %+v, %t", got, ok)
	}
}

func TestChangesKnowTheSchema(t *testing.T) {
	t.Parallel()
	s, d := schema(), document(t, service)
	list := s.IsList(d)
	for k, want := range map[string]bool{
		"nodes": true, "topology": false, "app#1.start": true, "app#1.kill": false, "app#9.start": true, "app#9.kill": false,
		"app#9.nosuch": false, "env.x": true, "nosuch.x": false,
	} {
		key, err := config.ParseKey(k)
		if err != nil {
			t.Fatal(err)
		}
		if list(key) != want {
			t.Errorf("%s is a list: %t", k, !want)
		}
	}
	for name, want := range map[string]bool{"app": true, "env": false, "DEFAULT": false, "nosuch": false} {
		if s.IsGroup(name) != want {
			t.Errorf("%s is a group: %t", name, !want)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	s, d := schema(), document(t, "[app#1]\ntype = simple\nwrong = 1\n[app#2]\n[env]\nport = 1\n")
	for prefix, want := range map[string][]string{
		"a":             {"app#", "app#1.", "app#2."},
		"t":             {"topology="},
		"app#1.":        {"app#1.kill=", "app#1.optional=", "app#1.schedule=", "app#1.start=", "app#1.tags=", "app#1.type="},
		"app#1.s":       {"app#1.schedule=", "app#1.start="},
		"app#2.":        {"app#2.type="},
		"app#1.kill=":   {"app#1.kill=parent", "app#1.kill=tree"},
		"app#1.kill=t":  {"app#1.kill=tree"},
		"app#2.type=f":  {"app#2.type=forking"},
		"optional=":     {"optional=false", "optional=true"},
		"env.":          {"env.port="},
		"nosuch.":       nil,
		"app#1.nosuch=": nil,
		"=":             nil,
		"si":            nil,
	} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, s.Complete(d, prefix)); diff != "" && len(want)+len(s.Complete(d, prefix)) > 0 {
				t.Error(diff)
			}
		})
	}
}
