package noun

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Column is a column of a listing, or a field of what is shown.
type Column struct {
	Title string
	// Attr is the path of the attribute; see [Object.Get].
	Attr string
	// Cell makes the cell from the value of the attribute; nil takes it as it is.
	Cell func(any) any
	// From makes the cell from the whole object, instead of Attr and Cell. Needs
	// lists the attributes it looks at.
	From  func(Object) any
	Needs []string
	// Long columns are shown with --long; OptIn columns only when -c or
	// --sort-column names them.
	Long, OptIn bool
	// Own and Compat keep a column to one voice.
	Own, Compat bool
	// IfSet leaves a column out of a list in which it is null everywhere, and a
	// field out of what is shown when it is null. A list waits for its last page then.
	IfSet bool
}

// Listing is the declaration of a list command.
type Listing struct {
	Short     string
	Long      string
	Args      []command.Arg
	Filters   []Field        // flags that narrow the list: the attribute is the name in the query
	Flags     []command.Flag // others, without --long, --limit and --marker
	Exclusive []string
	NoLong    bool // there is no --long
	Paged     bool // --limit and --marker
	// Marker makes an id of what --marker says; nil takes it as it is.
	Marker  func(ctx context.Context, c *command.Call, ref string) (string, error)
	Columns []Column
	// Query sets the query of the request from the flags. It may return another
	// noun to list, below another path.
	Query func(ctx context.Context, c *command.Call, q url.Values) error
	// Path gives the path of the collection, when it depends on the arguments.
	Path func(ctx context.Context, c *command.Call) (string, error)
	// Keep filters what the service cannot. KeepNeeds lists the attributes it looks at.
	Keep      func(c *command.Call, o Object) bool
	KeepNeeds []string
	// Prepare runs before rows are made: what it fetches, the columns' closures use.
	// It returns the columns to use; nil uses Columns.
	Prepare func(ctx context.Context, c *command.Call, columns []Column) ([]Column, error)
}

// List builds a list command.
func (n Noun) List(l Listing) func() command.Command {
	return func() command.Command {
		flags := make([]command.Flag, 0, len(l.Filters)+len(l.Flags)+3)
		for _, f := range l.Filters {
			flags = append(flags, f.Flag)
		}
		flags = append(flags, l.Flags...)
		if !l.NoLong && hasLong(l.Columns) {
			flags = append(flags, command.Flag{Name: "long", Help: "Show more columns"})
		}
		if l.Paged {
			flags = append(flags, PageFlags(n.Name)...)
		}
		return command.Command{
			Short: l.Short, Long: l.Long, Args: l.Args, Flags: flags, Exclusive: l.Exclusive,
			Output: command.Listed, OptIn: optIn(l.Columns), Columns: titles(l.Columns),
			Run: func(ctx context.Context, c *command.Call) error { return n.list(ctx, c, l) },
		}
	}
}

// PageFlags are --limit and --marker.
func PageFlags(name string) []command.Flag {
	return []command.Flag{
		{Name: "limit", Value: "<count>", Type: command.Int, Help: "Stop after this many, all pages taken together; -1 is no limit"},
		{Name: "marker", Value: "<id>", Help: "Begin after the " + name + " of this id"},
	}
}

func (n Noun) list(ctx context.Context, c *command.Call, l Listing) error {
	query := url.Values{}
	if err := FillQuery(ctx, c, query, l.Filters); err != nil {
		return err
	}
	if l.Query != nil {
		if err := l.Query(ctx, c, query); err != nil {
			return err
		}
	}
	if l.Path != nil {
		path, err := l.Path(ctx, c)
		if err != nil {
			return err
		}
		n = n.At(path)
	}
	columns := Pick(c, l.Columns)
	if l.Prepare != nil {
		changed, err := l.Prepare(ctx, c, columns)
		if err != nil {
			return err
		}
		if changed != nil {
			columns = changed
		}
	}
	limit, err := l.paging(ctx, c, query)
	if err != nil {
		return err
	}
	pageLimit := limit
	if l.Keep != nil {
		pageLimit = 0
	}
	needed := projection(c, columns, l.KeepNeeds, l.Keep != nil)
	if n.Select != "" && needed != nil {
		query[n.Select] = slices.Sorted(maps.Keys(needed))
	}
	objects := n.pages(ctx, c, query, pageLimit, needed)
	if l.Keep != nil {
		objects = Kept(objects, limit, func(o Object) bool { return l.Keep(c, o) })
	}
	if slices.ContainsFunc(columns, func(col Column) bool { return col.IfSet }) {
		all, err := collect(objects)
		if err != nil {
			return err
		}
		return PrintList(c, whereSet(c, columns, all), Each(all))
	}
	return PrintList(c, columns, objects)
}

