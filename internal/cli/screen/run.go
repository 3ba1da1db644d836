package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/watch"
)

// ErrNoTerminal says that there is no terminal to be interactive on.
var ErrNoTerminal = errors.New("the standard input and output are no terminal")

// Sequences that take the screen and give it back.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	takeScreen = "\x1b[?1049h" + hideCursor + "\x1b[?7l"
	giveScreen = "\x1b[0m\x1b[?7h" + showCursor + "\x1b[?1049l"
)

const (
	// between is the least time between two screens that nobody asked for: keys
	// are answered at once.
	between = 100 * time.Millisecond
	// lone is how long the rest of a sequence may follow an escape.
	lone = 100 * time.Millisecond
)

// Run runs a program until it quits, a signal comes or ctx ends. The last two are
// [watch.ErrInterrupted]. A nil terminal is the one behind the streams.
func Run[M Model[M]](ctx context.Context, s *iostreams.Streams, t watch.Terminal, m M) (err error) {
	if t == nil {
		if !s.InTTY || !s.OutTTY {
			return ErrNoTerminal
		}
		t = watch.System(s)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop[M]{
		ctx: ctx, streams: s, terminal: t, model: m,
		messages: make(chan Msg, 64), running: map[string]context.CancelFunc{},
		repaint: time.NewTimer(0), lone: time.NewTimer(time.Hour),
	}
	l.lone.Stop()
	defer l.lone.Stop()
	defer l.repaint.Stop()
	signals, stop := t.Signals()
	defer stop()
	// Deferred before the terminal is touched, so that nothing gets by.
	defer func() { err = errors.Join(err, l.leave()) }()
	if err := l.enter(); err != nil {
		return err
	}
	keys, done := make(chan []byte), make(chan struct{})
	defer close(done)
	go watch.ReadKeys(s.In, keys, done)
	return l.run(signals, keys)
}

// loop is a program at work. It belongs to the goroutine of Run; commands and the
// keyboard have theirs and only send.
type loop[M Model[M]] struct {
	ctx      context.Context //nolint:containedctx // of the commands, which the program starts
	streams  *iostreams.Streams
	terminal watch.Terminal
	model    M
	messages chan Msg
	running  map[string]context.CancelFunc // commands with a name

	decoder decoder
	canvas  canvas
	size    Size
	taken   bool
	painted time.Time
	due     bool        // the screen is behind
	repaint *time.Timer // to catch up
	lone    *time.Timer // to take an escape for what it is

	over bool
	err  error
}

// failed is the panic of a command.
type failed struct{ text string }

func (l *loop[M]) run(signals <-chan os.Signal, keys <-chan []byte) error {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	l.measure()
	l.do(l.model.Init())
	for !l.over {
		urgent := true
		select {
		case <-l.ctx.Done():
			return watch.ErrInterrupted
		case <-l.repaint.C:
			l.due = true
		case now := <-clock.C:
			l.update(Tick(now))
			urgent = false
		case msg := <-l.messages:
			l.update(msg)
			l.drain()
			urgent = false
		case <-l.lone.C:
			l.press(l.decoder.flush())
		case bytes, open := <-keys:
			if !open {
				return io.ErrUnexpectedEOF // nobody is there any more
			}
			l.press(l.decoder.feed(bytes))
			l.lone.Stop()
			if l.decoder.pending() {
				l.lone.Reset(lone)
			}
		case sig := <-signals:
			if err := l.signal(sig); err != nil {
				return err
			}
		}
		if l.over {
			break
		}
		if err := l.show(urgent); err != nil {
			return err
		}
	}
	return l.err
}

// drain takes in what came meanwhile, so that it is drawn once.
func (l *loop[M]) drain() {
	for range cap(l.messages) {
		select {
		case msg := <-l.messages:
			l.update(msg)
		default:
			return
		}
	}
}

func (l *loop[M]) press(keys []Key) {
	for _, k := range keys {
		if l.over {
			return
		}
		switch k {
		case "ctrl-z":
			l.suspend()
		case "ctrl-l":
			l.canvas.known = false
		default:
			l.update(k)
		}
	}
}

func (l *loop[M]) update(msg Msg) {
	if f, ok := msg.(failed); ok {
		panic(f.text) // here, where the terminal is put back
	}
	if l.over {
		return
	}
	var cmds []Cmd
	l.model, cmds = l.model.Update(msg)
	l.due = true
	l.do(cmds)
}

// do starts commands.
func (l *loop[M]) do(cmds []Cmd) {
	for _, c := range cmds {
		if c.quit {
			l.over, l.err = true, c.err
			return
		}
		if former := l.running[c.Name]; former != nil && c.Name != "" {
			former()
			delete(l.running, c.Name)
		}
		if c.Run == nil {
			continue
		}
		ctx, cancel := context.WithCancel(l.ctx)
		if c.Name != "" {
			l.running[c.Name] = cancel
		}
		go l.execute(ctx, cancel, c)
	}
}

func (l *loop[M]) execute(ctx context.Context, cancel context.CancelFunc, c Cmd) {
	defer cancel()
	send := func(msg Msg) {
		if ctx.Err() != nil {
			return
		}
		select {
		case l.messages <- msg:
		case <-ctx.Done():
		}
	}
	defer func() {
		if p := recover(); p != nil {
			// A command that was cancelled tells its panic too.
			select {
			case l.messages <- failed{fmt.Sprintf("%v\n\n%s", p, debug.Stack())}:
			case <-l.ctx.Done():
			}
		}
	}()
	c.Run(ctx, send)
}

func (l *loop[M]) signal(sig os.Signal) error {
	switch sig {
	case syscall.SIGWINCH:
		l.measure()
		return nil
	case syscall.SIGCONT:
		return l.enter()
	default:
		return watch.ErrInterrupted
	}
}

// measure tells the program the room there is, when it is another.
func (l *loop[M]) measure() {
	w, h := l.terminal.Size()
	if size := (Size{w, h}); size != l.size {
		l.size = size
		l.update(size)
	}
}

func (l *loop[M]) suspend() {
	err := l.leave()
	if err == nil {
		l.terminal.Suspend()
		err = l.enter()
	}
	if err != nil {
		l.over, l.err = true, err
	}
	l.measure()
}

// enter takes the screen and the keyboard.
func (l *loop[M]) enter() error {
	if err := l.terminal.Raw(); err != nil {
		return fmt.Errorf("read keys of the terminal: %w", err)
	}
	l.taken, l.canvas.known, l.due = true, false, true
	_, err := io.WriteString(l.streams.Out, takeScreen)
	return err
}

// leave puts the terminal back. What was taken is given back, whatever fails.
func (l *loop[M]) leave() error {
	var err error
	if l.taken {
		_, err = io.WriteString(l.streams.Out, giveScreen)
		l.taken = false
	}
	if restored := l.terminal.Restore(); restored != nil {
		err = errors.Join(err, fmt.Errorf("restore the terminal: %w", restored))
	}
	return err
}

// show draws the program, now or soon.
func (l *loop[M]) show(urgent bool) error {
	if !l.due {
		return nil
	}
	now := time.Now()
	if wait := between - now.Sub(l.painted); !urgent && wait > 0 {
		l.repaint.Reset(wait)
		return nil
	}
	l.due = false
	text := l.canvas.paint(l.model.View(), l.size, l.streams.Color)
	if text == "" {
		return nil
	}
	_, err := io.WriteString(l.streams.Out, text)
	l.painted = time.Now()
	return err
}
