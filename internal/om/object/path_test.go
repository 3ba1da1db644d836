package object_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func svc(ns, name string) object.Path {
	return object.Path{Namespace: ns, Kind: object.KindSvc, Name: name}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]object.Path{
		"web":            svc("root", "web"),
		"cfg/web":        {Namespace: "root", Kind: object.KindCfg, Name: "web"},
		"ns1/svc/web":    svc("ns1", "web"),
		"/svc/web":       svc("root", "web"),
		"root/svc/web":   svc("root", "web"),
		"./svc/web":      svc("root", "web"),
		"test/":          {Namespace: "test", Kind: object.KindNscfg, Name: "namespace"},
		"cluster":        object.Cluster(),
		"3.web":          svc("root", "3.web"),
		"www.example":    svc("root", "www.example"),
		"ns1/svc/a-b-c9": svc("ns1", "a-b-c9"),
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			got, err := object.Parse(text)

			if err != nil || got != want {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
		})
	}
}

func TestARelativePathIsInTheNamespaceOfItsReferrer(t *testing.T) {
	t.Parallel()

	got, err := object.ParseRelative("./cfg/app", "prod")

	if want := (object.Path{Namespace: "prod", Kind: object.KindCfg, Name: "app"}); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestABadPathIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"":                              "empty object path",
		"Web":                           `use "root/svc/web"`,
		"a/b/c/d":                       "has 4 parts",
		"foo/web":                       `unknown object kind "foo"`,
		"1ns/svc/web":                   "namespace",
		"ns_1/svc/web":                  "namespace",
		"web-":                          "name",
		"-web":                          "name",
		"my_web":                        "name",
		"12":                            "name",
		".web":                          "name",
		"a..b":                          "name",
		"..":                            "name",
		"../svc/web":                    "namespace",
		"web\n":                         "name",
		"svc":                           "reserved",
		"node":                          "reserved",
		"namespace":                     "reserved",
		"svc/cluster":                   "reserved",
		"ccfg/other":                    "reserved",
		strings.Repeat("a", 64):         "63",
		strings.Repeat("a", 64) + "/":   "63",
		"ns1/svc/" + "é":                "name",
		"ns1/svc/web ":                  "name", //nolint:gocritic // the blanks are the point
		"ns1/ccfg/cluster":              "reserved",
		"ns1/nscfg/other":               `use "ns1/"`,
		"nscfg/web":                     `use "root/"`,
		"ns1//web":                      "kind",
		"ns1/svc/":                      "name",
		strings.Repeat("ns/", 100) + "": "parts",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			p, err := object.Parse(text)

			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("got %v, error %v; want an error with %q", p, err, reason)
			}
		})
	}
}

