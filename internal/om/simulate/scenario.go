package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Scenario is a script of what happens to a cluster.
//
//	What it shows.
//	-- cluster.conf --
//	[cluster]
//	nodes = n1 n2
//	-- web.conf --
//	[DEFAULT]
//	orchestrate = ha
//	-- script --
//	crash n1
//	wait 30s
//	expect web up on n2
//	-- transcript --
//	what a run of it gives
type Scenario struct {
	Title      string
	Setup      Setup
	Transcript string // as the file has it, empty when it has none
	script     []line
	source     []section
}

// line is a line of the script.
type line struct {
	number int
	text   string
}

// section is a part of a scenario file.
type section struct {
	name string
	at   int // line of its header
	text string
}

// SyntaxError is a scenario that cannot be read.
type SyntaxError struct {
	Line   int // in the file; 0 when it is no matter of a line
	Reason string
}

// Error names the line.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// ParseScenario reads a scenario file.
func ParseScenario(data []byte) (*Scenario, error) {
	title, sections := cutSections(string(data))
	s := &Scenario{Title: strings.TrimSpace(title), source: sections}
	files := map[string]string{}
	at := map[string]int{}
	for _, part := range sections {
		if before, twice := at[part.name]; twice {
			return nil, &SyntaxError{part.at, fmt.Sprintf("a second part %q: the first is at line %d", part.name, before)}
		}
		at[part.name] = part.at
		switch {
		case part.name == "script":
			for i, text := range strings.Split(part.text, "\n") {
				if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "#") {
					s.script = append(s.script, line{part.at + 1 + i, text})
				}
			}
		case part.name == "transcript":
			s.Transcript = part.text
		case strings.HasSuffix(part.name, ".conf"):
			files[part.name] = part.text
		default:
			return nil, &SyntaxError{part.at, fmt.Sprintf("part %q: use script, transcript, cluster.conf, or the configuration of an object, as web.conf", part.name)}
		}
	}
	setup, err := NewSetup(files)
	if syntax, ok := errors.AsType[*config.SyntaxError](err); ok {
		name, _, _ := strings.Cut(err.Error(), ":")
		return nil, &SyntaxError{at[name] + syntax.Line, name + ": " + syntax.Reason}
	}
	if err != nil {
		name, _, _ := strings.Cut(err.Error(), ":")
		return nil, &SyntaxError{at[name], err.Error()}
	}
	if _, ok := at["script"]; !ok {
		return nil, &SyntaxError{0, "no script: add a part `-- script --` with what happens, as `crash n1`"}
	}
	s.Setup = setup
	return s, s.check()
}

// cutSections splits a text at the lines `-- name --`.
func cutSections(text string) (title string, sections []section) {
	number := 0
	var current *strings.Builder
	head := &strings.Builder{}
	current = head
	var bodies []*strings.Builder
	for l := range strings.Lines(text) {
		number++
		if name, ok := header(l); ok {
			sections = append(sections, section{name: name, at: number})
			current = &strings.Builder{}
			bodies = append(bodies, current)
			continue
		}
		current.WriteString(l)
	}
	for i, b := range bodies {
		sections[i].text = b.String()
	}
	return head.String(), sections
}

