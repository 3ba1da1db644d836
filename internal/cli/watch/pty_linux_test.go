package watch_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

// pty is a pseudo terminal: the far end is read all the time, as by an emulator.
type pty struct {
	*testing.T

	master, slave *os.File
	chunks        chan string
	log           string
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{T: t, master: master, slave: slave, chunks: make(chan string, 100)}
	p.size(40, 8)
	t.Cleanup(func() { _, _ = slave.Close(), master.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			if err != nil {
				close(p.chunks)
				return
			}
			p.chunks <- string(buffer[:n])
		}
	}()
	return p
}

func (p *pty) size(width, height uint16) {
	if err := unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		p.Fatal(err)
	}
}

func (p *pty) modes() unix.Termios {
	modes, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		p.Fatal(err)
	}
	return *modes
}

// until reads on until the output since the last call contains the text.
func (p *pty) until(text string) {
	p.Helper()
	give := time.NewTimer(time.Minute)
	defer give.Stop()
	for !strings.Contains(p.log, text) {
		select {
		case chunk := <-p.chunks:
			p.log += chunk
		case <-give.C:
			p.Fatalf("no %q in %q", text, p.log)
		}
	}
	p.log = p.log[strings.Index(p.log, text)+len(text):]
}

// Not parallel: signals go to the whole process.
func TestARealTerminalIsPutBack(t *testing.T) { //nolint:paralleltest // see above
	for name, c := range map[string]struct { //nolint:paralleltest // see above
		end  func(p *pty, cancel context.CancelFunc)
		want string
	}{
		"q":       {func(p *pty, _ context.CancelFunc) { p.press("q") }, "<nil>"},
		"Ctrl-C":  {func(p *pty, _ context.CancelFunc) { p.press("\x03") }, watch.ErrInterrupted.Error()},
		"SIGTERM": {func(p *pty, _ context.CancelFunc) { p.kill(syscall.SIGTERM) }, watch.ErrInterrupted.Error()},
		"SIGHUP":  {func(p *pty, _ context.CancelFunc) { p.kill(syscall.SIGHUP) }, watch.ErrInterrupted.Error()},
		"context": {func(_ *pty, cancel context.CancelFunc) { cancel() }, watch.ErrInterrupted.Error()},
		"panic":   {func(p *pty, _ context.CancelFunc) { p.press("r") }, "panic: out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			before := p.modes()
			s := &iostreams.Streams{In: p.slave, Out: p.slave, Err: p.slave, InTTY: true, OutTTY: true, Color: true}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan string, 1)
			n := 0
			source := func(context.Context, watch.Request) (watch.Frame, error) {
				switch n++; n {
				case 1:
					return watch.Frame{}, errBusy
				case 2:
					return watch.Text([]byte("an answer"), 0), nil
				}
				panic("out of range")
			}
			go func() {
				defer func() {
					if r := recover(); r != nil {
						ended <- fmt.Sprint("panic: ", r)
					}
				}()
				ended <- fmt.Sprint(watch.Run(ctx, s, watch.Options{Title: "ls", Interval: time.Hour}, source))
			}()
			p.until("\x1b[?1049h")
			p.until("no answer yet")
			p.press("r")
			p.until("an answer")
			if raw := p.modes(); raw.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
				t.Errorf("keys do not come one by one: %x", raw.Lflag)
			}

			c.end(p, cancel)

			p.until("\x1b[?25h\x1b[?1049l")
			if got := <-ended; !strings.HasPrefix(got, c.want) {
				t.Errorf("it ended with %s", got)
			}
			if after := p.modes(); after != before {
				t.Errorf("modes %+v became %+v", before, after)
			}
			p.press("x\n") // the reader of keys ends with the first one after the watch
		})
	}
}

func (p *pty) press(keys string) {
	if _, err := p.master.WriteString(keys); err != nil {
		p.Fatal(err)
	}
}

func (p *pty) kill(sig syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		p.Fatal(err)
	}
}

func TestARealTerminalIsMeasuredAgainWhenItChanges(t *testing.T) { //nolint:paralleltest // signals go to the whole process
	p := newPTY(t)
	s := &iostreams.Streams{In: p.slave, Out: p.slave, InTTY: true, OutTTY: true}
	source := func(context.Context, watch.Request) (watch.Frame, error) {
		return watch.Text([]byte(strings.Repeat("x", 50)), 0), nil
	}
	ended := make(chan error, 1)
	go func() { ended <- watch.Run(t.Context(), s, watch.Options{Title: "ls", Interval: time.Hour}, source) }()
	p.until("\x1b[2;1H" + strings.Repeat("x", 40) + "\x1b[3;1Hxxxxxxxxxx\x1b[K")

	p.size(100, 8)
	p.kill(syscall.SIGWINCH)

	p.until("\x1b[2;1H" + strings.Repeat("x", 50) + "\x1b[K")
	p.press("q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.press("x\n")
}
