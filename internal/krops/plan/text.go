package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The prefixes of the lines of a run.
const (
	mark    = ">>> "   // a step
	detail  = ">>>   " // more about it
	deeper  = ">>>     "
	good    = "✓   " // confirmed
	caution = "!   " // a warning
)

// WriteText prints a plan for people.
func (p Plan) WriteText(w io.Writer) error {
	var b strings.Builder
	if p.Refusal != "" {
		first, rest, _ := strings.Cut(strings.TrimRight(p.Refusal, "\n"), "\n")
		b.WriteString(caution + first + "\n")
		for line := range strings.Lines(rest) {
			b.WriteString(caution + "  " + strings.TrimRight(line, "\n") + "\n")
		}
	} else {
		p.body(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p Plan) body(b *strings.Builder) {
	left := p.Left()
	switch n := len(left); n {
	case 0:
		fmt.Fprintf(b, "%sPlan of the %s of %s: nothing to do\n", mark, p.Verb, p.Environment)
	case 1:
		fmt.Fprintf(b, "%sPlan of the %s of %s: 1 step\n", mark, p.Verb, p.Environment)
	default:
		fmt.Fprintf(b, "%sPlan of the %s of %s: %d steps\n", mark, p.Verb, p.Environment, n)
	}
	if slices.ContainsFunc(left, func(s Step) bool { return s.Verdict == Ask }) {
		b.WriteString(detail + "what is not known yet is asked before a step acts; unknown is never taken for gone\n")
	}
	for _, s := range p.Steps {
		s.text(b)
	}
	if p.Incomplete != "" {
		b.WriteString(caution + p.Incomplete + "\n")
	}
}

func (s Step) text(b *strings.Builder) {
	switch s.Verdict {
	case Done:
		text := s.ID + ": " + strings.TrimSuffix("done, "+s.Why, ", ")
		if s.Already != "" && s.Why == s.Already {
			text = s.Already
		}
		b.WriteString(good + text + "\n")
		return
	case Refused, Blocked:
		b.WriteString(caution + s.ID + ": " + string(s.Verdict) + ", " + s.Why + "\n")
		return
	case Ready, After, Ask:
	}
	b.WriteString(mark + s.Title + "\n")
	line := string(s.Kind) + " " + s.ID
	if s.Waits != "" {
		line += ", waits for " + s.Waits
	}
	if s.Deadline > 0 {
		line += ", within " + short(s.Deadline)
	}
	if s.Every > 0 {
		line += ", looking every " + short(s.Every)
	}
	if s.Tolerated {
		line += "; a failure is a warning"
	}
	b.WriteString(detail + line + "\n")
	for _, d := range s.Detail {
		b.WriteString(deeper + d + "\n")
	}
	if len(s.Clear) > 0 {
		b.WriteString(deeper + "only once confirmed gone: " + join(s.Clear) + "\n")
	}
}

// short is a duration without the zeros at its end.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func join(facts []Fact) string {
	names := make([]string, len(facts))
	for i, f := range facts {
		names[i] = f.String()
	}
	return strings.Join(names, ", ")
}

// event is a line of the JSON output.
type event struct {
	Event       string   `json:"event"`
	Verb        string   `json:"verb"`
	Environment string   `json:"environment"`
	Step        string   `json:"step,omitempty"`
	Phase       string   `json:"phase,omitempty"`
	Kind        Kind     `json:"kind,omitempty"`
	Verdict     Verdict  `json:"verdict,omitempty"`
	Why         string   `json:"why,omitempty"`
	Title       string   `json:"title,omitempty"`
	Detail      []string `json:"detail,omitempty"`
	Already     string   `json:"already,omitempty"`
	Success     string   `json:"success,omitempty"`
	Waits       string   `json:"waits_for,omitempty"`
	Deadline    float64  `json:"deadline_seconds,omitempty"`
	Every       float64  `json:"every_seconds,omitempty"`
	Needs       []Fact   `json:"needs,omitempty"`
	Clear       []Fact   `json:"confirmed_gone,omitempty"`
	Gives       []Fact   `json:"gives,omitempty"`
	Takes       []Fact   `json:"takes,omitempty"`
	Tolerated   bool     `json:"failure_is_warning,omitempty"`
	Steps       *int     `json:"steps_left,omitempty"`
	Message     string   `json:"message,omitempty"`
}

// WriteJSON prints a plan as one event a line: each step, then the sum.
func (p Plan) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, s := range p.Steps {
		err := encoder.Encode(event{
			Event: "step", Verb: p.Verb, Environment: p.Environment, Step: s.ID, Phase: s.Phase, Kind: s.Kind, Verdict: s.Verdict, Why: s.Why,
			Title: s.Title, Detail: s.Detail, Already: s.Already, Success: s.Success, Waits: s.Waits, Deadline: s.Deadline.Seconds(), Every: s.Every.Seconds(),
			Needs: s.Needs, Clear: s.Clear, Gives: s.Gives, Takes: s.Takes, Tolerated: s.Tolerated,
		})
		if err != nil {
			return err
		}
	}
	left := len(p.Left())
	sum := event{Event: "plan", Verb: p.Verb, Environment: p.Environment, Steps: &left, Message: p.Incomplete}
	if p.Refusal != "" {
		sum.Event, sum.Steps, sum.Message = "refused", nil, p.Refusal
	}
	return encoder.Encode(sum)
}
