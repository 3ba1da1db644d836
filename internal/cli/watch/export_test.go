package watch

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// What the tests see beyond the interface of the package.
type (
	View    = view
	Scroll  = scroll
	Key     = key
	Decoder = decoder
)

const KeyNone, KeyDown, KeyUp, KeyPageDown, KeyPageUp, KeyTop, KeyBottom = keyNone, keyDown, keyUp, keyPageDown, keyPageUp, keyTop, keyBottom

var (
	Fit    = fit
	Slower = slower
	Faster = faster
)

func (s *Scroll) Top() int           { return s.top }
func (s *Scroll) Move(k Key, v View) { s.move(k, v) }
func (s *Scroll) Clamp(v View)       { s.clamp(v) }
func (v View) Window() int           { return v.window }
func (v View) Total() int            { return v.total }
func (v View) Pinned() bool          { return v.pinned }
func (v View) Status() bool          { return v.status }
func (v View) Marker() bool          { return v.marker }

func (d *Decoder) Feed(b []byte) []Key { return d.feed(b) }
func (d *Decoder) Held() int           { return len(d.sequence) }

// Kinds are the changes of the rows that compare returns.
func Kinds(old, rows []Row) (ids []string, kinds []int) {
	for _, d := range compare(old, rows) {
		ids, kinds = append(ids, d.ID), append(kinds, int(d.change))
	}
	return ids, kinds
}

// Show paints one frame, and its help, on the terminal of the options.
func Show(s *iostreams.Streams, o Options, f Frame) error {
	l := &loop{o: o, streams: s, terminal: o.Terminal, diff: o.Diff, interval: DefaultInterval, effective: DefaultInterval, tick: time.NewTimer(time.Hour)}
	defer l.tick.Stop()
	for range 2 {
		if _, err := l.accept(f, time.Time{}); err != nil {
			return err
		}
		if err := l.paint(); err != nil {
			return err
		}
		if _, err := l.press(context.Background(), keyBottom); err != nil {
			return err
		}
	}
	l.help = true
	return l.paint()
}

// ScrollAt is a place nothing has clamped.
func ScrollAt(top int) Scroll { return scroll{top: top} }
