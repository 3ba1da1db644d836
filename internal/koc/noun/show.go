package noun

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Fields says what is shown of one thing.
type Fields struct {
	// Columns are the known attributes, in their order. Title and Attr may be one
	// and the same: then give Title alone.
	Columns []Column
	// Rest also shows the attributes that no column names, except Hide.
	// Upstream's "show everything the service sends".
	Rest bool
	// OwnRest is Rest in koc's own voice alone.
	OwnRest bool
	Hide    []string
	// Sort orders the fields by name, as upstream does for most things.
	Sort bool
	// Absent leaves out the columns whose attribute the service did not send.
	Absent bool
}

// Fields returns the fields of an object.
func (f Fields) Fields(c *command.Call, o Object) []render.Field {
	var out []render.Field
	used := map[string]bool{}
	for _, name := range f.Hide {
		used[name] = true
	}
	for i := range f.Columns {
		col := f.Columns[i]
		if col.Attr == "" {
			col.Attr = col.Title
		}
		used[col.Attr] = true
		for _, attr := range col.Needs {
			used[attr] = true
		}
		if col.Own && c.Compat() || col.Compat && !c.Compat() {
			continue
		}
		if f.Absent && col.From == nil {
			if _, ok := o.Lookup(col.Attr); !ok {
				continue
			}
		}
		v := col.cell(o)
		if col.IfSet && (v == nil || col.From == nil && o.Get(col.Attr) == nil) {
			continue
		}
		out = append(out, render.Field{Name: col.Title, Value: v})
	}
	if f.Rest || f.OwnRest && !c.Compat() {
		for _, attr := range o {
			if !used[attr.Name] {
				out = append(out, attr)
			}
		}
	}
	if f.Sort {
		slices.SortStableFunc(out, func(a, b render.Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// Showing is the declaration of a show command.
type Showing struct {
	Short     string
	Long      string
	Arg       command.Arg // the reference; its name is the key
	Args      []command.Arg
	Flags     []command.Flag
	Exclusive []string
	Fields    Fields
	// Query narrows the search by name.
	Query func(ctx context.Context, c *command.Call, q url.Values) error
	// Path gives the path of the collection, when it depends on the arguments.
	Path func(ctx context.Context, c *command.Call) (string, error)
	// Full fetches the thing by its id after it was found by its name, for services
	// whose lists tell less.
	Full bool
	// Also changes or completes the object before it is shown.
	Also func(ctx context.Context, c *command.Call, o Object) (Object, error)
}

// Show builds a show command.
func (n Noun) Show(s Showing) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: s.Short, Long: s.Long, Args: append(append([]command.Arg{}, s.Args...), s.Arg),
			Flags: s.Flags, Exclusive: s.Exclusive, Output: command.Shown,
			Run: func(ctx context.Context, c *command.Call) error {
				n := n
				if s.Path != nil {
					path, err := s.Path(ctx, c)
					if err != nil {
						return err
					}
					n = n.At(path)
				}
				q := url.Values{}
				if s.Query != nil {
					if err := s.Query(ctx, c, q); err != nil {
						return err
					}
				}
				ref := c.Text(s.Arg.Name)
				o, err := n.Find(ctx, c, ref, q)
				if err != nil {
					return err
				}
				if id := o.Text(n.id()); s.Full && id != ref {
					if o, err = n.Get(ctx, c, id); err != nil {
						return err
					}
				}
				if s.Also != nil {
					if o, err = s.Also(ctx, c, o); err != nil {
						return err
					}
				}
				return c.Show(s.Fields.Fields(c, o))
			},
		}
	}
}

// Ref is the ordinary reference argument of a noun.
func (n Noun) Ref(name, verb string) command.Arg {
	return command.Arg{Name: name, Help: "The " + n.Name + " to " + verb + ", by name or id", Complete: n.Name}
}

// Field is an attribute that a flag writes.
type Field struct {
	Flag command.Flag
	// Attr is the path of the attribute in the body: "auth.user". "" is the name of
	// the flag with underscores; "-" is written by Body of the declaration.
	Attr string
	// Const is what a flag without a value writes; nil is true, [Null] is null.
	Const any
	// To makes the value from the flag; nil takes its text, or its number.
	To func(ctx context.Context, c *command.Call, flag string) (any, error)
}

// Writing is the declaration of a create or set command.
type Writing struct {
	Short     string
	Long      string
	Args      []command.Arg
	Fields    []Field
	Flags     []command.Flag // others, for Body
	Exclusive []string
	// NameArg is the argument that names a new thing, "" when there is none.
	NameArg string
	// RefArg is the argument that tells what to change.
	RefArg string
	// Query narrows the search by name.
	Query func(ctx context.Context, c *command.Call, q url.Values) error
	Path  func(ctx context.Context, c *command.Call) (string, error)
	// Body completes the body of the request. For a set, o is what is changed.
	Body func(ctx context.Context, c *command.Call, body *Object, o Object) error
	// Fields of the created thing that are shown.
	Shown Fields
	// Then runs after the write: tags, waiting. It returns what is shown.
	Then func(ctx context.Context, c *command.Call, o Object) (Object, error)
	// Fetch makes a set find the whole object rather than its id alone; it always
	// does find it. Always sends a set even when nothing was given.
	Always bool
}

func (w Writing) flags() []command.Flag {
	out := make([]command.Flag, 0, len(w.Fields)+len(w.Flags))
	for _, f := range w.Fields {
		out = append(out, f.Flag)
	}
	return append(out, w.Flags...)
}

// Fill writes the fields whose flags were given, or have a default, into a body.
func Fill(ctx context.Context, c *command.Call, body *Object, fields []Field) error {
	for _, f := range fields {
		v, given, err := f.value(ctx, c)
		if err != nil {
			return err
		}
		if !given {
			continue
		}
		attr := f.Attr
		if attr == "" {
			attr = underscores(f.Flag.Name)
		}
		body.Put(attr, v)
	}
	return nil
}

// value is what the flag of the field says, if it was given or has a default.
func (f *Field) value(ctx context.Context, c *command.Call) (v any, given bool, err error) {
	name := f.Flag.Name
	if f.Attr == "-" || !c.Given(name) && f.Flag.Default == "" {
		return nil, false, nil
	}
	switch {
	case f.To != nil:
		v, err = f.To(ctx, c, name)
	case f.Flag.Value == "":
		if !c.Is(name) { // --flag=false
			return nil, false, nil
		}
		if v = f.Const; v == nil {
			v = true
		}
	case f.Flag.Type == command.Int, f.Flag.Type == command.Natural:
		v = c.Int(name)
	case f.Flag.Type == command.Float:
		v = c.Float(name)
	case f.Flag.Type == command.KeyValue:
		v = dict(c.Pairs(name))
	case f.Flag.Repeat, f.Flag.Type == command.Commas:
		v = texts(c.Texts(name))
	default:
		v = c.Text(name)
	}
	return v, err == nil, err
}

// Put sets the value at a path, making the objects on the way.
func (o *Object) Put(path string, v any) {
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		o.Set(path, v)
		return
	}
	inner := o.Object(head)
	inner.Put(rest, v)
	o.Set(head, render.Ordered(inner))
}

