package hosttest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// Script is a [host.Runner] that replays a transcript and fails the test on a
// command it does not have, and on a line nobody ran.
//
// The transcript is a txtar archive. `$ argv` is a command to be run, its body
// what it prints; `& argv` is a command to be left running. What follows belongs
// to it: `stderr`, `code` (its exit status), `stdin` (what it must be given).
//
//	-- $ lvs --noheadings -o lv_name 'vg 0' --
//	-- stderr --
//	  Volume group "vg 0" not found
//	-- code --
//	5
//
// Commands come in any order; of the same command several times, the first not
// yet used is replayed. A command left running ends at once when it has a code,
// else with the test.
type Script struct {
	tb    TB
	ended chan struct{}

	mu      sync.Mutex
	entries []*entry
	ran     [][]string
}

var _ host.Runner = (*Script)(nil)

// entry is one command of a transcript.
type entry struct {
	argv           []string
	start, used    bool
	stdout, stderr string
	code           int
	hasCode        bool
	stdin          string
	hasStdin       bool
}

// NewScript reads a transcript. The optional pairs old, new are replaced in it
// first, as by [strings.NewReplacer]: for paths that only the test knows.
func NewScript(tb TB, transcript string, oldnew ...string) *Script {
	tb.Helper()
	s := &Script{tb: tb, ended: make(chan struct{})}
	entries, err := parse(strings.NewReplacer(oldnew...).Replace(transcript))
	if err != nil {
		tb.Fatalf("transcript: %v", err)
	}
	s.entries = entries
	tb.Cleanup(s.close)
	return s
}

// Run implements [host.Runner].
func (s *Script) Run(ctx context.Context, c host.Cmd) (host.Output, error) {
	if err := ctx.Err(); err != nil {
		return host.Output{}, fmt.Errorf("%s: %w", strings.Join(c.Argv, " "), err)
	}
	e := s.take(c, false)
	if c.OnLine != nil {
		eachLine(e.stdout, func(l string) { c.OnLine(false, l) })
		eachLine(e.stderr, func(l string) { c.OnLine(true, l) })
	}
	return host.Output{Stdout: []byte(e.stdout), Stderr: []byte(e.stderr)}, e.err()
}

// Start implements [host.Runner].
func (s *Script) Start(c host.Cmd) (host.Process, error) {
	e := s.take(c, true)
	p := process{pid: 1<<22 + s.count(), ended: s.ended, err: e.err()}
	if e.hasCode {
		p.ended = make(chan struct{})
		close(p.ended)
	}
	return p, nil
}

// Ran returns the commands run so far, in order.
func (s *Script) Ran() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ran)
}

func (s *Script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ran)
}

func (s *Script) take(c host.Cmd, start bool) *entry {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, slices.Clone(c.Argv))
	for _, e := range s.entries {
		if e.used || e.start != start || !slices.Equal(e.argv, c.Argv) {
			continue
		}
		e.used = true
		if e.hasStdin && e.stdin != string(c.Stdin) {
			s.tb.Errorf("%s: given on its input:\n%s\nthe transcript has:\n%s", e, c.Stdin, e.stdin)
		}
		return e
	}
	e := &entry{argv: c.Argv, start: start, code: 127, hasCode: true, stderr: "not in the transcript\n"}
	s.tb.Errorf("command not in the transcript: %s", e)
	return e
}

func (s *Script) close() {
	close(s.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if !e.used {
			s.tb.Errorf("command of the transcript not run: %s", e)
		}
	}
}

// String is the command as the transcript writes it.
func (e *entry) String() string {
	sign := "$"
	if e.start {
		sign = "&"
	}
	return sign + " " + join(e.argv)
}

func (e *entry) err() error {
	if e.code == 0 {
		return nil
	}
	return &host.ExitError{Argv: e.argv, Code: e.code, Stderr: strings.TrimSpace(e.stderr)}
}

// process is a scripted command left running.
type process struct {
	pid   int
	ended chan struct{}
	err   error
}

// Pid implements [host.Process].
func (p process) Pid() int { return p.pid }

// Wait implements [host.Process].
func (p process) Wait() error {
	<-p.ended
	return p.err
}

func parse(transcript string) ([]*entry, error) {
	var entries []*entry
	for _, f := range txtar.Parse([]byte(transcript)).Files {
		body := string(f.Data)
		if line, start, ok := commandLine(f.Name); ok {
			argv, err := split(line)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", f.Name, err)
			}
			entries = append(entries, &entry{argv: argv, start: start, stdout: body})
			continue
		}
		if len(entries) == 0 {
			return nil, fmt.Errorf("%q: comes before any command", f.Name)
		}
		if err := entries[len(entries)-1].set(f.Name, body); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func commandLine(name string) (line string, start, ok bool) {
	if line, ok = strings.CutPrefix(name, "$ "); ok {
		return line, false, true
	}
	line, ok = strings.CutPrefix(name, "& ")
	return line, true, ok
}

func (e *entry) set(part, body string) error {
	switch part {
	case "stderr":
		e.stderr = body
	case "stdin":
		e.stdin, e.hasStdin = body, true
	case "code":
		n, err := strconv.Atoi(strings.TrimSpace(body))
		if err != nil {
			return fmt.Errorf("code of %s: %w", e, err)
		}
		e.code, e.hasCode = n, true
	default:
		return fmt.Errorf("%q after %s: expected $, &, stderr, stdin or code", part, e)
	}
	return nil
}

func eachLine(text string, emit func(string)) {
	for line := range strings.Lines(text) {
		emit(strings.TrimSuffix(line, "\n"))
	}
}
