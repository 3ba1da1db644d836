package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Kind is what a step is to the world.
type Kind string

// The kinds of steps.
const (
	Check  Kind = "check"  // asks, changes nothing
	Change Kind = "change" // makes something
	Wait   Kind = "wait"   // until others have made or removed something
	Delete Kind = "delete" // removes something
	Move   Kind = "move"   // makes something elsewhere, then removes it
)

// Verdict is what a plan says of a step.
type Verdict string

// The verdicts.
const (
	Done    Verdict = "done"    // it is observed to be done, or nothing is left of it
	Ready   Verdict = "ready"   // all it needs is observed: it can be done
	After   Verdict = "after"   // it comes after earlier steps
	Ask     Verdict = "ask"     // what it depends on was not asked yet
	Refused Verdict = "refused" // what it depends on cannot be known, or forbids it
	Blocked Verdict = "blocked" // an earlier step is refused
)

// Step is one thing to do.
type Step struct {
	ID     string // stable, unique in a plan
	Phase  string
	Kind   Kind
	Title  string   // what a run says when it begins
	Detail []string // what it does, in more words

	Already string // what a run says when there is nothing to do: of what is moot, or else of what is there
	Success string // what a run says when it is done

	Needs []Fact // must be there
	Clear []Fact // must be confirmed absent
	Gives []Fact // are there afterwards
	Takes []Fact // are gone afterwards
	Moot  []Fact // when one is gone, there is nothing to do
	Spare []Fact // when one is there, there is nothing to do
	Looks []Fact // are asked before, whatever the answer
	Asks  []Fact // what to ask next for its verdict; more may come once these are answered

	Cannot   string // what is said when its state cannot be confirmed
	Guard    string // what is said when what must be gone is not confirmed to be
	Rival    string // what is said when the inventory may be elsewhere already
	Overdue  string // what is said when its deadline has passed
	Help     string // what is said besides then
	Gap      bool   // an empty line comes before it
	Waits    string // what a Wait waits for
	Deadline time.Duration
	Every    time.Duration // between two looks

	Source     bool // acts on the kind cluster, pointless once the inventory has left it
	EachRun    bool // holds for one run only
	Closing    bool // ends a run that has done something
	Tolerated  bool // its failure is a warning
	BestEffort bool // a failed query stops this step and no other
	Forced     bool // goes on although what Clear says is not confirmed

	Verdict Verdict
	Why     string // of the verdict
}

// Plan is what is to be done, in order.
type Plan struct {
	Verb        string
	Environment string
	Steps       []Step
	Refusal     string // the verb cannot be done at all
	Incomplete  string // why the run ends with an error although every step is done
}

// Left are the steps that are not done.
func (p Plan) Left() []Step {
	var left []Step
	for _, s := range p.Steps {
		if s.Verdict != Done {
			left = append(left, s)
		}
	}
	return left
}

// First is the step that is to be dealt with now: asked about, carried out, or
// refused. ok is false when nothing is left, or nothing but what a failed query
// stops for itself alone.
func (p Plan) First() (Step, bool) {
	for _, s := range p.Steps {
		if s.Verdict != Done && (s.Verdict != Refused || !s.BestEffort) {
			return s, true
		}
	}
	return Step{}, false
}

// Next is the step to carry out now; ok is false when there is none, or when it
// is not ready.
func (p Plan) Next() (Step, bool) {
	s, ok := p.First()
	if !ok || s.Verdict != Ready {
		return Step{}, false
	}
	return s, true
}

// Step returns the step of that name.
func (p Plan) Step(id string) (Step, bool) {
	for _, s := range p.Steps {
		if s.ID == id {
			return s, true
		}
	}
	return Step{}, false
}

// judge settles the verdict of each step in the world observed.
func judge(steps []Step, observed World) []Step {
	world := observed.own() // as the steps before will have left it
	var stopped string
	judged := make([]Step, len(steps))
	for i, s := range steps {
		s.Verdict, s.Why = s.verdict(observed, world)
		if why, ok := observed.waived[s.ID]; ok && (s.Verdict != Refused || !s.BestEffort) {
			s.Verdict, s.Why = Done, why
		}
		if s.Verdict != Done {
			s.Asks = s.asks(world)
		}
		if stopped != "" && s.Verdict != Done {
			s.Verdict, s.Why = Blocked, stopped+" comes first"
		}
		switch s.Verdict {
		case Refused:
			if !s.BestEffort {
				stopped = s.ID
			}
		case Ready, After, Ask:
			world.apply(s)
		case Done, Blocked:
		}
		judged[i] = s
	}
	return prune(judged, observed.Of(acted).There())
}