func header(l string) (name string, ok bool) {
	l = strings.TrimSpace(l)
	name, ok = strings.CutPrefix(l, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	return strings.TrimSpace(name), ok && strings.TrimSpace(name) != ""
}

// Format returns the file with another transcript.
func (s *Scenario) Format(transcript string) []byte {
	var b strings.Builder
	if s.Title != "" {
		b.WriteString(s.Title + "\n")
	}
	for _, part := range s.source {
		if part.name == "transcript" {
			continue
		}
		fmt.Fprintf(&b, "-- %s --\n%s", part.name, part.text)
		if !strings.HasSuffix(part.text, "\n") {
			b.WriteString("\n")
		}
	}
	b.WriteString("-- transcript --\n" + transcript)
	return []byte(b.String())
}

// check reads every command, and sees whether what it names is there.
func (s *Scenario) check() error {
	w, err := New(s.Setup, Options{})
	if err != nil {
		return &SyntaxError{s.culprit(err), err.Error()}
	}
	for _, l := range s.script {
		if _, err := w.parse(l.text); err != nil {
			return &SyntaxError{l.number, err.Error()}
		}
	}
	return nil
}

// culprit is the line of the configuration an error is about; 0 when it does not
// name one.
func (s *Scenario) culprit(err error) int {
	where, what, _ := strings.Cut(err.Error(), ": ")
	for _, part := range s.source {
		bare := strings.TrimSuffix(part.name, ".conf")
		p, pathErr := object.Parse(bare)
		if part.name != where && (pathErr != nil || p.String() != where) {
			continue
		}
		for i, l := range strings.Split(part.text, "\n") {
			key, _, ok := strings.Cut(l, "=")
			if key = strings.TrimSpace(key); ok && key != "" && strings.Contains(what, key+":") {
				return part.at + 1 + i
			}
		}
		return part.at
	}
	return 0
}

// Result is what a run of a scenario gives.
type Result struct {
	Transcript string
	// Unmet are the expectations that were not met, with their lines.
	Unmet      []string
	Violations []Violation
}

// warmUp is how long the nodes of a scenario are up when it begins.
const warmUp = time.Minute

// Run plays the scenario.
func (s *Scenario) Run(o Options) (Result, error) {
	var out strings.Builder
	began := time.Duration(0)
	silent := true
	stamp := func(at time.Duration) string { return fmt.Sprintf("%9s", (at - began).Round(time.Millisecond)) }
	o.Trace = func(l Line) {
		if silent {
			return
		}
		who := strings.TrimSpace(l.Node + " " + l.Object)
		if who != "" {
			who += ": "
		}
		fmt.Fprintf(&out, "%s  %s%s\n", stamp(l.At), who, l.Text)
	}
	w, err := New(s.Setup, o)
	if err != nil {
		return Result{}, err
	}
	script := s.script
	if len(script) > 0 && script[0].text == "cold" {
		script, silent = script[1:], false
	} else {
		w.Boot()
		w.Run(warmUp)
	}
	began, silent = w.now, false
	for _, text := range w.summary() {
		fmt.Fprintf(&out, "%s  %s\n", stamp(w.now), text)
	}
	var r Result
	allowed := map[string]bool{}
	for _, l := range script {
		c, err := w.parse(l.text)
		if err != nil {
			return r, &SyntaxError{l.number, err.Error()}
		}
		fmt.Fprintf(&out, "%s> %s\n", stamp(w.now), l.text)
		if word, rest, _ := strings.Cut(l.text, " "); word == "allow" {
			allowed[strings.TrimSpace(rest)] = true
			continue
		}
		err = c()
		var unmet *unmetError
		switch {
		case errors.As(err, &unmet):
			fmt.Fprintf(&out, "%s  NOT SO: %s\n", stamp(w.now), unmet.text)
			r.Unmet = append(r.Unmet, fmt.Sprintf("line %d: %s: %s", l.number, l.text, unmet.text))
		case err != nil:
			fmt.Fprintf(&out, "%s  %v\n", stamp(w.now), err)
		}
		w.settle()
	}
	for _, text := range w.summary() {
		fmt.Fprintf(&out, "%s  %s\n", stamp(w.now), text)
	}
	for _, v := range w.laws.violations {
		if !slices.ContainsFunc(slices.Collect(keys(allowed)), func(a string) bool { return strings.Contains(v.Law, a) }) {
			v.At -= began
			r.Violations = append(r.Violations, v)
		}
	}
	r.Transcript = out.String()
	return r, nil
}

// summary tells where everything is.
func (w *World) summary() []string {
	var lines []string
	for obj, d := range w.objects {
		groups := map[string][]string{}
		for _, id := range d.scope {
			n := w.nodes[id]
			text := "off"
			if m := n.disk[obj]; n.power && !m.absent {
				text = m.describe()
			} else if m.absent {
				text = "absent"
			}
			groups[text] = append(groups[text], n.name)
		}
		var parts []string
		for _, text := range slices.Sorted(keys(groups)) {
			parts = append(parts, text+" on "+strings.Join(groups[text], " "))
		}
		lines = append(lines, d.path.String()+": "+strings.Join(parts, "; "))
	}
	return lines
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
