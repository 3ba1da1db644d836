package store_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func TestSelectorsLookAtConfigurations(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "a.conf", "[DEFAULT]\nid = x\npriority = 9\nflex_min = 1\n\n[app#1]\ntype = simple\ntimeout = 90\noptional = True\nstart = {env.cmd}\n\n[env]\ncmd = /bin/a\n")
	s.write(t, "b.conf", "[DEFAULT]\nid = x\npriority = 10\n\n[app#1]\ntype = simple\ntimeout@n1 = 2m\ntimeout = 1\noptional = 0\nstart = {nosuch}\n")
	s.write(t, "vol/c.conf", "[DEFAULT]\nid = x\nsize = 1g\n")
	s.write(t, "d.conf", "[DEFAULT]\nid = x\ntimeout = 7\n\n[app#1]\ntype = simple\n")
	s.write(t, "broken.conf", "[DEFAULT\n")
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{
		"priority>9":                "b",
		"priority<10":               "a",
		"app.timeout>=1m30s":        "a b",
		"app#1.timeout>90s":         "b",
		"app.optional=true":         "a",
		".optional=TRUE":            "a",
		".optional=false":           "b",
		"size>=1024m":               "vol/c",
		"size=1073741824":           "vol/c",
		"app.start=/bin/a":          "a",
		"app.start~nosuch":          "b",
		"orchestrate=no":            "",
		"orchestrate:":              "",
		"app.timeout:":              "a b",
		"timeout:":                  "d",
		"app.timeout=7":             "",
		"app.tags:":                 "",
		"flex_min_nodes:":           "a",
		"flex_min:":                 "a",
		"cluster.name=c1":           "cluster",
		"!app:+**+!cluster+!broken": "vol/c",
		"broken,a":                  "broken a",
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			sel, err := object.ParseSelector(expr)
			if err != nil {
				t.Fatal(err)
			}

			got, err := sel.Select(all, s.Configs())
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, p := range got {
				names[p.String()] = true
			}
			for n := range strings.FieldsSeq(want) {
				if !names[n] {
					t.Errorf("%s is missing from %v", n, got)
				}
				delete(names, n)
			}
			if len(names) > 0 {
				t.Errorf("%v is too much, want %s", names, want)
			}
		})
	}
}

func TestConfigsServeSeveralReaders(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "a.conf", "[DEFAULT]\nid = x\n\n[app#1]\ntype = simple\ntimeout = {env.t}\n\n[env]\nt = 5\n")
	c := s.Configs()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if v, ok := c.Value(path(t, "a"), "app#1", "timeout"); !ok || v.Text != "5" {
					t.Errorf("got %+v, %v", v, ok)
				}
			}
		})
	}
	wg.Wait()
}
