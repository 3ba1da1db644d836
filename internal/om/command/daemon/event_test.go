package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// daemons stream what each node has to tell, then an error, or its end for nil, else nothing more.
type daemons map[string][]any

func (daemons) Select(context.Context, string) ([]object.Path, error) { return nil, nil }
func (daemons) ExpandNodes(_ context.Context, selector string) ([]string, error) {
	if selector == "*" {
		return []string{"n1", "n2"}, nil
	}
	return []string{selector}, nil
}

func (d daemons) Events(ctx context.Context, q api.EventQuery) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		for _, told := range d[q.Node] {
			switch told := told.(type) {
			case nil:
				return
			case error:
				yield(api.Event{}, told)
				return
			case string:
				kind, data, _ := strings.Cut(told, " ")
				if len(q.Filter) > 0 && kind != api.Resync && !slices.Contains(q.Filter, kind) {
					continue
				}
				if !yield(api.Event{Kind: kind, At: time.Now(), Data: []byte(data)}, nil) {
					return
				}
			}
		}
		<-ctx.Done()
	}
}

func watch(t *testing.T, d daemons, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	runner := daemon.Events(false).New(d)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	runner.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = runner.Run(ctx, &verb.Call{Streams: &iostreams.Streams{Out: &out, Err: &errs}, Backend: d})
	return out.String(), errs.String(), err
}

func TestALimitIsOfTheEventsOfAllNodes(t *testing.T) {
	t.Parallel()
	d := daemons{"n1": {"A {}", "A {}", "A {}"}, "n2": {"B {}", "B {}", "B {}"}}
	out, _, err := watch(t, d, "--node", "*", "--limit", "4")
	if err != nil || strings.Count(out, "\n") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestANodeThatEndsItsStreamEndsNoOther(t *testing.T) {
	t.Parallel()
	d := daemons{"n1": {errors.New("n1 is gone")}, "n2": {"B {}", "B {}"}}
	out, _, err := watch(t, d, "--node", "*", "--limit", "2")
	if err != nil || strings.Count(out, "B") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhoReadsTooSlowlyIsToldApart(t *testing.T) {
	t.Parallel()
	d := daemons{api.Localhost: {"A {}", `resync {"labels":{},"lost":7}`, "A {}"}}
	out, told, err := watch(t, d, "--limit", "2")
	if err != nil || strings.Count(out, "A") != 2 || strings.Contains(out, "resync") || !strings.Contains(told, "events were lost, 7 so far") {
		t.Errorf("%v\n%s%s", err, out, told)
	}
}

func TestATokenThatEndedIsNoSlowReader(t *testing.T) {
	t.Parallel()
	d := daemons{api.Localhost: {"A {}", `resync {"labels":{},"lost":0}`, "A {}"}}
	_, told, err := watch(t, d, "--limit", "2")
	if err != nil || !strings.Contains(told, "the token ended") || strings.Contains(told, "slowly") {
		t.Errorf("%v\n%s", err, told)
	}
}

func TestALossIsNotWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	d := daemons{api.Localhost: {`resync {"labels":{},"lost":7}`, "B {}", "A {}"}}
	out, told, err := watch(t, d, "--wait", "--filter", "A", "--filter", "B")
	if err != nil || !strings.Contains(out, "A") || !strings.Contains(out, "B") || !strings.Contains(told, "lost") {
		t.Errorf("%v\n%s%s", err, out, told)
	}
}

func TestAStreamThatEndsByItselfIsAFailure(t *testing.T) {
	t.Parallel()
	d := daemons{api.Localhost: {"A {}", nil}}
	if out, _, err := watch(t, d); err == nil || !strings.Contains(err.Error(), "ended the stream") || !strings.Contains(out, "A") {
		t.Errorf("%v\n%s", err, out)
	}
}