func underscores(name string) string { return strings.ReplaceAll(name, "-", "_") }

func dict(pairs []command.Pair) render.Ordered {
	out := make(render.Ordered, len(pairs))
	for i, p := range pairs {
		out[i] = render.Field{Name: p.Key, Value: p.Value}
	}
	return out
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// Wrap puts a body into the envelope of the noun.
func (n Noun) Wrap(body Object) Object {
	if n.Key == "-" {
		return body
	}
	return Object{{Name: n.Key, Value: render.Ordered(body)}}
}

// Create builds a create command.
func (n Noun) Create(w Writing) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: w.Short, Long: w.Long, Args: w.Args, Flags: w.flags(), Exclusive: w.Exclusive, Output: command.Created,
			Run: func(ctx context.Context, c *command.Call) error {
				n, err := w.at(ctx, c, n)
				if err != nil {
					return err
				}
				var body Object
				if w.NameArg != "" && c.Given(w.NameArg) {
					body.Set(n.label(), c.Text(w.NameArg))
				}
				if err := Fill(ctx, c, &body, w.Fields); err != nil {
					return err
				}
				if w.Body != nil {
					if err := w.Body(ctx, c, &body, nil); err != nil {
						return err
					}
				}
				o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
				if err != nil {
					return err
				}
				if w.Then != nil {
					if o, err = w.Then(ctx, c, o); err != nil {
						return err
					}
				}
				return c.Show(w.Shown.Fields(c, o))
			},
		}
	}
}

