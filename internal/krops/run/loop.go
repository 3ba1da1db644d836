package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Options is what a run works with.
type Options struct {
	Plan func(plan.World) plan.Plan
	Site Site
	Sink Sink // hears what happens
	// Milestone, when set, is called once for each phase, in their order, when all
	// that comes before it is settled, and with [End] when all is.
	Milestone func(phase string, r Report, v Voice)
	// Patience is how long a question that fails is asked again before the failure
	// is the answer, and how long the outcome of a step may take to be seen.
	Patience time.Duration
}

// End is the phase after the last one.
const End = "end"

// Report is what a run has to tell.
type Report struct {
	Verb, Environment string
	World             plan.World
	Acted             bool     // a step was carried out
	Fresh             bool     // the kind cluster was replaced in this run
	Last              string   // title of the last step that was carried out
	Next              string   // title of the step it stopped at
	Warnings          []string // failures that were tolerated
	Failed            []string // steps whose failure was tolerated
}

// Errors of a run.
var (
	// ErrIncomplete is wrapped by the error of a run that did all it could, and
	// does not know or could not do something.
	ErrIncomplete = errors.New("incomplete")
	// errProgram marks what can only be a mistake in the program.
	errProgram = errors.New("this is a mistake of the program")
)

const (
	tries     = 50 // how often a run may look at the world again, for nothing, beyond a few times a step
	rewaits   = 10 // how often a wait may begin again in one run
	questions = 2 * time.Second
	recent    = 30 * time.Second // a look that is no older needs not be repeated for a refusal
	grace     = 30 * time.Second // beyond the deadline of a step that is no wait
)

// runner is a run at work. It belongs to one goroutine.
type runner struct {
	Options

	world  plan.World
	report Report

	began   map[string]time.Time // steps that were begun
	ended   map[string]bool      // steps whose end was told
	done    map[string]int       // how often a step was done
	gave    map[plan.Fact]bool   // what this run has made
	phases  map[string]bool
	looked  map[plan.Fact]time.Time // when each was asked last
	asked   string                  // the step whose outcome was looked at and nothing done since
	refused string                  // the step whose refusal was looked at again
	idle    int                     // rounds without an act
	failed  []string
}

// Run carries out a plan until nothing is left of it. It ends at the next safe
// point when ctx does.
func Run(ctx context.Context, o Options) (Report, error) {
	r := &runner{
		Options: o,
		began:   map[string]time.Time{}, ended: map[string]bool{}, done: map[string]int{}, gave: map[plan.Fact]bool{}, looked: map[plan.Fact]time.Time{}, phases: map[string]bool{},
	}
	told := make(chan struct{})
	calm := context.AfterFunc(ctx, func() {
		defer close(told)
		o.Sink.Event(Event{Name: Stopping, Message: "interrupted: stopping at the next safe point (once more to abort at once)"})
	})
	defer func() {
		if !calm() {
			<-told // nothing is told of a run that has ended
		}
	}()
	err := r.run(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", context.Canceled, err)
	}
	r.report.World = r.world
	return r.report, err
}

func (r *runner) run(ctx context.Context) error {
	for limit := tries; r.idle < limit; r.idle++ {
		p := r.Plan(r.world)
		limit = tries + 6*len(p.Steps)
		r.report.Verb, r.report.Environment = p.Verb, p.Environment
		if p.Refusal != "" {
			return errors.New(p.Refusal)
		}
		s, left := p.First()
		r.settled(p, s, left)
		if !left {
			return r.end(p)
		}
		r.report.Next = s.Title
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.deal(ctx, s); err != nil {
			return err
		}
	}
	return fmt.Errorf("the world does not come to rest: %w", errProgram)
}

// deal asks about a step, carries it out or fails on it.
func (r *runner) deal(ctx context.Context, s plan.Step) error {
	if len(s.Asks) > 0 {
		if s.Kind == plan.Check {
			r.begin(s)
		}
		r.asked = s.ID
		return r.observe(ctx, s, s.Asks)
	}
	switch s.Verdict {
	case plan.Ready:
		r.refused = ""
		if s.Kind == plan.Wait {
			return r.wait(ctx, s)
		}
		return r.act(ctx, s)
	case plan.Refused:
		// The refusal may rest on an old look.
		old := slices.DeleteFunc(s.Doubts(), func(f plan.Fact) bool { return time.Since(r.looked[f]) < recent })
		if r.refused == s.ID || len(old) == 0 {
			return r.fail(s, errors.New(s.Why))
		}
		r.refused = s.ID
		return r.observe(ctx, s, old)
	case plan.Done, plan.After, plan.Ask, plan.Blocked:
	}
	return fmt.Errorf("step %s is first and %s, %s: %w", s.ID, s.Verdict, s.Why, errProgram)
}