func TestNamesDerivedFromAPath(t *testing.T) {
	t.Parallel()
	type names struct{ Text, FQN, FQDN, File, State string }
	for _, c := range []struct {
		path object.Path
		want names
	}{
		{svc("root", "web"), names{"web", "root/svc/web", "web.root.svc.c1", "web.conf", "svc/web"}},
		{object.Path{Namespace: "root", Kind: "cfg", Name: "x"}, names{"cfg/x", "root/cfg/x", "x.root.cfg.c1", "cfg/x.conf", "cfg/x"}},
		{svc("ns1", "web"), names{"ns1/svc/web", "ns1/svc/web", "web.ns1.svc.c1", "namespaces/ns1/svc/web.conf", "namespaces/ns1/svc/web"}},
		{object.Cluster(), names{"cluster", "root/ccfg/cluster", "cluster.root.ccfg.c1", "cluster.conf", "ccfg/cluster"}},
		{object.Path{Namespace: "ns1", Kind: "nscfg", Name: "namespace"}, names{
			"ns1/", "ns1/nscfg/namespace", "namespace.ns1.nscfg.c1", "namespaces/ns1/nscfg/namespace.conf", "namespaces/ns1/nscfg/namespace",
		}},
	} {
		t.Run(c.path.FQN(), func(t *testing.T) {
			t.Parallel()
			p := c.path

			got := names{p.String(), p.FQN(), p.FQDN("c1"), p.ConfigFile(), p.StateDir()}

			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesThatAreNoConfigurationOfAnObject(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"node.conf", "web", "web.conf.swp", ".web.conf", "svc/web.conf", "namespaces/root/svc/web.conf", "namespaces/ns1/web.conf",
		"ccfg/cluster.conf", "namespaces/ns1/svc/Web.conf", "a/b/c.conf", "web/../x.conf", "nscfg/../web.conf",
	} {
		if p, ok := object.FromConfigFile(file); ok {
			t.Errorf("%s is taken for the configuration of %s", file, p)
		}
	}
}

// paths draws valid paths, the odd ones often.
func paths() *rapid.Generator[object.Path] {
	return rapid.Custom(func(t *rapid.T) object.Path {
		return object.Path{
			Namespace: rapid.OneOf(rapid.SampledFrom([]string{"root", "system", "ns1", "cluster", "svc"}), rapid.StringMatching(`[a-z][a-z0-9-]{0,4}[a-z0-9]`)).Draw(t, "namespace"),
			Kind:      rapid.SampledFrom(object.Kinds()).Draw(t, "kind"),
			Name: rapid.OneOf(rapid.SampledFrom([]string{"cluster", "namespace", "web", "3.web", "root", "x.conf", "node"}),
				rapid.StringMatching(`([0-9]\.)?[a-z][a-z0-9.-]{0,4}[a-z0-9]`)).Draw(t, "name"),
		}
	}).Filter(func(p object.Path) bool { return p.Validate() == nil })
}

// The laws of names, over the functions they are about so that mutants can be
// put in their place.
func parsesBack(format func(object.Path) string) func(object.Path) bool {
	return func(p object.Path) bool {
		q, err := object.Parse(format(p))
		return err == nil && q == p
	}
}

func foundByFile(file func(object.Path) string) func(object.Path) bool {
	return func(p object.Path) bool {
		q, ok := object.FromConfigFile(file(p))
		return ok && q == p
	}
}

func TestLawsOfPaths(t *testing.T) {
	t.Parallel()
	for name, law := range map[string]func(object.Path) bool{
		"the printed form parses back":          parsesBack(object.Path.String),
		"the full name parses back":             parsesBack(object.Path.FQN),
		"the configuration file tells the path": foundByFile(object.Path.ConfigFile),
		"the text form is the inverse of itself": func(p object.Path) bool {
			text, err := p.MarshalText()
			var q object.Path
			return err == nil && q.UnmarshalText(text) == nil && q == p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				if p := paths().Draw(t, "path"); !law(p) {
					t.Fatalf("broken by %s", p.FQN())
				}
			})
		})
	}
}

func TestMutantsBreakTheLawsOfPaths(t *testing.T) {
	t.Parallel()
	for name, law := range map[string]func(object.Path) bool{
		"printing the name alone":                     parsesBack(func(p object.Path) string { return p.Name }),
		"printing the kind of services only":          parsesBack(func(p object.Path) string { return strings.TrimPrefix(p.String(), "cfg/") }),
		"forgetting the namespace of configurations":  parsesBack(func(p object.Path) string { return strings.TrimSuffix(p.String(), "/") }),
		"filing every namespace at the root":          foundByFile(func(p object.Path) string { p.Namespace = "root"; return p.ConfigFile() }),
		"filing the kinds together":                   foundByFile(func(p object.Path) string { p.Kind = "svc"; return p.ConfigFile() }),
		"filing the root namespace as the other ones": foundByFile(func(p object.Path) string { return "namespaces/" + p.FQN() + ".conf" }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 1000 {
				if !law(paths().Example(seed)) {
					return
				}
			}
			t.Error("the law holds for the mutant")
		})
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"web", "cfg/web", "ns1/svc/web", "ns/", "cluster", "/svc/x", "./svc/x", "3.web", "a..b", "", "svc/svc/svc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := object.Parse(text)
		if err != nil {
			return
		}
		if q, err := object.Parse(p.String()); err != nil || q != p {
			t.Errorf("%q gives %q, which gives %q, %v", text, p, q, err)
		}
		if q, ok := object.FromConfigFile(p.ConfigFile()); !ok || q != p {
			t.Errorf("%q has the file %q, which is of %q", text, p.ConfigFile(), q)
		}
		if strings.Contains(p.ConfigFile(), "..") {
			t.Errorf("%q has the file %q", text, p.ConfigFile())
		}
	})
}

func TestASlashAloneNamesNoNamespace(t *testing.T) {
	t.Parallel()
	if p, err := object.Parse("/"); err == nil || !strings.Contains(err.Error(), `object path "/" names no namespace: write namespace/, as root/`) {
		t.Errorf("%+v, %v", p, err)
	}
}
