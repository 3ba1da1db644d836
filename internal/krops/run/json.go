package run

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// JSON writes events as one object a line.
type JSON struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

// NewJSON returns a sink that writes to w.
func NewJSON(w io.Writer) *JSON {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &JSON{encoder: encoder}
}

// record is an event as JSON.
type record struct {
	Event       Name      `json:"event"`
	Time        time.Time `json:"time"`
	Verb        string    `json:"verb,omitempty"`
	Environment string    `json:"environment,omitempty"`
	Step        string    `json:"step,omitempty"`
	Phase       string    `json:"phase,omitempty"`
	Kind        plan.Kind `json:"kind,omitempty"`
	Title       string    `json:"title,omitempty"`
	Message     string    `json:"message,omitempty"`
	Waits       string    `json:"waits_for,omitempty"`
	Elapsed     float64   `json:"elapsed_seconds,omitempty"`
	Budget      float64   `json:"budget_seconds,omitempty"`
	Causes      []string  `json:"causes,omitempty"`
	Code        *int      `json:"exit_code,omitempty"`
	Hint        string    `json:"hint,omitempty"`
}

// Event implements [Sink].
func (j *JSON) Event(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := record{
		Event: e.Name, Time: time.Now().UTC().Truncate(time.Millisecond), Verb: e.Verb, Environment: e.Environment,
		Step: e.Step.ID, Phase: e.Step.Phase, Kind: e.Step.Kind, Title: e.Step.Title, Message: e.Message,
		Elapsed: seconds(e.Elapsed), Budget: seconds(e.Budget), Causes: causes(e.Err), Hint: e.Hint,
	}
	switch e.Name {
	case Started, Progress:
		r.Waits = e.Step.Waits
	case Finished:
		r.Code = &e.Code
	case Begun, Line, Detail, Confirmed, Output, Done, Skipped, Warning, Trouble, Advice, Failed, Stopping, Said:
	}
	_ = j.encoder.Encode(r) // a reader that went away must not end the run
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// causes are the texts of an error and of those it wraps.
func causes(err error) []string {
	var texts []string
	for ; err != nil; err = errors.Unwrap(err) {
		texts = append(texts, err.Error())
	}
	return texts
}