// settled tells of the steps before the first one that is left.
func (r *runner) settled(p plan.Plan, first plan.Step, left bool) {
	for _, s := range p.Steps {
		r.reach(s.Phase)
		if left && s.ID == first.ID {
			return
		}
		if s.Verdict != plan.Done && !r.ended[s.ID] { // refused, and no other step minds
			r.ended[s.ID] = true
			r.warn(s, s.Why)
		}
		if r.ended[s.ID] {
			continue
		}
		r.ended[s.ID] = true
		e := Event{Name: Skipped, Message: s.Why, Already: s.Already != "" && s.Why == s.Already}
		_, begun := r.began[s.ID]
		// A wait for what this run has made is over before it began: nothing was there already.
		if begun || s.Kind == plan.Wait && slices.ContainsFunc(s.Needs, func(f plan.Fact) bool { return r.gave[f] }) {
			e = Event{Name: Done, Message: s.Success, Elapsed: r.took(s)}
		}
		r.tell(s, e)
	}
}

func (r *runner) reach(phase string) {
	if r.phases[phase] {
		return
	}
	r.phases[phase] = true
	if r.Milestone != nil {
		r.report.World = r.world
		r.Milestone(phase, r.report, r.voice(plan.Step{}))
	}
}

func (r *runner) end(p plan.Plan) error {
	r.report.Next = ""
	if len(r.failed) > 0 || p.Incomplete != "" {
		text := p.Incomplete
		if text == "" {
			text = p.Verb + " incomplete: " + strings.Join(r.failed, "; ")
		}
		return incomplete(text)
	}
	r.reach(End)
	return nil
}

// incompleteError says what is missing; it is an [ErrIncomplete].
type incompleteError string

func incomplete(text string) error { return incompleteError(text) }

// Error implements error.
func (e incompleteError) Error() string { return string(e) }

// Is tells what kind of error it is.
func (e incompleteError) Is(target error) bool { return target == ErrIncomplete }

// observe asks questions about a step. One that fails is asked again for a while.
func (r *runner) observe(ctx context.Context, s plan.Step, facts []plan.Fact) error {
	var asked []plan.Fact
	for _, f := range facts {
		if strings.HasPrefix(string(f), "run/") || slices.Contains(asked, f) || !r.world.Askable(f) {
			continue
		}
		asked = append(asked, f)
		// What others make is simply not there yet while it cannot be asked about. What
		// they remove is another matter: unknown is not gone.
		// AWS is asked through a library that tries again by itself.
		patience := r.Patience
		if s.Kind == plan.Wait && slices.Contains(s.Gives, f) || strings.HasPrefix(string(f), "aws/") {
			patience = 0
		}
		if err := r.ask(ctx, f, patience); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) ask(ctx context.Context, f plan.Fact, patience time.Duration) error {
	until := time.Now().Add(patience)
	defer func() { r.looked[f] = time.Now() }()
	err := retry.Until(ctx, retry.Policy{Interval: questions}, func(ctx context.Context) (bool, error) {
		r.world = r.Site.Observe(ctx, r.world, f)
		why, bad := r.world.Of(f).Failed()
		return !bad || final(why) || !time.Now().Before(until), ctx.Err()
	})
	if err == nil {
		// What an interruption leaves unanswered is no answer.
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("ask about %s: %w", f, err)
	}
	if known := r.world.Of(f); known.Unknown() {
		if _, failed := known.Failed(); !failed {
			return fmt.Errorf("nobody can tell about %s: %w", f, errProgram)
		}
	}
	return nil
}

// final tells whether asking again is pointless.
func final(why string) bool {
	for _, f := range []plan.Failure{plan.Unauthorized, plan.Forbidden, plan.Undecodable} {
		if strings.HasPrefix(why, f.String()) {
			return true
		}
	}
	return false
}

// begin tells that a step begins, once.
func (r *runner) begin(s plan.Step) {
	if _, begun := r.began[s.ID]; begun && !r.ended[s.ID] {
		return
	}
	r.began[s.ID] = time.Now()
	delete(r.ended, s.ID)
	r.tell(s, Event{Name: Started, Message: s.Title})
}

func (r *runner) took(s plan.Step) time.Duration {
	if began, ok := r.began[s.ID]; ok {
		return time.Since(began)
	}
	return 0
}

func (r *runner) tell(s plan.Step, e Event) {
	e.Step, e.Verb, e.Environment = s, r.report.Verb, r.report.Environment
	r.Sink.Event(e)
}

// fail ends the run with an error of a step.
func (r *runner) fail(s plan.Step, err error) error {
	r.tell(s, Event{Name: Failed, Message: err.Error(), Elapsed: r.took(s), Err: err})
	r.ended[s.ID] = true
	return err
}

// warn remembers a failure that does not end the run.
func (r *runner) warn(s plan.Step, text string) {
	r.report.Warnings = append(r.report.Warnings, text)
	r.report.Failed = append(r.report.Failed, s.ID)
	r.tell(s, Event{Name: Warning, Message: text, Elapsed: r.took(s)})
}

// waive goes on without a step that failed.
func (r *runner) waive(ctx context.Context, s plan.Step, err error) error {
	r.warn(s, warning(s, err))
	r.ended[s.ID] = true
	if !s.Tolerated {
		r.failed = append(r.failed, s.ID+": "+err.Error())
	}
	r.world = r.world.Waive(s.ID, "it failed: "+err.Error())
	for _, f := range s.Gives {
		if s.Kind == plan.Check && strings.HasPrefix(string(f), "run/") {
			r.world = r.world.With(f, plan.Failed(err.Error()))
		}
	}
	return r.observe(ctx, s, s.Outcome())
}

func warning(s plan.Step, err error) string {
	if s.Kind == plan.Wait {
		if text := err.Error(); text != s.Overdue {
			return text
		}
		return s.Overdue + ":" // what is there instead follows
	}
	return strings.TrimRight(s.Title, ".") + ": " + err.Error()
}

// again is how often a step may be done in one run. What is asked to go away may be
// made anew by others, until they have noticed; all else is done once.
func again(s plan.Step) int {
	if slices.ContainsFunc(s.Gives, goingAway) {
		return rewaits
	}
	return 1
}

// goingAway tells whether a fact is that something is being deleted.
func goingAway(f plan.Fact) bool { return strings.HasPrefix(string(f), "deleting/") }

// act carries out a step that is no wait.
func (r *runner) act(ctx context.Context, s plan.Step) error {
	if r.done[s.ID] >= again(s) {
		return r.fail(s, fmt.Errorf("step %s was done, and its outcome was seen, and it is to be done again: something undoes it (%s)", s.ID, r.missing(s)))
	}
	// What was seen before may have changed. Only what is seen now permits an act.
	if err := r.observe(ctx, s, s.Grounds()); err != nil {
		return err
	}
	p := r.Plan(r.world)
	now, left := p.First()
	if !left || now.ID != s.ID || now.Verdict != plan.Ready || len(now.Asks) > 0 {
		return nil
	}
	s = now // what it was before may have been forced, and is not any more
	r.begin(s)
	if s.Why != "" {
		// It is forced past its guard, which is no success whatever comes of it.
		r.warn(s, s.Why)
		r.failed = append(r.failed, s.ID+": "+s.Why)
	}
	err := r.do(ctx, s)
	r.idle, r.asked = 0, ""
	r.report.Acted = true
	if err == nil {
		err = r.look(ctx, s)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r.tell(s, Event{Name: Failed, Message: "interrupted", Elapsed: r.took(s), Err: ctx.Err()})
		return err
	case s.Tolerated, s.BestEffort:
		return r.waive(ctx, s, err)
	case s.Kind == plan.Check:
		return r.fail(s, err)
	default:
		return r.fail(s, fmt.Errorf("%s: %w", strings.TrimRight(s.Title, "."), err))
	}
	r.finish(s)
	return nil
}

func (r *runner) do(ctx context.Context, s plan.Step) error {
	if s.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Deadline+grace, fmt.Errorf("it took longer than %v", s.Deadline))
		defer cancel()
	}
	return r.Site.Do(ctx, s, r.voice(s))
}

