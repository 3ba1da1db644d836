package datastore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestTheNamesOfKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "app.conf", "conf.d/a.conf", "a b", "é", "a@b", "..a", "a..", "...", "-", "a[1]", "a:b", `a\b`, "50%"} {
		if err := datastore.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, why := range map[string]string{
		"":                              "empty",
		"..":                            ".. leads elsewhere",
		"../a":                          ".. leads elsewhere",
		"a/../b":                        ".. leads elsewhere",
		"a/..":                          ".. leads elsewhere",
		"./a":                           ". leads elsewhere",
		"/etc/passwd":                   "begins with a slash",
		"a//b":                          "empty element",
		"a/":                            "empty element",
		"a\x00b":                        "do not print",
		"a\nb":                          "do not print",
		"a\x1b[31mb":                    "do not print",
		"a\u202eb":                      "do not print",
		"a\xffb":                        "UTF-8",
		"a=b":                           "equal sign",
		"#a":                            "comment",
		";a":                            "comment",
		"[a]":                           "section",
		"\u0020a":                       "blanks around",
		strings.Repeat("a", 256):        "255",
		strings.Repeat("a/", 600) + "a": "1024",
	} {
		fails(t, datastore.CheckName(name), "key name", why)
	}
}

func TestAKeyOfABadNameIsNotWrittenButCanBeRemoved(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindCfg)
	s.write(t, p, "[data]\n../../etc/passwd = literal:x\n")

	fails(t, s.Add(t.Context(), p, "../x", nil), "ns1/cfg/web", `"../x"`, "leads elsewhere")
	fails(t, s.Rename(t.Context(), p, "../../etc/passwd", "../y"), "leads elsewhere")
	if got, err := s.Decode(p, "../../etc/passwd"); string(got) != "x" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := s.Remove(t.Context(), p, "../../etc/passwd"); err != nil {
		t.Error(err)
	}
}

func TestAPatternDesignatesKeys(t *testing.T) {
	t.Parallel()
	names := []string{"*", "a", "a*", "b", "conf.d/a"}
	for pattern, want := range map[string][]string{
		"a": {"a"}, "z": nil, "": nil, "a*": {"a*"}, "a?": {"a*"}, "[ab]": {"a", "b"}, "*": {"*"}, "**": names, "c*a": {"conf.d/a"}, "z*": nil,
	} {
		if got, err := datastore.Match(pattern, names); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: got %q, %v; want %q", pattern, got, err, want)
		}
	}
	_, err := datastore.Match("[a", names)
	fails(t, err, `"[a"`, "bracket")
}
