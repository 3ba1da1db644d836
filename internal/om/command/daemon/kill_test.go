package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// killer is a history whose nodes are asked for signals; n2 does not answer.
type killer struct {
	history

	asked *[]api.ExecKill
}

func (k killer) Kill(_ context.Context, q api.ExecKill) ([]api.Exec, error) {
	*k.asked = append(*k.asked, q)
	if q.Node == "n2" {
		return nil, errors.New("n2 does not answer")
	}
	return []api.Exec{run("s1", q.Node, "web", api.StateRunning, 0, 0)}, nil
}

func killed(t *testing.T, args ...string) (asked []api.ExecKill, out string, err error) {
	t.Helper()
	k := killer{asked: &asked}
	runner := daemon.Kill().New(k)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	runner.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = runner.Run(t.Context(), &verb.Call{Streams: &iostreams.Streams{Out: &b, Err: &b}, Backend: k, Args: flags.Args()})
	return asked, b.String(), err
}

func TestWhatWasListedIsWhatIsSignaled(t *testing.T) {
	t.Parallel()
	asked, _, err := killed(t, "--session-id", "s1", "-s", "web*", "--rid", "app#1", "--origin", "api", "--orchestration-id", "o1", "--signal", "hup", "--dry-run", "e1")
	want := []api.ExecKill{{
		ExecQuery: api.ExecQuery{
			NodeName: api.NodeName{Node: api.Localhost}, SessionID: "s1", Selector: "web*", Rid: "app#1", Origin: "api", OrchestrationID: "o1", ExecID: "e1",
		},
		Signal: "hup", DryRun: true,
	}}
	if diff := cmp.Diff(want, asked); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestNothingIsSignaledWhenNothingIsSaid(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--signal", "KILL"}, {"--node", "*"}, {"--dry-run"}} {
		if asked, _, err := killed(t, args...); err == nil || len(asked) > 0 || !strings.Contains(err.Error(), "say what to signal") {
			t.Errorf("%q: %v, asked %v", args, err, asked)
		}
	}
}

func TestANodeThatDoesNotAnswerKeepsNoOtherFromBeingTold(t *testing.T) {
	t.Parallel()
	asked, out, err := killed(t, "--node", "*", "--session-id", "s1")
	if len(asked) != 2 || !strings.Contains(out, "web") || err == nil || !strings.Contains(err.Error(), "n2 does not answer") {
		t.Errorf("asked %v, %v\n%s", asked, err, out)
	}
}
