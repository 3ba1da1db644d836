// Package run carries out a plan: it observes, plans, does the first step that is
// left, and begins again, until nothing is left.
//
// It knows no cluster and no cloud: what it works on is a [Site].
package run

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// A Site answers the questions of a plan and carries out its steps.
type Site interface {
	// Observe answers one question and returns the world that knows the answer. A
	// question that cannot be answered is answered too: by plan.Failed with the
	// reason. It returns within seconds, or when ctx ends.
	Observe(ctx context.Context, w plan.World, f plan.Fact) plan.World
	// Do carries out a step that is no wait. It is idempotent: it may be begun
	// again after a crash at any point.
	Do(ctx context.Context, s plan.Step, v Voice) error
	// Hold tells what a wait is held up by at this moment, in a few words, "" when
	// that is not known. An error means that waiting on is pointless.
	Hold(ctx context.Context, s plan.Step) (why string, hopeless error)
	// Follow is called when a Wait begins to wait: what is said until stop is called
	// helps to follow it. It returns at once; stop waits for what it started.
	Follow(ctx context.Context, s plan.Step, v Voice) (stop func())
	// Diagnose says what helps to understand a wait that ran out of time.
	Diagnose(ctx context.Context, s plan.Step, v Voice)
}

// Voice is how a step says what it does. Lines have no prefix of their own. It is
// safe for use by several goroutines.
type Voice interface {
	Say(format string, a ...any)     // ">>> ": another line like the title
	Detail(format string, a ...any)  // ">>>   ": more about the step
	Done(format string, a ...any)    // "✓   ": something confirmed
	Warn(format string, a ...any)    // "WARNING: " on stderr, "!   " in a teardown
	Trouble(format string, a ...any) // "ERROR: " on stderr; further lines of the text are indented
	Print(text string)               // a block as it is: a table, a report
}
