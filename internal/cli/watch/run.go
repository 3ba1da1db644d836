package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Run shows what the source returns until the user, an option or a fatal error
// ends it. When no refresh succeeded by the end of [Options.Count], it returns the
// error of the last one.
func Run(ctx context.Context, s *iostreams.Streams, o Options, source Source) (err error) {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	l := &loop{
		o: o, streams: s, source: source,
		interval: o.Interval, effective: o.Interval, diff: o.Diff && s.Color,
		results: make(chan result, 1), next: time.NewTimer(0), tick: time.NewTimer(time.Hour),
	}
	defer l.next.Stop()
	l.tick.Stop()
	defer l.tick.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of a refresh that nobody waits for any more
	if !s.OutTTY || o.Plain {
		return l.run(ctx)
	}

	l.terminal = o.Terminal
	if l.terminal == nil {
		l.terminal = newSystem(s)
	}
	signals, stop := l.terminal.Signals()
	defer stop()
	l.signals = signals
	// Deferred before the terminal is touched, so that nothing gets by.
	defer func() {
		if left := l.leave(); err == nil {
			err = left
		}
	}()
	if err := l.enter(); err != nil {
		return err
	}
	if l.keyboard {
		keys, done := make(chan []byte), make(chan struct{})
		defer close(done)
		go ReadKeys(s.In, keys, done)
		l.keys = keys
	}
	return l.run(ctx)
}

// loop is a watch at work. It belongs to the goroutine of Run; a refresh and the
// keyboard have theirs and only send.
type loop struct {
	o        Options
	streams  *iostreams.Streams
	source   Source
	terminal Terminal // nil when plain
	keyboard bool
	keys     <-chan []byte
	signals  <-chan os.Signal
	decoder  decoder
	results  chan result
	next     *time.Timer // to refresh
	tick     *time.Timer // to paint what only the clock changes

	interval  time.Duration // asked for
	effective time.Duration // after widening
	paused    bool
	diff      bool
	help      bool
	scroll    scroll

	running   bool
	startedAt time.Time
	cancel    context.CancelFunc // of the refresh at work
	again     bool               // r was pressed meanwhile
	toggle    bool               // d was pressed meanwhile, an odd number of times

	refreshes int
	shown     bool // there is a frame
	frame     Frame
	rows      []drawn
	gotAt     time.Time
	took      time.Duration // of the last refresh, failed or not
	failures  int           // since the last frame
	last      error

	canvas canvas
}

// result is how a refresh ended.
type result struct {
	frame Frame
	err   error
	panic any
}

func (l *loop) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ended(ctx)
		case r := <-l.results:
			if ctx.Err() != nil {
				return ended(ctx)
			}
			if done, err := l.finish(r); done {
				return err
			}
		case <-l.next.C:
			l.start(ctx)
		case <-l.tick.C:
		case bytes, open := <-l.keys:
			if !open {
				l.keys, l.keyboard = nil, false
			}
			for _, k := range l.decoder.feed(bytes) {
				if done, err := l.press(ctx, k); done {
					return err
				}
			}
		case sig := <-l.signals:
			if done, err := l.signal(sig); done {
				return err
			}
		}
		if err := l.paint(); err != nil {
			return err
		}
	}
}

func ended(ctx context.Context) error {
	if ctx.Err() == context.Canceled {
		return ErrInterrupted
	}
	return ctx.Err()
}

