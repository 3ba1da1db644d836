package host

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	maxOutput = 1 << 20  // kept of each stream, unless the command says otherwise
	maxLine   = 64 << 10 // a longer line is delivered in pieces
	maxTail   = 1 << 10  // kept of stderr in an error
)

// pipe reads one stream of a command.
type pipe struct {
	r, w   *os.File
	kept   tail
	lines  lineSplitter
	reader sync.WaitGroup
}

func newPipe(c Cmd, stderr bool, mu *sync.Mutex) (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{r: r, w: w, kept: tail{most: cmp.Or(c.Keep, maxOutput)}}
	if c.OnLine != nil {
		p.lines.emit = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			c.OnLine(stderr, line)
		}
	}
	return p, nil
}

// started reads in the background; the command has the writing end now.
func (p *pipe) started() {
	_ = p.w.Close()
	p.reader.Go(p.read)
}

// ended returns once everything the command wrote was read.
func (p *pipe) ended() {
	_ = p.r.SetReadDeadline(time.Now().Add(drainGrace))
	p.reader.Wait()
	p.lines.flush()
}

func (p *pipe) close() {
	_ = p.w.Close()
	_ = p.r.Close()
}

func (p *pipe) output() []byte { return p.kept.bytes() }

func (p *pipe) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.r.Read(buf)
		p.take(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.drain(buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// drain takes what the pipe holds, without waiting: what the command itself
// wrote is all there, and a process it left behind cannot make this endless.
func (p *pipe) drain(buf []byte) {
	_ = p.r.SetReadDeadline(time.Time{})
	conn, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	for left := maxOutput; left > 0; {
		n := 0
		_ = conn.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		p.take(buf[:n])
		left -= n
	}
}

func (p *pipe) take(b []byte) {
	_, _ = p.kept.Write(b)
	p.lines.write(b)
}

// tail keeps the last bytes written to it.
type tail struct {
	buf  []byte
	most int
}

var _ io.Writer = (*tail)(nil)

// Write implements [io.Writer].
func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*t.most {
		t.buf = append(t.buf[:0], t.bytes()...)
	}
	return len(b), nil
}

func (t *tail) bytes() []byte { return t.buf[max(0, len(t.buf)-t.most):] }

// lineSplitter cuts a stream into lines, without their ends.
type lineSplitter struct {
	emit    func(string) // nil: nobody listens
	pending []byte
}

func (s *lineSplitter) write(b []byte) {
	if s.emit == nil {
		return
	}
	for len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte{'\n'})
		if room := maxLine - len(s.pending); len(line) > room {
			line, rest, ended = b[:room], b[room:], true
		}
		s.pending = append(s.pending, line...)
		b = rest
		if ended {
			s.emit(string(bytes.TrimSuffix(s.pending, []byte{'\r'})))
			s.pending = s.pending[:0]
		}
	}
}

func (s *lineSplitter) flush() {
	if len(s.pending) > 0 {
		s.emit(string(s.pending))
		s.pending = nil
	}
}

// lastLines is the end of stderr that fits in an error message.
func lastLines(stderr []byte) string {
	stderr = bytes.TrimSpace(stderr)
	if len(stderr) <= maxTail {
		return string(stderr)
	}
	end := stderr[len(stderr)-maxTail:]
	if i := bytes.IndexByte(end, '\n'); i >= 0 {
		end = end[i+1:]
	}
	return string(end)
}
