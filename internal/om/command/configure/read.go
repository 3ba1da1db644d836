package configure

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// show prints files, or their keywords in the structured formats.
type show struct {
	target   Target
	reader   Reader
	sections []string
}

func (s *show) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&s.sections, "section", nil, "print these `sections` only")
}

func (s *show) Run(ctx context.Context, c *verb.Call) error {
	paths, err := s.target(ctx, c)
	if err != nil {
		return err
	}
	data := map[string]map[string]map[string]string{}
	var text bytes.Buffer
	var found []string // sections
	for _, p := range paths {
		file, err := s.reader.ConfigFile(ctx, p)
		if err != nil {
			return err
		}
		if len(paths) > 1 {
			fmt.Fprintf(&text, "# %s\n", p)
		}
		doc, err := config.Parse(file.Data)
		switch {
		case err == nil:
		case len(s.sections) > 0 || c.Structured():
			return fmt.Errorf("%s: %w", named(p), err)
		default:
			c.Say("Warning: %s: %s: the file is shown as it is", named(p), err)
			text.Write(file.Data)
			continue
		}
		found = append(found, doc.Sections()...)
		data[p.String()] = s.keep(doc)
		if len(s.sections) > 0 {
			file.Data = doc.Bytes()
		}
		text.Write(file.Data)
	}
	for _, section := range s.sections {
		if !slices.Contains(found, section) && len(paths) > 0 {
			return missingSection(section, found)
		}
	}
	if !c.Structured() {
		_, err := text.WriteTo(c.Streams.Out)
		return err
	}
	if len(paths) == 1 {
		return verb.Write[struct{}](c, nil, nil, data[paths[0].String()])
	}
	return verb.Write[struct{}](c, nil, nil, data)
}

func missingSection(section string, found []string) error {
	if len(found) == 0 {
		return fmt.Errorf("section %s is not there: the configuration is empty", section)
	}
	return fmt.Errorf("section %s is not there: there are %s", section, strings.Join(slices.Compact(slices.Sorted(slices.Values(found))), ", "))
}

// named is how messages call the owner of a configuration.
func named(p object.Path) string {
	if p.IsZero() {
		return "node"
	}
	return p.String()
}

// keep drops the sections not asked for and returns the others as a map.
func (s *show) keep(doc *config.Document) map[string]map[string]string {
	kept := map[string]map[string]string{}
	for _, section := range doc.Sections() {
		if len(s.sections) > 0 && !slices.Contains(s.sections, section) {
			doc.DeleteSection(section)
			continue
		}
		kept[section] = map[string]string{}
		for _, k := range doc.Keys(section) {
			value, _ := doc.Get(k)
			option := k.Option
			if k.Scope != "" {
				option += "@" + k.Scope
			}
			kept[section][option] = value
		}
	}
	return kept
}

// get prints keywords.
type get struct {
	target   Target
	reader   Reader
	evaluate bool
	query    api.ConfigQuery
}

func (g *get) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&g.query.Keywords, "kw", nil, "print these `keywords`, as app#1.start,env.port")
	f.StringVar(&g.query.Impersonate, "impersonate", "", "evaluate as this `node` would")
	f.BoolVar(&g.query.Evaluate, "eval", g.evaluate, "print the evaluated values")
	f.Bool("local", false, "")
	for _, hidden := range []string{"eval", "local"} {
		f.Lookup(hidden).Hidden = true
	}
}

func (g *get) Run(ctx context.Context, c *verb.Call) error {
	paths, err := g.target(ctx, c)
	if err != nil {
		return err
	}
	if g.query.Impersonate != "" {
		g.query.Evaluate = true
	}
	var items []api.KeywordItem
	for _, p := range paths {
		found, err := g.reader.ConfigValues(ctx, p, g.query)
		if err != nil {
			return err
		}
		items = append(items, found...)
	}
	if !c.Structured() && len(paths) == 1 && len(g.query.Keywords) == 1 {
		for _, i := range items {
			if err := c.Print(output.Text(g.shown(i))); err != nil {
				return err
			}
		}
		return nil
	}
	return verb.Write(c, g.columns(len(paths) != 1 || !paths[0].IsZero()), items, items)
}

func (g *get) shown(i api.KeywordItem) any {
	if g.query.Evaluate {
		return i.Evaluated
	}
	return i.Value
}

func (g *get) columns(named bool) []output.Column[api.KeywordItem] {
	var columns []output.Column[api.KeywordItem]
	if named {
		columns = append(columns, output.Column[api.KeywordItem]{Name: "OBJECT", Value: func(i api.KeywordItem) any { return i.Object }})
	}
	return append(columns,
		output.Column[api.KeywordItem]{Name: "KEYWORD", Value: func(i api.KeywordItem) any { return i.Keyword }},
		output.Column[api.KeywordItem]{Name: "VALUE", Value: g.shown},
	)
}

// mtime prints modification times.
type mtime struct {
	target Target
	reader Reader
}

func (m *mtime) Flags(*pflag.FlagSet) {}

func (m *mtime) Run(ctx context.Context, c *verb.Call) error {
	paths, err := m.target(ctx, c)
	if err != nil {
		return err
	}
	type row struct{ object, mtime string }
	var rows []row
	for _, p := range paths {
		file, err := m.reader.ConfigFile(ctx, p)
		if err != nil {
			return err
		}
		rows = append(rows, row{p.String(), file.ModTime.Local().Format(api.TimeHeader)})
	}
	if !c.Structured() && len(rows) == 1 {
		return c.Print(rows[0].mtime)
	}
	return verb.Write(c, []output.Column[row]{
		{Name: "OBJECT", Value: func(r row) any { return r.object }},
		{Name: "MTIME", Value: func(r row) any { return r.mtime }},
	}, rows, nil)
}

// doc explains keywords.
type doc struct {
	target     Target
	documenter Documenter
	keyword    string
	driver     string
	depth      int
}

func (d *doc) Flags(f *pflag.FlagSet) {
	f.StringVar(&d.keyword, "kw", "", "explain this `keyword`, as orchestrate or app#1.start")
	f.StringVar(&d.driver, "driver", "", "explain the keywords of this `driver`, as app.simple")
	f.IntVar(&d.depth, "depth", 0, "add this many levels to the headings")
}

func (d *doc) Run(ctx context.Context, c *verb.Call) error {
	paths, err := d.target(ctx, c)
	if err != nil {
		return err
	}
	if d.keyword != "" && d.driver != "" {
		return app.Usage("--kw and --driver exclude each other")
	}
	if len(paths) == 0 {
		return nil
	}
	text, err := d.documenter.ConfigDoc(ctx, paths[0], queryOf(d))
	if err != nil {
		return err
	}
	return c.Print(strings.TrimRight(text, "\n"))
}

func queryOf(d *doc) keyword.Query {
	return keyword.Query{Keyword: d.keyword, Driver: d.driver, Depth: d.depth}
}
