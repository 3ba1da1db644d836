// Package site is what a run works on: this host with its container engine, the
// kind cluster, the management cluster, AWS. It answers every fact of the glossary
// of package plan and carries out every step that is no wait.
//
// Each file is an area: it declares a part, which says what it answers and does.
package site

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

// A Site is the site of one run. It is used by one goroutine.
type Site struct {
	Options

	parts   []part
	servers servers
	found   found
	branch  string // commit of the branch on GitHub, "" when it is not known

	controllers *controllers // nil until they are looked for

	cloud *sweep.Cloud // nil until AWS is asked
	swept bool         // a sweep has begun
}

// Options is what a site works with.
type Options struct {
	Settings *config.Settings
	Root     string // absolute path of the repository
	Dir      string // working directory of the caller: relative paths of variables are looked for there
	Environ  []string

	Kinds  Kinds                                             // nil: those of the container engine
	Engine func(ctx context.Context) (*engine.Engine, error) // nil: looks for one, see engine.Detect
	Runner host.Runner                                       // runs the tasks of the repository
	Github string                                            // address of the API of GitHub; "" is the public one
	AWS    sweep.Options                                     // how AWS is reached
	Now    func() time.Time

	// MoveWrote is told of each write of the move before it is sent; nil is told of none.
	MoveWrote func()

	Version string // of the program
	System  string // root of the file system, for tests; "" is /
}

// part is an area of a site. Facts and steps are looked up by their exact name,
// then by the longest pattern with a * at its end.
type part struct {
	facts map[string]func(ctx context.Context, f plan.Fact) plan.Presence
	// views answer facts that are more than a presence: the host, the listings.
	views map[string]func(ctx context.Context, w plan.World) plan.World
	steps map[string]func(ctx context.Context, s plan.Step, v run.Voice) error
	// holds tell what a wait is held up by, see run.Site.
	holds map[string]func(ctx context.Context, s plan.Step) (string, error)
	// follows accompany a wait, see run.Site.
	follows map[string]func(ctx context.Context, s plan.Step, v run.Voice) (stop func())
	// diagnoses say what helps to understand a wait that ran out of time.
	diagnoses map[string]func(ctx context.Context, s plan.Step, v run.Voice)
}

var _ run.Site = (*Site)(nil)

// New returns the site of a run.
func New(o Options) *Site {
	s := &Site{Options: o}
	s.parts = []part{
		s.serverPart(),
		s.publishPart(),
		s.controllerPart(),
		s.clusterPart(),
		s.providerPart(),
		s.hostPart(),
		s.registryPart(),
		s.preflightPart(),
		s.definitionPart(),
		s.targetPart(),
		s.movePart(),
		s.leavePart(),
		s.filePart(),
		s.nodePart(),
		s.sweepPart(),
		s.fluxPart(),
		s.metadataPart(),
		s.secretPart(),
		s.watchPart(),
	}
	return s
}

// Observe answers one question.
func (s *Site) Observe(ctx context.Context, w plan.World, f plan.Fact) plan.World {
	for _, p := range s.parts {
		if view := lookup(p.views, string(f)); view != nil {
			return view(ctx, w)
		}
	}
	for _, p := range s.parts {
		if fact := lookup(p.facts, string(f)); fact != nil {
			return w.With(f, fact(ctx, f))
		}
	}
	return w.With(f, plan.Failed("nobody can tell"))
}

// Do carries out a step.
func (s *Site) Do(ctx context.Context, step plan.Step, v run.Voice) error {
	for _, p := range s.parts {
		if do := lookup(p.steps, step.ID); do != nil {
			return do(ctx, step, v)
		}
	}
	return fmt.Errorf("nobody can do step %s", step.ID)
}

// Hold tells what a wait is held up by.
func (s *Site) Hold(ctx context.Context, step plan.Step) (string, error) {
	for _, p := range s.parts {
		if hold := lookup(p.holds, step.ID); hold != nil {
			return hold(ctx, step)
		}
	}
	return "", nil
}

// Follow accompanies a wait.
func (s *Site) Follow(ctx context.Context, step plan.Step, v run.Voice) (stop func()) {
	for _, p := range s.parts {
		if follow := lookup(p.follows, step.ID); follow != nil {
			return follow(ctx, step, v)
		}
	}
	return func() {}
}

// Diagnose says what helps to understand a wait that ran out of time.
func (s *Site) Diagnose(ctx context.Context, step plan.Step, v run.Voice) {
	for _, p := range s.parts {
		if diagnose := lookup(p.diagnoses, step.ID); diagnose != nil {
			diagnose(ctx, step, v)
			return
		}
	}
}

// lookup finds a name in a table whose keys may end in a *, which stands for any
// rest. The longest key that fits wins.
func lookup[V any](table map[string]V, name string) V {
	if v, ok := table[name]; ok {
		return v
	}
	var found V
	longest := -1
	for key, v := range table {
		prefix, ok := strings.CutSuffix(key, "*")
		if ok && strings.HasPrefix(name, prefix) && len(prefix) > longest {
			found, longest = v, len(prefix)
		}
	}
	return found
}