// paging sets what --limit and --marker ask of the service, and returns the limit.
func (l Listing) paging(ctx context.Context, c *command.Call, query url.Values) (limit int, err error) {
	if !l.Paged {
		return 0, nil
	}
	if marker := c.Text("marker"); marker != "" {
		if l.Marker != nil {
			if marker, err = l.Marker(ctx, c, marker); err != nil {
				return 0, err
			}
		}
		query.Set("marker", marker)
	}
	limit = max(c.Int("limit"), 0)
	if limit > 0 && l.Keep == nil {
		query.Set("limit", c.Text("limit"))
	}
	return limit, nil
}

// whereSet leaves out the IfSet columns that no object sets, unless the user named them.
func whereSet(c *command.Call, columns []Column, all []Object) []Column {
	named := len(c.Output.Columns) > 0 && !c.Compat()
	return slices.DeleteFunc(slices.Clone(columns), func(col Column) bool {
		if !col.IfSet || named && c.Output.Wants(render.Column{Title: col.Title}) {
			return false
		}
		return !slices.ContainsFunc(all, func(o Object) bool { return col.cell(o) != nil && (col.Attr == "" || o.Get(col.Attr) != nil) })
	})
}

func collect(objects iter.Seq2[Object, error]) ([]Object, error) {
	var all []Object
	for o, err := range objects {
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// Each is a list that is there already, for [PrintList].
func Each(all []Object) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Pick returns the columns of the run: those of its voice, those of --long hidden
// without it.
func Pick(c *command.Call, columns []Column) []Column {
	long := c.Declares("long") && c.Is("long")
	out := make([]Column, 0, len(columns))
	for _, col := range columns {
		if col.Own && c.Compat() || col.Compat && !c.Compat() || col.Long && !long {
			continue
		}
		out = append(out, col)
	}
	return out
}

// PrintList prints objects by their columns. Nothing is printed when the first of
// them is an error.
func PrintList(c *command.Call, columns []Column, objects iter.Seq2[Object, error]) error {
	next, stop := iter.Pull2(objects)
	defer stop()
	o, err, more := next()
	if err != nil {
		return err
	}
	heads := make([]render.Column, len(columns))
	looked := make([]bool, len(columns))
	for i, col := range columns {
		heads[i] = render.Column{Title: col.Title, Hidden: col.OptIn}
		looked[i] = c.Output.Wants(heads[i])
	}
	var slab []any
	return c.List(heads, func(yield func([]any, error) bool) {
		for ; more; o, err, more = next() {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(slab) < len(columns) {
				slab = make([]any, 64*len(columns))
			}
			row := slab[:len(columns):len(columns)]
			slab = slab[len(columns):]
			for i := range columns {
				if looked[i] {
					row[i] = columns[i].cell(o)
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	})
}

func (col *Column) cell(o Object) any {
	if col.From != nil {
		return col.From(o)
	}
	v := o.Get(col.Attr)
	if col.Cell != nil {
		return col.Cell(v)
	}
	return v
}

// projection says which attributes the columns of the run look at.
func projection(c *command.Call, columns []Column, also []string, keeps bool) Wanted {
	if keeps && also == nil {
		return nil
	}
	needed := Wanted{}
	for _, attr := range also {
		needed.need(attr)
	}
	for _, col := range columns {
		if !c.Output.Wants(render.Column{Title: col.Title, Hidden: col.OptIn}) {
			continue
		}
		if col.From != nil && col.Needs == nil {
			return nil
		}
		if col.Attr != "" {
			needed.need(col.Attr)
		}
		for _, attr := range col.Needs {
			needed.need(attr)
		}
	}
	return needed
}

// need adds the attribute at a path.
func (w Wanted) need(path string) {
	w[path] = nil // a name may have dots of its own
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return
	}
	inner, had := w[head]
	if had && inner == nil {
		return // all of it is wanted already
	}
	if inner == nil {
		inner = Wanted{}
		w[head] = inner
	}
	inner.need(rest)
}

// Kept are the objects that a filter keeps, up to a limit; 0 is none.
func Kept(objects iter.Seq2[Object, error], limit int, keep func(Object) bool) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		count := 0
		for o, err := range objects {
			if err == nil && !keep(o) {
				continue
			}
			if !yield(o, err) {
				return
			}
			if count++; limit > 0 && count >= limit {
				return
			}
		}
	}
}

func hasLong(columns []Column) bool {
	for _, col := range columns {
		if col.Long {
			return true
		}
	}
	return false
}

// titles are those of the columns of our own voice.
func titles(columns []Column) func(long bool) []string {
	return func(long bool) []string {
		var names []string
		for _, col := range columns {
			if !col.Compat && (long || !col.Long) {
				names = append(names, col.Title)
			}
		}
		return names
	}
}

func optIn(columns []Column) []string {
	var names []string
	for _, col := range columns {
		if col.OptIn {
			names = append(names, col.Title)
		}
	}
	return names
}
