package verb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Call is one execution of a command.
type Call struct {
	Streams  *iostreams.Streams
	Env      func(string) string
	Backend  Backend
	Line     string      // the command as typed, selector first: "om hello start"
	Verb     string      // the words of the verb: "instance start"
	Kind     object.Kind // of the subsystem: "" for all and for the others
	Selector string      // as typed, "" when there is none
	Args     []string    // positional arguments
	Format   string      // of the output, "" when not asked for
	Quiet    bool        // no log on the console
	Debug    bool        // the whole log on the console
}

// Objects returns the objects a command acts on. It refuses to act without a
// selector, so that a forgotten word is never "everything", and says when a
// selector designates nothing, which is no failure.
func (c *Call) Objects(ctx context.Context) ([]object.Path, error) {
	if c.Selector == "" {
		return nil, app.Usage("say which objects: %s", c.selectorHint())
	}
	return c.Described(ctx)
}

// Described returns the objects a command describes: as [Call.Listed], and says
// when there is none.
func (c *Call) Described(ctx context.Context) ([]object.Path, error) {
	typed := c.Selector
	paths, err := c.Listed(ctx)
	if err != nil || len(paths) > 0 {
		return paths, err
	}
	switch typed {
	case "":
		c.Say("there is no object")
	case "-":
		c.Say("the standard input names no object that exists")
	default:
		c.Say("no object matches %s", typed)
	}
	return nil, nil
}

// Listed returns the objects a command looks at: those selected, or every
// object of the kind of the subsystem.
func (c *Call) Listed(ctx context.Context) ([]object.Path, error) {
	selector, err := c.ListedSelector()
	if err != nil || selector == "" {
		return nil, err
	}
	return c.Backend.Select(ctx, selector)
}

// ListedSelector is the selector of [Call.Listed]; empty when a list read from
// the standard input names nothing.
func (c *Call) ListedSelector() (string, error) {
	switch {
	case c.Selector != "":
		return c.Selection()
	case c.Kind != "":
		return "*/" + string(c.Kind) + "/*", nil
	default:
		return "**", nil
	}
}

// Selection returns the selector as typed, the standard input read for "-".
func (c *Call) Selection() (string, error) {
	if c.Selector != "-" {
		return c.Selector, nil
	}
	names, err := object.ReadList(c.Streams.In)
	if err != nil {
		return "", fmt.Errorf("read the selection on the standard input: %w", err)
	}
	c.Selector = strings.Join(names, ",")
	return c.Selector, nil
}

func (c *Call) selectorHint() string {
	if c.Kind != "" {
		return fmt.Sprintf("-s <selector>, or -s '*/%s/*' for every one", c.Kind)
	}
	return "-s <selector>, or -s '**' for every one"
}

// atOnce is how many objects a command acts on at the same time.
const atOnce = 32

// Each does something to every object at the same time and joins the errors,
// each with the path of its object when there are several.
func Each(ctx context.Context, paths []object.Path, do func(ctx context.Context, p object.Path) error) error {
	errs := make([]error, len(paths))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, p := range paths {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = do(ctx, p)
			if len(paths) > 1 {
				errs[i] = Of(p, errs[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// Of says which object an error is about, unless it does already; nil stays nil.
func Of(p object.Path, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), p.String()+":") {
		return err
	}
	return fmt.Errorf("%s: %w", p, err)
}

// Write prints rows in the format asked for; def is the format when none was.
// data is what the structured formats show, the rows themselves when nil.
func Write[T any](c *Call, columns []output.Column[T], rows []T, data any) error {
	return output.Write(c.Streams, c.Format, columns, rows, data)
}

// Structured reports whether the output was asked for in a format made for
// programs, which a human rendering must not replace.
func (c *Call) Structured() bool {
	return c.Format != "" && c.Format != "auto" && c.Format != "table"
}

// Say tells the user something beside the result, on the standard error, unless
// the command must be quiet. That nobody reads it is no failure.
func (c *Call) Say(format string, a ...any) {
	if !c.Quiet {
		_, _ = fmt.Fprintf(c.Streams.Err, format+"\n", a...)
	}
}

// Print prints a line of the result.
func (c *Call) Print(text string) error {
	_, err := fmt.Fprintln(c.Streams.Out, text)
	return err
}
