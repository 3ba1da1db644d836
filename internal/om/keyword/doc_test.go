package keyword_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

var update = flag.Bool("update", false, "write the expected files")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

func TestDoc(t *testing.T) {
	t.Parallel()
	doc := document(t, service)
	for name, c := range map[string]struct {
		doc   *config.Document
		query keyword.Query
	}{
		"keyword":         {doc, keyword.Query{Keyword: "app#1.start"}},
		"keyword-default": {doc, keyword.Query{Keyword: "id"}},
		"keyword-group":   {nil, keyword.Query{Keyword: "app.start", Depth: 2}},
		"keyword-driver":  {nil, keyword.Query{Keyword: "app.kill", Driver: "app.simple"}},
		"keyword-type":    {nil, keyword.Query{Keyword: "fs#1.type"}},
		"keyword-no-doc":  {nil, keyword.Query{Keyword: "fs#9.path"}},
		"driver":          {nil, keyword.Query{Driver: "app.plain"}},
		"section":         {nil, keyword.Query{Driver: "env"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := schema().Doc(c.doc, c.query)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".md", got)
		})
	}

	t.Run("everything is told when nothing is asked", func(t *testing.T) {
		t.Parallel()
		got, err := schema().Doc(nil, keyword.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{"# DEFAULT\n", "# app.simple\n", "# app.forking\n", "# fs.directory\n", "# env\n", "## start\n"} {
			if !strings.Contains(got, title) {
				t.Errorf("no %q", title)
			}
		}
	})

	for name, c := range map[string]struct {
		query keyword.Query
		says  string
	}{
		"an unknown keyword of a group":   {keyword.Query{Keyword: "app.strat"}, "app.strat: unknown keyword of app: did you mean start?"},
		"an unknown keyword of a section": {keyword.Query{Keyword: "app#1.strat"}, "app#1.strat: unknown keyword of app.simple: did you mean start?"},
		"an unknown keyword of a driver":  {keyword.Query{Keyword: "app.strat", Driver: "app.simple"}, "did you mean start?"},
		"an unknown section":              {keyword.Query{Keyword: "nosuch.x"}, "section nosuch is unknown"},
		"an unknown driver":               {keyword.Query{Driver: "app.simpel"}, "driver app.simpel is unknown: did you mean app.simple?"},
		"a driver nothing is like":        {keyword.Query{Driver: "xyzzy"}, "use one of DEFAULT, app.forking, app.simple"},
		"a key which is none":             {keyword.Query{Keyword: "a."}, "option is empty"},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			t.Parallel()
			got, err := schema().Doc(document(t, service), c.query)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %q, %v, want ... %s", got, err, c.says)
			}
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	pages := schema().Pages()

	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
		if !strings.HasPrefix(p.Markdown, "# "+p.Title+"\n") || !strings.HasSuffix(p.Markdown, "\n") || strings.HasSuffix(p.Markdown, "\n\n") {
			t.Errorf("page %s: %q", p.Name, p.Markdown)
		}
		for line := range strings.Lines(p.Markdown) {
			if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
				t.Errorf("page %s has trailing blanks: %q", p.Name, line)
			}
		}
	}
	if diff := cmp.Diff([]string{"DEFAULT", "app.forking", "app.simple", "fs.directory", "fs.flag", "env", "labels"}, names); diff != "" {
		t.Error(diff)
	}
}
