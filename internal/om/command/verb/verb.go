// Package verb is how a command of om and ox is declared: as a value naming it,
// explaining it, and building its runner from the backend at hand.
//
// The same declarations make both binaries. A verb asks its backend for the
// capability it needs with [Needs]; a binary whose backend lacks the capability
// does not have the verb. There is no second list.
package verb

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Verb declares a command.
type Verb struct {
	Path    string        // words below the subsystem: "instance start"
	Also    []string      // other spellings of the whole path, accepted and not shown: "print status"
	Aliases []string      // other spellings of the last word
	Group   string        // heading it is listed under in the help
	Short   string        // one line, imperative, without a dot
	Long    string        // full sentences
	Example string        // command lines
	Hidden  bool          // accepted, not shown
	Args    Args          // positional arguments, none by default
	Selects bool          // takes a selector outside the subsystems of objects too
	Kinds   []object.Kind // kinds of objects it applies to, nil: every kind
	New     func(Backend) Runner
}

// Args declares positional arguments.
type Args struct {
	Use string // "[EXEC_ID]..."
	Min int
	Max int // -1: no limit
	// Values lists what an argument may be, for completion.
	Values []string
}

// AppliesTo reports whether objects of kind k have the verb.
func (v Verb) AppliesTo(k object.Kind) bool { return v.Kinds == nil || slices.Contains(v.Kinds, k) }

// Backend is where a command acts: the host and its daemon, or a remote cluster.
type Backend interface {
	// Select returns the paths of the objects that the selector designates.
	// A selector made of one exact path that does not exist is an error.
	Select(ctx context.Context, selector string) ([]object.Path, error)
}

// Runner runs a command once its flags are parsed.
type Runner interface {
	// Flags binds the flags of the command.
	Flags(f *pflag.FlagSet)
	// Run does what the command says.
	Run(ctx context.Context, c *Call) error
}

// Needs builds the runner of a verb from a capability of the backend. A
// backend without the capability has no runner, so the verb does not exist.
func Needs[C any](build func(C) Runner) func(Backend) Runner {
	return func(b Backend) Runner {
		c, ok := b.(C)
		if !ok {
			return nil
		}
		return build(c)
	}
}

// Does builds the runner of a verb without flags from a capability of the backend.
func Does[C any](run func(ctx context.Context, backend C, c *Call) error) func(Backend) Runner {
	return Needs(func(b C) Runner {
		return plain(func(ctx context.Context, c *Call) error { return run(ctx, b, c) })
	})
}

type plain func(ctx context.Context, c *Call) error

func (plain) Flags(*pflag.FlagSet)                       {}
func (run plain) Run(ctx context.Context, c *Call) error { return run(ctx, c) }
