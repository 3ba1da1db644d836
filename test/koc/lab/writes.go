package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Case is a block of writes.txt: the life of a thing.
type Case struct {
	Service, Name string
	Steps         []Step
}

// Step is a line of it.
type Step struct {
	Line   int
	Verb   string // koc, new, fails, check, gone, let, await, both, clean, sleep
	Argv   []string
	Name   string   // of a let or new
	Want   string   // of an await
	Fields []string // of a check: name=value
}

// String is the step as a person would type it.
func (s Step) String() string { return s.Verb + " " + strings.Join(s.Argv, " ") }

// ParseWrites reads writes.txt.
func ParseWrites(in io.Reader) ([]Case, error) {
	var all []Case
	service := ""
	for lines, n := bufio.NewScanner(in), 1; ; n++ {
		if !lines.Scan() {
			return all, lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[' && line[len(line)-1] == ']':
			service = line[1 : len(line)-1]
			continue
		case strings.HasPrefix(line, "case "):
			all = append(all, Case{Service: service, Name: line[len("case "):]})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("writes.txt:%d: a step before the first case", n)
		}
		s, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("writes.txt:%d: %w", n, err)
		}
		s.Line = n
		c := &all[len(all)-1]
		c.Steps = append(c.Steps, s)
	}
}

func parseStep(line string) (Step, error) {
	parts := strings.Split(line, " | ")
	words, err := Words(parts[0])
	if err != nil {
		return Step{}, err
	}
	s := Step{Verb: words[0], Argv: words[1:], Fields: parts[1:]}
	for i := range s.Fields {
		s.Fields[i] = strings.TrimSpace(s.Fields[i])
	}
	switch {
	case (s.Verb == "let" || s.Verb == "new") && len(words) > 3 && words[2] == "=":
		s.Name, s.Argv = words[1], words[3:]
	case s.Verb == "await" && len(words) > 2:
		s.Want, s.Argv = words[1], words[2:]
	case len(words) < 2 || !slices.Contains([]string{"koc", "fails", "check", "gone", "both", "clean", "sleep"}, s.Verb):
		return Step{}, fmt.Errorf("no such step: %s", line)
	}
	return s, nil
}

// Writes is a run over writes.txt.
type Writes struct {
	Dir    string
	Koc    Runner
	Oracle *Oracle
}

// Runner runs a command line.
type Runner interface {
	Run(ctx context.Context, args ...string) (Run, error)
}

// Load reads writes.txt.
func (w Writes) Load() ([]Case, error) {
	b, err := os.ReadFile(filepath.Join(w.Dir, "writes.txt"))
	if err != nil {
		return nil, err
	}
	return ParseWrites(bytes.NewReader(b))
}

