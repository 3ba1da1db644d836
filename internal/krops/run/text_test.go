package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// events are of each kind, of a verb.
func events(verb string) []run.Event {
	step := plan.Step{ID: "cluster-definition", Phase: "definition", Kind: plan.Wait, Title: "Waiting for the definition...", Waits: "Cluster default/x"}
	registry := plan.Step{ID: "registry", Title: "Creating registry container 'r'..."}
	skipped := plan.Step{ID: "suspend-flux", Title: "Suspending Flux Kustomizations..."}
	list := []run.Event{
		{Name: run.Begun},
		{Name: run.Skipped, Step: registry, Message: "Registry already running: r:5000", Already: true},
		{Name: run.Skipped, Step: skipped, Message: "No Flux Kustomizations found – skipping suspension", Already: true},
		{Name: run.Skipped, Step: skipped, Message: "nobody need know"},
		{Name: run.Started, Step: plan.Step{ID: "a", Gap: true, Title: "Step 5: Flux reconciliation progress"}, Message: "Step 5: Flux reconciliation progress"},
		{Name: run.Line, Message: "Run tags: run-id=x"},
		{Name: run.Detail, Message: "more\nand more"},
		{Name: run.Confirmed, Message: "it is"},
		{Name: run.Output, Message: "NAME READY\nx    True\n"},
		{Name: run.Done, Step: registry, Message: "Registry created and running: r:5000"},
		{Name: run.Started, Step: step, Message: step.Title},
		{Name: run.Progress, Step: step, Message: "no such Kustomization", Elapsed: 10 * time.Second, Budget: 40 * time.Minute},
		{Name: run.Progress, Step: step, Message: "no such Kustomization", Elapsed: 20 * time.Second, Budget: 40 * time.Minute},
		{Name: run.Progress, Step: step, Message: "it is\nnot Ready", Elapsed: 90 * time.Second, Budget: 40 * time.Minute},
		{Name: run.Warning, Step: step, Message: "one thing\nand its reason"},
		{Name: run.Trouble, Step: step, Message: "Cluster 'x' was not created within 40m.\nLook there."},
		{Name: run.Advice, Step: step, Message: "Flux creates it.\nRun it again."},
		{Name: run.Done, Step: step, Message: "It is there", Elapsed: 123 * time.Second},
		{Name: run.Stopping, Message: "interrupted: stopping"},
		{Name: run.Failed, Step: step, Message: "late: why", Err: fmt.Errorf("late: %w", errors.New("why"))},
		{Name: run.Said, Message: "✓ Teardown complete."},
		{Name: run.Finished, Message: "late: why", Err: errors.New("late: why"), Code: 1, Hint: "Go on with: krops-bootstrap"},
	}
	for i := range list {
		list[i].Verb, list[i].Environment = verb, "aws"
	}
	return list
}

func TestTheLinesOfABootstrap(t *testing.T) {
	t.Parallel()
	s, _, out, errs := iostreams.Test()
	text := run.NewText(s)
	for _, e := range events("bootstrap") {
		text.Event(e)
	}
	text.Close()
	same(t, out.String(), `    Registry already running: r:5000
>>> No Flux Kustomizations found – skipping suspension

>>> Step 5: Flux reconciliation progress
>>> Run tags: run-id=x
>>>   more
>>>   and more
✓   it is
NAME READY
x    True
    Registry created and running: r:5000
>>> Waiting for the definition...
>>>   waiting for Cluster default/x: no such Kustomization (10s of 40m)
>>>   waiting for Cluster default/x: it is; not Ready (1m30s of 40m)
>>>   took 2m3s
>>> It is there
✓ Teardown complete.
`, errs.String(), `WARNING: one thing
       and its reason
ERROR: Cluster 'x' was not created within 40m.
       Look there.
       Flux creates it.
       Run it again.
WARNING: interrupted: stopping
`)
}