func (s Step) verdict(observed, world World) (Verdict, string) {
	if s.Source && moved(world) {
		return Done, "the inventory is on the management cluster"
	}
	for _, f := range s.Moot {
		if p := world.Of(f); p.Gone() {
			return Done, cmp.Or(s.Already, f.String()+": "+p.Evidence())
		}
	}
	for _, f := range s.Spare {
		if world.Of(f).There() {
			return Done, f.String() + " is there already"
		}
	}
	if s.finished(world) {
		if len(s.Moot) == 0 {
			return Done, s.Already
		}
		return Done, ""
	}
	asks := ""
	if s.Source && !world.Of(sourceInventory).There() {
		switch target := world.Of(targetInventory); target.state {
		case failed:
			return Refused, s.Rival + ": " + target.note
		case unasked:
			asks = targetInventory.String() + " was not asked"
		case present:
			if world.Of(sourceInventory).state == unasked {
				asks = sourceInventory.String() + " was not asked"
			}
		case absent:
		}
	}
	for _, f := range s.concerns() {
		p := world.Of(f)
		if why, bad := p.Failed(); bad {
			if s.Forced && slices.Contains(s.Clear, f) || s.Kind == Wait && slices.Contains(s.Gives, f) {
				continue
			}
			if s.Guard != "" && slices.Contains(s.Clear, f) {
				return Refused, s.Guard + ": the state of " + f.String() + " is unknown: " + why
			}
			if s.Cannot != "" {
				return Refused, s.Cannot + ": " + why
			}
			return Refused, "cannot confirm the state of " + f.String() + ": " + why
		}
		if p.state == unasked && asks == "" && !slices.Contains(s.Clear, f) && !s.ofRun(f) {
			asks = f.String() + " was not asked"
		}
	}
	for _, f := range s.Looks {
		if world.Of(f).state == unasked && asks == "" {
			asks = f.String() + " was not asked"
		}
	}
	later := asks == "" && s.waitsForOthers(observed, world)
	for _, f := range s.Needs {
		if world.Of(f).Gone() {
			return Refused, "needs " + f.String() + ", which is gone"
		}
	}
	for _, f := range s.Clear {
		switch p := world.Of(f); {
		case s.Forced:
		case p.There():
			return Refused, strings.TrimPrefix(s.Guard+": "+world.remains(f), ": ")
		case p.Unknown() && asks == "":
			asks = f.String() + " was not asked"
		}
	}
	switch {
	case asks != "":
		return Ask, asks
	case later:
		return After, ""
	default:
		return Ready, s.force(world)
	}
}

// force says what a step does not wait for, "" when it is all confirmed.
func (s Step) force(w World) string {
	for _, f := range s.Clear {
		if !w.Of(f).Gone() {
			return "forced, although it is not confirmed that nothing is left of " + f.String()
		}
	}
	return ""
}

// ofRun tells whether a fact is one that the step itself makes for one run.
func (s Step) ofRun(f Fact) bool {
	return slices.Contains(s.Gives, f) && strings.HasPrefix(string(f), "run/")
}

// concerns are the facts a step must know before it acts. What it gives in one
// run only is not asked for.
func (s Step) concerns() []Fact {
	var facts []Fact
	facts = append(facts, s.Needs...)
	facts = append(facts, s.Clear...)
	facts = append(facts, s.Takes...)
	facts = append(facts, s.Moot...)
	if !s.EachRun {
		facts = append(facts, s.Gives...)
	}
	return facts
}

// asks are the questions to ask next. What a step leaves behind comes first: when
// that is there already, nothing else matters.
func (s Step) asks(w World) []Fact {
	outcome := slices.Concat(s.Moot, s.Takes)
	if !s.EachRun {
		outcome = append(outcome, s.Gives...)
	}
	if facts := w.unasked(outcome...); len(facts) > 0 || s.finished(w) {
		return facts
	}
	if facts := w.unasked(s.Spare...); len(facts) > 0 {
		return facts
	}
	if facts := w.unaskedOfMove(); s.Source && len(facts) > 0 {
		return facts
	}
	return w.unasked(slices.Concat(s.Needs, s.Clear, s.Looks)...)
}

// unaskedOfMove are the facts to ask next to know where the inventory is.
func (w World) unaskedOfMove() []Fact {
	if facts := w.unasked(mgmtKubeconfig); len(facts) > 0 {
		return facts
	}
	if facts := w.unasked(sourceInventory); len(facts) > 0 && !w.Of(targetInventory).Gone() {
		return facts
	}
	if w.Of(sourceInventory).There() {
		return nil
	}
	return w.unasked(targetInventory)
}

// Outcome are the facts that tell whether a step is done.
func (s Step) Outcome() []Fact { return slices.Concat(s.Moot, s.Gives, s.Takes) }

// Grounds are the facts that must be looked at again right before a step acts.
func (s Step) Grounds() []Fact {
	facts := slices.Concat(s.Needs, s.Clear, s.Moot, s.Looks)
	if s.Kind == Delete || s.Kind == Move {
		facts = append(facts, s.Takes...)
	}
	return facts
}

// Doubts are the facts a refusal may rest on.
func (s Step) Doubts() []Fact {
	facts := slices.Concat(s.Outcome(), s.Grounds())
	if s.Source {
		facts = append(facts, sourceInventory, targetInventory)
	}
	return facts
}

// waitsForOthers tells whether a fact it depends on is only so once earlier
// steps are done.
func (s Step) waitsForOthers(observed, world World) bool {
	for _, f := range s.Needs {
		if !observed.Of(f).There() {
			return true
		}
	}
	for _, f := range s.Clear {
		if !observed.Of(f).Gone() && !s.Forced {
			return true
		}
	}
	for _, f := range s.concerns() {
		if observed.Of(f).state != world.Of(f).state {
			return true
		}
	}
	return false
}

// finished is the check of a step: what it gives is there, what it takes is gone.
func (s Step) finished(w World) bool {
	for _, f := range s.Gives {
		if !w.Of(f).There() {
			return false
		}
	}
	for _, f := range s.Takes {
		if !w.Of(f).Gone() {
			return false
		}
	}
	return true
}

// moved tells whether the inventory has left the kind cluster for good.
func moved(w World) bool {
	return w.Of(targetInventory).There() && w.Of(sourceInventory).Gone()
}

// prune drops what only holds for one run when no other step is left. What closes
// a run stays when the run has done something.
func prune(steps []Step, acted bool) []Step {
	for _, s := range steps {
		if s.Verdict != Done && !s.EachRun {
			return steps
		}
	}
	for i := range steps {
		if steps[i].Verdict != Done && (!steps[i].Closing || !acted) {
			steps[i].Verdict, steps[i].Why, steps[i].Asks = Done, cmp.Or(steps[i].Already, "nothing is left that needs it"), nil
		}
	}
	return steps
}
