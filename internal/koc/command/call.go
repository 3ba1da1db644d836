package command

import (
	"fmt"
	"iter"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Call is one run of a command.
type Call struct {
	*Values // of the command and the global flags

	Name    string // words of the command: "network create"
	Streams *iostreams.Streams
	Env     func(string) string
	Cloud   *cloud.Cloud // authenticates when it is first asked
	Output  render.Options

	quiet bool    // --quiet: writes are not confirmed
	catch *caught // of a watch on a terminal
}

// Compat reports whether the run speaks with the voice of the openstack client.
func (c *Call) Compat() bool { return c.Output.Voice == render.OpenStack }

// List prints rows. See [render.List].
func (c *Call) List(columns []render.Column, rows iter.Seq2[[]any, error]) error {
	if c.catch == nil {
		return render.List(c.Streams, c.Output, columns, rows)
	}
	if c.Output.Format != "" && c.Output.Format != "table" {
		return render.List(c.Streams, c.Output, columns, c.catch.counting(rows))
	}
	grid, err := c.Output.Grid(c.Streams, columns, c.catch.counting(rows))
	c.catch.grid = grid
	return err
}

// Show prints one thing. See [render.Show].
func (c *Call) Show(fields []render.Field) error {
	if c.catch != nil && (c.Output.Format == "" || c.Output.Format == "table") {
		grid, err := c.Output.ShowGrid(fields)
		c.catch.grid = grid
		return err
	}
	return render.Show(c.Streams, c.Output, fields)
}

// Printf prints a line for people on standard output: what upstream prints there.
func (c *Call) Printf(format string, a ...any) {
	_, _ = fmt.Fprintf(c.Streams.Out, format, a...)
}

// Notef prints a note on standard error.
func (c *Call) Notef(format string, a ...any) {
	_, _ = fmt.Fprintf(c.Streams.Err, format, a...)
}

// Donef confirms a write on standard error, when that is a terminal and the
// voice is our own: in a script silence is success.
func (c *Call) Donef(format string, a ...any) {
	if c.Streams.ErrTTY && !c.Compat() && !c.quiet {
		c.Notef(format, a...)
	}
}
