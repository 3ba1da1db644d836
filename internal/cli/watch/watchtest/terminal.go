package watchtest

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Terminal is a screen with a keyboard. It implements watch.Terminal. Make it
// inside the synctest bubble that uses it.
type Terminal struct {
	*Screen

	RawErr error // what Raw fails with

	in      *io.PipeReader
	keys    *io.PipeWriter
	signals chan os.Signal
	raw     bool
	stopped int
}

// New returns a terminal of the size.
func New(width, height int) *Terminal {
	t := &Terminal{Screen: NewScreen(width, height), signals: make(chan os.Signal, 8)}
	t.in, t.keys = io.Pipe()
	return t
}

// Streams are the streams of a program that runs in the terminal, in colour.
func (t *Terminal) Streams() *iostreams.Streams {
	s, _, _, _ := iostreams.Test()
	s.In, s.Out = t.in, t
	s.InTTY, s.OutTTY, s.ErrTTY = true, true, true
	s.Width, s.Color = t.width, true
	return s
}

// Press types.
func (t *Terminal) Press(keys string) {
	if _, err := io.WriteString(t.keys, keys); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		panic(err)
	}
}

// Close ends the input, so that nobody reads it any more.
func (t *Terminal) Close() { _ = t.keys.Close() }

// Signal sends a signal to the program.
func (t *Terminal) Signal(s os.Signal) { t.signals <- s }

// Resize changes the size and tells the program.
func (t *Terminal) Resize(width, height int) {
	t.mu.Lock()
	t.resize(width, height)
	t.mu.Unlock()
	t.signals <- syscall.SIGWINCH
}

// Size implements watch.Terminal.
func (t *Terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width, t.height
}

// Raw implements watch.Terminal.
func (t *Terminal) Raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.RawErr == nil {
		t.raw = true
	}
	return t.RawErr
}

// Restore implements watch.Terminal.
func (t *Terminal) Restore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = false
	return nil
}

// IsRaw tells whether keys come one by one.
func (t *Terminal) IsRaw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw
}

// Signals implements watch.Terminal.
func (t *Terminal) Signals() (signals <-chan os.Signal, stop func()) {
	return t.signals, func() {}
}

// Suspend implements watch.Terminal: it notes whether the terminal was put back.
func (t *Terminal) Suspend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw || t.alternate || t.hidden || t.noWrap {
		t.fault("suspended with the terminal taken")
	}
	t.stopped++
}

// Suspended is how often the program was stopped.
func (t *Terminal) Suspended() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}