// start begins a refresh.
func (l *loop) start(ctx context.Context) {
	if l.running {
		return
	}
	l.running, l.startedAt = true, time.Now()
	request := Request{First: !l.shown, Plain: l.terminal == nil}
	if l.terminal != nil {
		request.Size = l.size()
	}
	ctx, l.cancel = context.WithCancel(ctx)
	go func() {
		r := result{panic: "the source ended its goroutine"}
		defer func() {
			if p := recover(); p != nil {
				r.panic = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
			l.results <- r
		}()
		r.frame, r.err = l.source(ctx, request)
		r.panic = nil
	}()
}

// finish takes in the end of a refresh. It tells whether the watch is over.
func (l *loop) finish(r result) (done bool, err error) {
	if r.panic != nil {
		panic(r.panic) // here, where the terminal is put back
	}
	l.cancel()
	l.running = false
	l.refreshes++
	now := time.Now()
	l.took = now.Sub(l.startedAt)
	l.widen()
	if r.err == nil {
		done, err = l.accept(r.frame, now)
	} else {
		done, err = l.fail(r.err)
	}
	if done {
		return true, err
	}
	if l.o.Count > 0 && l.refreshes >= l.o.Count {
		if !l.shown {
			return true, r.err
		}
		return true, nil
	}
	if l.toggle {
		l.toggle = false
		l.toggleDiff()
	}
	l.schedule()
	return false, nil
}

// accept takes a frame.
func (l *loop) accept(frame Frame, now time.Time) (done bool, err error) {
	over := l.o.UntilChange && l.shown && differs(l.frame, frame)
	if l.shown {
		l.rows = compare(l.frame.Rows, frame.Rows)
	} else {
		l.rows = unmarked(frame.Rows)
	}
	l.frame, l.gotAt, l.shown = frame, now, true
	l.failures, l.last = 0, nil
	l.canvas.table = nil
	if l.terminal == nil {
		_, err := l.streams.Out.Write(frame.Raw)
		return over || err != nil, err
	}
	return over, nil
}

// fail takes an error.
func (l *loop) fail(err error) (done bool, _ error) {
	severity := Passing
	if l.o.Severity != nil {
		severity = l.o.Severity(err)
	}
	if l.o.ExitOnError || severity == Rejected || (severity == Settled && !l.shown) {
		return true, err
	}
	l.failures++
	l.last = err
	if l.terminal == nil {
		l.note("%s (%s, next try within %s)", clean(err.Error()), plural(l.failures, "error"), span(l.effective))
	}
	return false, nil
}

// widen keeps refreshes from taking more than half of the time.
func (l *loop) widen() {
	const grain = 100 * time.Millisecond
	was := l.effective
	l.effective = l.interval
	if needed := 2 * l.took; needed > l.interval {
		l.effective = (needed + grain - 1).Truncate(grain)
	}
	if l.terminal == nil && was == l.interval && l.effective != l.interval {
		l.note("a refresh took %s: the next ones come every %s, not every %s", rough(l.took), span(l.effective), span(l.interval))
	}
}

// schedule sets the time of the next refresh, counted from the begin of the last.
func (l *loop) schedule() {
	switch {
	case l.running:
	case l.again:
		l.again = false
		l.next.Reset(0)
	case l.paused:
		l.next.Stop()
	default:
		l.next.Reset(time.Until(l.startedAt.Add(l.effective)))
	}
}

// press does what a key asks. It tells whether the watch is over.
func (l *loop) press(ctx context.Context, k key) (done bool, err error) {
	switch k {
	case keyNone, keyRepaint:
	case keyQuit:
		return true, nil
	case keyInterrupt:
		return true, ErrInterrupted
	case keySuspend:
		return l.suspend()
	case keyRefresh:
		l.again = l.running
		l.start(ctx)
	case keyPause:
		l.paused = !l.paused
		l.schedule()
	case keySlower, keyFaster:
		if k == keySlower {
			l.interval = slower(l.interval)
		} else {
			l.interval = faster(l.interval)
		}
		l.widen()
		l.schedule()
	case keyDiff:
		if l.running {
			l.toggle = !l.toggle
		} else {
			l.toggleDiff()
		}
	case keyHelp:
		l.help = !l.help
	case keyDown, keyUp, keyPageDown, keyPageUp, keyTop, keyBottom:
		l.help = false
		l.scroll.move(k, l.canvas.view)
	}
	return false, nil
}

// toggleDiff turns highlighting on and off, where there are colours to do it with.
func (l *loop) toggleDiff() {
	l.diff = !l.diff && l.streams.Color
	l.canvas.table = nil
}

func (l *loop) signal(sig os.Signal) (done bool, err error) {
	switch sig {
	case syscall.SIGWINCH:
		return false, nil // every frame asks for the size
	case syscall.SIGCONT:
		err := l.enter()
		return err != nil, err
	default:
		return true, ErrInterrupted
	}
}

func (l *loop) suspend() (failed bool, err error) {
	if err := l.leave(); err != nil {
		return true, err
	}
	l.terminal.Suspend()
	err = l.enter()
	return err != nil, err
}

// Sequences that take the screen and give it back. Lines do not wrap by
// themselves: should a terminal think a character wider, nothing scrolls.
const (
	takeScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
	giveScreen = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// enter takes the screen, and the keyboard if there is one.
func (l *loop) enter() error {
	if l.streams.InTTY {
		if err := l.terminal.Raw(); err != nil {
			return fmt.Errorf("read keys of the terminal: %w", err)
		}
		l.keyboard = true
	}
	l.canvas.taken = true
	_, err := io.WriteString(l.streams.Out, takeScreen)
	return err
}

// leave puts the terminal back. What was taken is given back, whatever fails.
func (l *loop) leave() error {
	var err error
	if l.canvas.taken {
		_, err = io.WriteString(l.streams.Out, giveScreen)
		l.canvas.taken = false
	}
	if restored := l.terminal.Restore(); err == nil && restored != nil {
		err = fmt.Errorf("restore the terminal: %w", restored)
	}
	return err
}

// ReadKeys sends what is typed. It ends with the input, or at the first key after
// done: a read cannot be broken off.
func ReadKeys(in io.Reader, keys chan<- []byte, done <-chan struct{}) {
	defer close(keys)
	for {
		buffer := make([]byte, 256)
		n, err := in.Read(buffer)
		if n > 0 {
			select {
			case keys <- buffer[:n]:
			case <-done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// note tells the error stream what a status line would, when there is none.
func (l *loop) note(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if l.o.Program != "" {
		text = l.o.Program + ": " + text
	}
	_, _ = fmt.Fprintln(l.streams.Err, text)
}
