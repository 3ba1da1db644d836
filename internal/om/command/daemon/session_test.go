package daemon_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// history is what a few nodes ran.
type history map[string][]api.Exec

func (history) Select(context.Context, string) ([]object.Path, error) { return nil, nil }
func (h history) Execs(_ context.Context, q api.ExecQuery) ([]api.Exec, error) {
	return slices.Clone(h[q.Node]), nil
}
func (history) Exec(context.Context, api.WaitQuery) (api.Exec, error) { return api.Exec{}, nil }
func (history) Orchestrations(context.Context, api.OrchestrationQuery) ([]api.Orchestration, error) {
	return nil, nil
}

func (history) Orchestration(context.Context, api.WaitQuery) (api.Orchestration, error) {
	return api.Orchestration{}, nil
}

func (history) Kill(context.Context, api.ExecKill) ([]api.Exec, error) { return nil, nil }

func (history) ExpandNodes(context.Context, string) ([]string, error) {
	return []string{"n1", "n2"}, nil
}

func run(session, node, path, state string, from, to time.Duration) api.Exec {
	began := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	e := api.Exec{
		SessionID: session, Node: node, Path: path, State: state, Origin: "api", StartedAt: began.Add(from),
		Command: "om " + path + " instance stop",
	}
	if state != api.StateRunning {
		end := began.Add(to)
		e.EndedAt = &end
	}
	return e
}

func list(t *testing.T, h history, args ...string) string {
	t.Helper()
	for _, v := range daemon.History() {
		if v.Path != "session list" {
			continue
		}
		runner := v.New(h)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		runner.Flags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		s, _, out, _ := iostreams.Test()
		if err := runner.Run(t.Context(), &verb.Call{Streams: s, Backend: h, Args: flags.Args(), Format: "value"}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	t.Fatal("no session list")
	return ""
}

// columns keeps some cells of each line.
func columns(text string, keep ...int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		var kept []string
		for _, k := range keep {
			kept = append(kept, cells[k])
		}
		lines = append(lines, strings.Join(kept, " "))
	}
	return lines
}

func TestASessionIsItsRunsOnEveryNode(t *testing.T) {
	t.Parallel()
	h := history{
		"n1": {
			run("s1", "n1", "a", api.StateSucceeded, 0, time.Second),
			run("s2", "n1", "a", api.StateFailed, 5*time.Second, 6*time.Second),
			run("s3", "n1", "a", api.StateFailed, 7*time.Second, 8*time.Second),
		},
		"n2": {
			run("s1", "n2", "b", api.StateSucceeded, time.Second, 11*time.Second),
			run("s2", "n2", "a", api.StateSucceeded, 5*time.Second, 6*time.Second),
			run("s3", "n2", "a", api.StateRunning, 7*time.Second, 0),
		},
	}

	got := columns(list(t, h), 0, 1, 2, 3, 4, 5)
	want := []string{
		"s1 succeeded 2 0 2 2", // all of it did
		"s2 failed 2 1 2 1",    // one of it failed
		"s3 running 2 1 2 1",   // one of it still runs
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"11s om a instance stop (+1)"}, columns(list(t, h, "--state", "succeeded"), 8, 9)); diff != "" {
		t.Error(diff)
	}
}
