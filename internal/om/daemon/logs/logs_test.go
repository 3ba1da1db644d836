package logs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
)

// written is what reached the store.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.b.Reset()
	return w.b.String()
}

func newControl() (*logs.Control, *written) {
	w := &written{}
	return logs.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})), w
}

func TestTheLevelDecidesWhatIsStored(t *testing.T) {
	t.Parallel()
	c, w := newControl()
	api, other := c.Logger("api"), c.Logger("monitor")
	say := func() string {
		api.Debug("of the api")
		other.Debug("of the monitor")
		return w.take()
	}

	if got := say(); !strings.Contains(got, "api") || !strings.Contains(got, "monitor") {
		t.Errorf("at first: %s", got)
	}
	c.SetLevel(slog.LevelInfo)
	if got := say(); got != "" {
		t.Errorf("at info: %s", got)
	}
	if err := c.SetPartLevel("api", slog.LevelDebug); err != nil {
		t.Fatal(err)
	}
	if got := say(); !strings.Contains(got, "of the api") || strings.Contains(got, "monitor") {
		t.Errorf("with the api at debug: %s", got)
	}
	c.SetLevel(slog.LevelInfo)
	if got := say(); got != "" {
		t.Errorf("the level of the daemon is not that of its parts: %s", got)
	}
	if err := c.SetPartLevel("nosuch", slog.LevelDebug); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("a part there is not: %v", err)
	}
}

func TestEveryLevelHasAWord(t *testing.T) {
	t.Parallel()
	var all []slog.Level
	for _, word := range []string{"trace", "debug", "info", "warn", "error", "fatal", "panic", "none"} {
		l, err := logs.ParseLevel(word)
		if err != nil {
			t.Error(err)
		}
		all = append(all, l)
	}
	if !slices.IsSorted(all) || len(slices.Compact(all)) != 8 {
		t.Errorf("the levels are %v", all)
	}
	if _, err := logs.ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), `"loud"`) {
		t.Errorf("a level there is not: %v", err)
	}
}

func TestAnAuditorHearsWhatIsNotStored(t *testing.T) {
	t.Parallel()
	c, w := newControl()
	c.SetLevel(slog.LevelError)
	log := c.Logger("api").With(slog.String("peer", "usr1"))
	c.Logger("monitor")
	audit, err := c.Audit(logs.Trace, []string{"api"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()

	log.Debug("request", slog.Int("status", 200))
	c.Logger("monitor").Debug("not asked for")

	var line map[string]any
	if err := json.Unmarshal(<-audit.Lines(), &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != "request" || line["peer"] != "usr1" || line["level"] != "DEBUG" {
		t.Errorf("the auditor heard %v", line)
	}
	if len(audit.Lines()) != 0 || w.take() != "" {
		t.Error("more was heard, or stored, than asked for")
	}
}

func TestOneAuditAtATime(t *testing.T) {
	t.Parallel()
	c, _ := newControl()
	first, err := c.Audit(slog.LevelInfo, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Audit(slog.LevelInfo, nil, false); !errors.Is(err, logs.ErrAudited) {
		t.Errorf("a second audit: %v", err)
	}
	second, err := c.Audit(slog.LevelInfo, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	<-first.Ended()
	first.Close()
	c.Logger("api").Info("still heard")
	if len(second.Lines()) != 1 {
		t.Error("the end of the first audit ended the second one")
	}
	second.Close()
	third, err := c.Audit(slog.LevelInfo, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
}

// Who logs never waits for who listens.
func TestASlowAuditorLosesLinesAndIsTold(t *testing.T) {
	t.Parallel()
	c, _ := newControl()
	audit, err := c.Audit(slog.LevelInfo, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	log := c.Logger("api")
	const said = 5000
	for range said {
		log.Info("line")
	}
	if heard, lost := len(audit.Lines()), audit.Lost(); heard == 0 || uint64(heard)+lost != said {
		t.Errorf("%d heard, %d lost, of %d", heard, lost, said)
	}
}
