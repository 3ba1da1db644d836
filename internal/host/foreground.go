package host

import (
	"context"
	"io"
	"os"
)

// Terminal is where a command the user talks to reads and writes.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
}

// Foreground runs a command the user talks to, as an editor or a shell, on the
// given terminal, in the process group of the caller, and waits for it.
func Foreground(ctx context.Context, c Cmd, t Terminal) error {
	if err := check(c); err != nil {
		return err
	}
	cmd := command(ctx, c)
	if w, ok := t.Out.(interface{ File() *os.File }); ok {
		t.Out = w.File() // not a pipe that is copied: what outlives the command would keep it waiting
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Out, t.Err
	if err := cmd.Start(); err != nil {
		return startError(c, err)
	}
	return outcome(ctx, c, cmd.Wait(), nil)
}
