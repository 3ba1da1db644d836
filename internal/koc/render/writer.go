package render

import "io"

// writer gathers output and hands it on in large pieces. The first error of the
// stream below is kept; what comes after it is dropped.
type writer struct {
	to  io.Writer
	buf []byte
	// begun is whether something was written.
	begun bool
	err   error
}

const flushAt = 32 << 10

// row ends a row. It reports whether more are worth printing.
func (w *writer) row() bool {
	if len(w.buf) >= flushAt {
		_ = w.flush()
	}
	return w.err == nil
}

func (w *writer) flush() error {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.to.Write(w.buf)
		w.begun = true
	}
	w.buf = w.buf[:0]
	return w.err
}

func (w *writer) text(s string) { w.buf = append(w.buf, s...) }

func (w *writer) blanks(n int) { w.fill(' ', n) }

func (w *writer) fill(c byte, n int) {
	for range n {
		w.buf = append(w.buf, c)
	}
}