func TestTheLinesOfATeardown(t *testing.T) {
	t.Parallel()
	s, _, out, errs := iostreams.Test()
	text := run.NewText(s)
	for _, e := range events("teardown") {
		text.Event(e)
	}
	text.Close()
	if got := out.String(); !strings.Contains(got, ">>> Suspending Flux Kustomizations...\n!   No Flux Kustomizations found – skipping suspension\n") ||
		!strings.Contains(got, "✓   It is there\n") {
		t.Error(got)
	}
	same(t, errs.String(), "!   one thing\n    and its reason\nERROR: Cluster 'x' was not created within 40m.\n       Look there.\n       Flux creates it.\n       Run it again.\n!   interrupted: stopping\n")
}

func TestAWaitThatDoesNotChangeIsALineAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, out, _ := iostreams.Test()
		text := run.NewText(s)
		step := plan.Step{ID: "w", Kind: plan.Wait, Waits: "it"}
		text.Event(run.Event{Name: run.Started, Step: step, Message: "Waiting..."})
		for i := range 30 {
			text.Event(run.Event{Name: run.Progress, Step: step, Message: "same", Elapsed: time.Duration(i) * 10 * time.Second, Budget: time.Hour})
			time.Sleep(10 * time.Second) //nolint:forbidigo // in the time of the bubble
		}
		text.Close()
		same(t, strings.Count(out.String(), "waiting for it: same"), 5)
	})
}

func TestATerminalHasOneLiveLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, out, errs := iostreams.Test()
		s.ErrTTY, s.Width = true, 40
		text := run.NewText(s)
		step := plan.Step{ID: "w", Kind: plan.Wait, Waits: "Cluster default/x"}
		text.Event(run.Event{Name: run.Started, Step: step, Message: "Waiting..."})
		text.Event(run.Event{Name: run.Progress, Step: step, Message: "a reason that is too long for the line", Elapsed: time.Minute, Budget: time.Hour})
		time.Sleep(2 * time.Second) //nolint:forbidigo // in the time of the bubble
		text.Event(run.Event{Name: run.Done, Step: step})
		text.Close()
		live := strings.Split(errs.String(), "\r\x1b[K")
		same(t, out.String(), ">>> Waiting...\n", live[len(live)-1], "")
		if last := live[len(live)-2]; !strings.Contains(last, "1m1s of 1h, waiting for Cluster") || len([]rune(last)) > 39 {
			t.Errorf("%q of %d", last, len(live))
		}
	})
}

func TestEventsAsJSONAreOneALine(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	sink := run.NewJSON(&b)
	all := events("bootstrap")
	for _, e := range all {
		sink.Event(e)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	same(t, len(lines), len(all))
	for _, line := range lines {
		var r struct {
			Event, Verb, Environment, Step, Message, Hint string
			Causes                                        []string
			Code                                          *int    `json:"exit_code"`
			Budget                                        float64 `json:"budget_seconds"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Event == "" || r.Verb != "bootstrap" || r.Environment != "aws" {
			t.Errorf("%v in %s", err, line)
		}
		switch r.Event {
		case "failed":
			same(t, r.Causes, []string{"late: why", "why"}, r.Step, "cluster-definition")
		case "finished":
			same(t, *r.Code, 1, r.Hint, "Go on with: krops-bootstrap")
		case "progress":
			same(t, r.Budget, 2400.0)
		}
	}
}

func TestTheLogOfAWorkflow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	summary := filepath.Join(t.TempDir(), "summary.md")
	sink := run.NewGitHub(&b, summary)
	for _, e := range events("bootstrap") {
		sink.Event(e)
	}
	text := b.String()
	for _, want := range []string{
		"::group::Waiting for the definition...\n", "::warning title=cluster-definition::one thing%0Aand its reason\n",
		"::error title=cluster-definition::late: why\n", ">>>   waiting for Cluster default/x: no such Kustomization (10s of 40m)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	same(t, strings.Count(text, "::group::"), strings.Count(text, "::endgroup::"))
	table, err := os.ReadFile(summary)
	if err != nil || !strings.Contains(string(table), "| ✗ | Waiting for the definition... late: why |") || !strings.Contains(string(table), "Go on with: krops-bootstrap") {
		t.Errorf("%v\n%s", err, table)
	}
}