// Set builds a set command: silent when it succeeds.
func (n Noun) Set(w Writing) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: w.Short, Long: w.Long, Args: w.Args, Flags: w.flags(), Exclusive: w.Exclusive,
			Run: func(ctx context.Context, c *command.Call) error {
				n, err := w.at(ctx, c, n)
				if err != nil {
					return err
				}
				q := url.Values{}
				if w.Query != nil {
					if err := w.Query(ctx, c, q); err != nil {
						return err
					}
				}
				o, err := n.Find(ctx, c, c.Text(w.RefArg), q)
				if err != nil {
					return err
				}
				var body Object
				if err := Fill(ctx, c, &body, w.Fields); err != nil {
					return err
				}
				if w.Body != nil {
					if err := w.Body(ctx, c, &body, o); err != nil {
						return err
					}
				}
				if len(body) > 0 || w.Always {
					if err := n.Update(ctx, c, o.Text(n.id()), body); err != nil {
						return err
					}
				}
				if w.Then != nil {
					_, err = w.Then(ctx, c, o)
				}
				return err
			},
		}
	}
}

// Update sends the changed attributes of one thing.
func (n Noun) Update(ctx context.Context, c *command.Call, id string, body Object) error {
	method := "PUT"
	if n.Patch {
		method = "PATCH"
	}
	return n.Do(ctx, c, cloud.Request{Method: method, Path: n.Path + "/" + url.PathEscape(id), Body: n.Wrap(body)})
}

func (w Writing) at(ctx context.Context, c *command.Call, n Noun) (Noun, error) {
	if w.Path == nil {
		return n, nil
	}
	path, err := w.Path(ctx, c)
	return n.At(path), err
}

// Deleting is the declaration of a delete command.
type Deleting struct {
	Short     string
	Long      string
	Args      []command.Arg // before the references
	Arg       command.Arg   // the references; Many
	Flags     []command.Flag
	Exclusive []string
	Query     func(ctx context.Context, c *command.Call, q url.Values) error
	Path      func(ctx context.Context, c *command.Call) (string, error)
	// Request changes the request that deletes.
	Request func(ctx context.Context, c *command.Call, o Object, r *cloud.Request) error
	// Gone waits until the thing is gone, or nil.
	Then func(ctx context.Context, c *command.Call, o Object) error
}

// Delete builds a delete command: each reference is attempted, all failures are reported.
func (n Noun) Delete(d Deleting) func() command.Command {
	return func() command.Command {
		return command.Command{
			Short: d.Short, Long: d.Long, Args: append(append([]command.Arg{}, d.Args...), d.Arg), Flags: d.Flags, Exclusive: d.Exclusive,
			Run: func(ctx context.Context, c *command.Call) error {
				n := n
				if d.Path != nil {
					path, err := d.Path(ctx, c)
					if err != nil {
						return err
					}
					n = n.At(path)
				}
				q := url.Values{}
				if d.Query != nil {
					if err := d.Query(ctx, c, q); err != nil {
						return err
					}
				}
				return command.Each(ctx, c, n.Name, "delete", c.Texts(d.Arg.Name), func(ctx context.Context, ref string) error {
					o, err := n.Find(ctx, c, ref, q)
					if err != nil {
						return err
					}
					r := cloud.Request{Method: "DELETE", Path: n.Path + "/" + url.PathEscape(o.Text(n.id()))}
					if d.Request != nil {
						if err := d.Request(ctx, c, o, &r); err != nil {
							return err
						}
					}
					if err := n.Do(ctx, c, r); err != nil {
						return err
					}
					if d.Then != nil {
						return d.Then(ctx, c, o)
					}
					return nil
				})
			},
		}
	}
}
