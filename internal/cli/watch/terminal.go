package watch

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Terminal is what a watch needs of a terminal, beside the streams.
type Terminal interface {
	// Size is asked for every frame.
	Size() (width, height int)
	// Raw makes keys come one by one, unseen; Restore undoes it.
	Raw() error
	Restore() error
	// Signals delivers those of the process: a change of the size, a return from
	// suspension, or anything else, which ends the watch.
	Signals() (signals <-chan os.Signal, stop func())
	// Suspend stops the process until it is continued.
	Suspend()
}

// system is the terminal behind the standard streams.
type system struct {
	in, out *os.File // nil when it is none
	width   int      // when nobody else knows
	before  *term.State
}

// System is the terminal behind the standard streams.
func System(s *iostreams.Streams) Terminal { return newSystem(s) }

func newSystem(s *iostreams.Streams) *system {
	t := &system{width: s.Width}
	if f, ok := s.In.(*os.File); ok && s.InTTY {
		t.in = f
	}
	if f, ok := s.Out.(*os.File); ok {
		t.out = f
	}
	return t
}

// Size implements Terminal. COLUMNS counts for nothing here: it may be older than
// the window.
func (t *system) Size() (width, height int) {
	if t.out != nil {
		if w, h, err := term.GetSize(int(t.out.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	if t.width > 0 {
		return t.width, 24
	}
	return 80, 24
}

// Raw implements Terminal.
func (t *system) Raw() error {
	if t.in == nil {
		return errors.New("standard input is no terminal")
	}
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return err
	}
	if t.before == nil {
		t.before = before
	}
	return nil
}

// Restore implements Terminal.
func (t *system) Restore() error {
	if t.in == nil || t.before == nil {
		return nil
	}
	return term.Restore(int(t.in.Fd()), t.before)
}

// Signals implements Terminal. Where the screen is no file, there is no terminal
// that they could come from.
func (t *system) Signals() (signals <-chan os.Signal, stop func()) {
	if t.out == nil {
		return nil, func() {}
	}
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGWINCH, syscall.SIGCONT,
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	return ch, func() { signal.Stop(ch) }
}

// Suspend implements Terminal. The signal is never one of [signal.Notify]: it
// would not stop the process any more. A process that no shell looks after is not
// stopped by it anyway, and must not wait for the one that continues it.
func (t *system) Suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return
	}
	wait := time.NewTimer(250 * time.Millisecond)
	defer wait.Stop()
	select {
	case <-continued:
	case <-wait.C:
	}
}
