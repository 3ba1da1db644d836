package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Name is what an event is about.
type Name string

// The events of a run.
const (
	Begun     Name = "run"       // the run begins
	Started   Name = "started"   // a step begins
	Line      Name = "line"      // another line like its title
	Detail    Name = "detail"    // more about a step
	Confirmed Name = "confirmed" // something of a step is certain
	Output    Name = "output"    // a block of text
	Progress  Name = "progress"  // a wait goes on
	Done      Name = "done"      // a step is done
	Skipped   Name = "skipped"   // a step needs not be done
	Warning   Name = "warning"   // something failed, and the run goes on
	Trouble   Name = "trouble"   // what is wrong, before a step fails
	Advice    Name = "advice"    // what to do about it
	Failed    Name = "failed"    // a step failed, and the run ends
	Stopping  Name = "stopping"  // the run was interrupted and ends soon
	Said      Name = "said"      // a line that belongs to no step
	Finished  Name = "finished"  // the run is over
)

// Event is something that happened in a run.
type Event struct {
	Name              Name
	Verb, Environment string
	Step              plan.Step // none when its ID is empty
	Message           string
	Already           bool // of a step that is skipped: its message is for people
	Elapsed           time.Duration
	Budget            time.Duration
	Err               error  // what failed
	Code              int    // of a run that is over
	Hint              string // how to go on
}

// A Sink hears the events of a run, one after the other, but from any goroutine.
type Sink interface{ Event(e Event) }

// Sinks are several.
type Sinks []Sink

// Event implements [Sink].
func (s Sinks) Event(e Event) {
	for _, sink := range s {
		sink.Event(e)
	}
}

// voice makes events of what a step says.
type voice struct {
	sink              Sink
	verb, environment string
	step              plan.Step
}

func (r *runner) voice(s plan.Step) voice {
	return voice{r.Sink, r.report.Verb, r.report.Environment, s}
}

func (v voice) Say(format string, a ...any)    { v.say(Line, format, a) }
func (v voice) Detail(format string, a ...any) { v.say(Detail, format, a) }
func (v voice) Done(format string, a ...any)   { v.say(Confirmed, format, a) }
func (v voice) Warn(format string, a ...any) {
	v.say(Warning, format, a)
}
func (v voice) Trouble(format string, a ...any) { v.say(Trouble, format, a) }

func (v voice) Print(text string) {
	name := Output
	if v.step.ID == "" {
		name = Said
	}
	v.tell(Event{Name: name, Message: text})
}

func (v voice) say(name Name, format string, a []any) {
	v.tell(Event{Name: name, Message: fmt.Sprintf(format, a...)})
}

func (v voice) tell(e Event) {
	e.Step, e.Verb, e.Environment = v.step, v.verb, v.environment
	v.sink.Event(e)
}

// short is a duration for people, without the zeros at its end.
func short(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