// look makes sure that a step which says it is done left what it should.
func (r *runner) look(ctx context.Context, s plan.Step) error {
	const settling = 10 * time.Second
	r.acted(s)
	if ctx.Err() != nil {
		// It got to its end all the same: what comes next is worth knowing.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), settling)
		defer cancel()
	}
	until := time.Now().Add(max(r.Patience, settling))
	return retry.Until(ctx, retry.Policy{Interval: questions / 4, Max: questions}, func(ctx context.Context) (bool, error) {
		if err := r.observe(ctx, s, s.Outcome()); err != nil {
			return false, err
		}
		if left, ok := r.Plan(r.world).Step(s.ID); !ok || left.Verdict == plan.Done || r.missing(s) == "" {
			return true, nil
		}
		if !time.Now().Before(until) {
			return false, fmt.Errorf("it says that it is done, but %s", r.missing(s))
		}
		return false, nil
	})
}

// acted makes present what a step gives for this run.
func (r *runner) acted(s plan.Step) {
	r.world = r.world.With("run/acted", plan.Present())
	for _, f := range s.Gives {
		if strings.HasPrefix(string(f), "run/") {
			r.world = r.world.With(f, plan.Present())
		}
		if f == "run/kind-new" {
			r.report.Fresh = true
		}
	}
}

// missing names the first fact that is not as the step leaves it, "" when all are.
func (r *runner) missing(s plan.Step) string {
	for _, f := range s.Gives {
		if p := r.world.Of(f); !p.There() {
			return fmt.Sprintf("%s is %v", f, p)
		}
	}
	for _, f := range s.Takes {
		if p := r.world.Of(f); !p.Gone() {
			return fmt.Sprintf("%s is %v", f, p)
		}
	}
	return ""
}

func (r *runner) finish(s plan.Step) {
	r.done[s.ID]++
	for _, f := range s.Gives {
		r.gave[f] = true
	}
	r.ended[s.ID] = true
	r.report.Last = s.Title
	r.tell(s, Event{Name: Done, Message: s.Success, Elapsed: r.took(s)})
}