// Run runs a command line with the oracle.
func (o *Oracle) Run(ctx context.Context, args ...string) (Run, error) {
	runs, _, err := o.Ask(ctx, args, Alone, false)
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

// Do takes the steps of a case. What a step left is removed whatever happens.
func (w Writes) Do(ctx context.Context, c Case) error {
	values := map[string]string{"dir": filepath.Join(CloudDir(), "seed")}
	clean := func() error {
		for _, s := range c.Steps {
			if s.Verb == "clean" {
				if _, err := w.Oracle.Run(ctx, Fill(s.Argv, values)...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := clean(); err != nil {
		return err
	}
	for _, s := range c.Steps {
		if err := w.step(ctx, s, values); err != nil {
			return errors.Join(fmt.Errorf("writes.txt:%d: %s: %w", s.Line, s, err), clean())
		}
	}
	return clean()
}

func (w Writes) step(ctx context.Context, s Step, values map[string]string) error {
	argv := Fill(s.Argv, values)
	switch s.Verb {
	case "clean":
		return nil
	case "sleep":
		d, err := time.ParseDuration(argv[0])
		if err != nil {
			return err
		}
		select {
		case <-time.NewTimer(d).C:
		case <-ctx.Done():
		}
		return ctx.Err()
	case "koc", "new", "fails":
		return w.write(ctx, s, argv, values)
	case "await":
		return w.await(ctx, s, argv)
	case "both":
		return w.both(ctx, argv)
	}
	if s.Verb == "check" {
		argv = append(argv, "-f", "json")
	}
	r, err := w.Oracle.Run(ctx, argv...)
	switch {
	case err != nil:
		return err
	case s.Verb == "gone" && r.Code == 0:
		return errors.New("the openstack client still finds it")
	case s.Verb == "gone":
		return nil
	case r.Code != 0:
		return fmt.Errorf("the openstack client: exit code %d: %s", r.Code, firstLine(r.Err))
	case s.Verb == "let":
		values[s.Name] = firstLine(r.Out)
		if values[s.Name] == "" {
			return errors.New("the openstack client prints nothing")
		}
		return nil
	}
	return fields(r.Out, Fill(s.Fields, values))
}

// write runs koc. Fields hold for its output as for that of a check.
func (w Writes) write(ctx context.Context, s Step, argv []string, values map[string]string) error {
	if len(s.Fields) > 0 {
		argv = append(argv, "-f", "json")
	}
	r, err := w.Koc.Run(ctx, argv...)
	switch {
	case err != nil:
		return err
	case s.Verb == "fails" && r.Code == 0:
		return errors.New("koc does not fail")
	case s.Verb == "fails":
		return nil
	case r.Code != 0:
		return fmt.Errorf("exit code %d: %s", r.Code, short(strings.ReplaceAll(strings.TrimSpace(r.Err), "\n", " "), 400))
	case s.Verb == "new":
		values[s.Name] = strings.TrimSpace(r.Out)
		if values[s.Name] == "" {
			return errors.New("koc prints nothing")
		}
	case len(s.Fields) > 0:
		return fields(r.Out, Fill(s.Fields, values))
	}
	return nil
}

func (w Writes) await(ctx context.Context, s Step, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var last Run
	err := retry.Until(ctx, retry.Policy{Interval: 500 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		var err error
		last, err = w.Oracle.Run(ctx, argv...)
		return strings.TrimSpace(last.Out) == s.Want, err
	})
	if err != nil {
		return fmt.Errorf("waited for %s, it is %q %s: %w", s.Want, strings.TrimSpace(last.Out), firstLine(last.Err), err)
	}
	return nil
}

// both shows a thing with both clients and compares.
func (w Writes) both(ctx context.Context, argv []string) error {
	argv = append(argv, "-f", "json")
	want, err := w.Oracle.Run(ctx, argv...)
	if err != nil {
		return err
	}
	got, err := w.Koc.Run(ctx, argv...)
	if err != nil {
		return err
	}
	want.Format = "json"
	if want.Code != 0 {
		return fmt.Errorf("the openstack client: exit code %d: %s", want.Code, firstLine(want.Err))
	}
	want.Out, got.Out = unorderedCells(want.Out), unorderedCells(got.Out)
	if d := Difference(Read{}, want, got); d != "" {
		return errors.New(d)
	}
	return nil
}

// fields checks members of a JSON object: name=value, where value is JSON or a
// plain string, name~expression, or name! for a member that is not there.
func fields(out string, want []string) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &have); err != nil {
		return fmt.Errorf("no JSON object: %w: %s", err, short(out, 100))
	}
	for _, f := range want {
		i := strings.IndexAny(f, "=~!")
		if i < 0 {
			return fmt.Errorf("no check: %s", f)
		}
		name, value := f[:i], f[i+1:]
		raw, ok := have[name]
		switch f[i] {
		case '!':
			if ok {
				return fmt.Errorf("%s is there: %s", name, raw)
			}
			continue
		case '~':
			re, err := regexp.Compile(value)
			if err != nil {
				return err
			}
			if !ok || !re.Match(raw) {
				return fmt.Errorf("%s is %s, want %s", name, cmp.Or(string(raw), "absent"), value)
			}
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && text == value {
			continue
		}
		var a, b bytes.Buffer
		if json.Compact(&a, raw) != nil || json.Compact(&b, []byte(value)) != nil || a.String() != b.String() {
			return fmt.Errorf("%s is %s, want %s", name, cmp.Or(string(raw), "absent"), value)
		}
	}
	return nil
}
