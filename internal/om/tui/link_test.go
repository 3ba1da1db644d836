package tui_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

// watching runs the interface on a terminal, in virtual time.
func watching(t *testing.T, w *world, someone func(term *watchtest.Terminal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.events = make(chan api.Event)
		term := watchtest.New(100, 20)
		ended := make(chan error, 1)
		go func() {
			ended <- screen.Run(t.Context(), term.Streams(), term, tui.New(w, tui.Options{Now: time.Now()}))
		}()
		someone(term)
		term.Press("Q")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		term.Close()
		if faults := term.Faults(); len(faults) > 0 {
			t.Errorf("%v", faults)
		}
	})
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual
	synctest.Wait()
}

func TestWhatHappensIsSeenWithoutAsking(t *testing.T) {
	t.Parallel()
	w := &world{status: lab()}
	watching(t, w, func(term *watchtest.Terminal) {
		pass(time.Second)
		if got := term.String(); !strings.Contains(got, "live") || !strings.Contains(got, "web                up!*  ha 1/1  |  O!^") {
			t.Errorf("at first\n%s", got)
		}
		w.events <- event(t, "ObjectStatusUpdated", `{"path":"web","node":"node1","object_status":{"avail":"down","overall":"down","topology":"failover","orchestrate":"ha"}}`)
		w.events <- event(t, "InstanceStatusUpdated", `{"path":"web","node":"node1","instance_status":{"avail":"down","overall":"down"}}`)
		w.events <- event(t, "InstanceConfigUpdated", `{"path":"foreign/svc/x","node":"node1","instance_config":{}}`)
		before := term.Writes()
		pass(time.Second)
		if got := term.String(); !strings.Contains(got, "web                down  ha 0/1  |  X^") || strings.Contains(got, "foreign") {
			t.Errorf("after the events\n%s", got)
		}
		if n := term.Writes() - before; n > 3 {
			t.Errorf("%d writes for one change", n)
		}
		if got := w.done(); got != "events\nstatus" {
			t.Errorf("it asked for\n%s", got)
		}
		before = term.Writes()
		pass(10 * time.Minute)
		if n := term.Writes() - before; n > 0 {
			t.Errorf("%d writes while nothing happened", n)
		}
	})
}

func TestAReaderThatLostEventsAsksAgain(t *testing.T) {
	t.Parallel()
	w := &world{status: lab()}
	watching(t, w, func(term *watchtest.Terminal) {
		pass(time.Second)
		s := lab()
		s.Cluster.Object["fresh"] = cluster.Object{Avail: cluster.Up}
		w.set(s)
		w.events <- event(t, api.Resync, `{"lost":3}`)
		pass(time.Second)
		if got := term.String(); !strings.Contains(got, "fresh") {
			t.Error(got)
		}
	})
}

func TestAConnectionThatBreaksIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := &world{status: lab()}
	watching(t, w, func(term *watchtest.Terminal) {
		pass(time.Second)
		w.mu.Lock()
		w.err = errCut
		close(w.events)
		w.mu.Unlock()
		pass(500 * time.Millisecond)
		if got := term.String(); !strings.Contains(got, "lost 0s") || !strings.Contains(got, "the link is cut · trying again") || !strings.Contains(got, "web") {
			t.Errorf("cut\n%s", got)
		}
		pass(time.Minute)
		if got := term.String(); !strings.Contains(got, "lost 1m") || !strings.Contains(got, errCut.Error()) {
			t.Errorf("a minute later\n%s", got)
		}
		w.mu.Lock()
		w.err, w.events = nil, make(chan api.Event)
		w.mu.Unlock()
		pass(time.Minute)
		if got := term.String(); !strings.Contains(got, "live") || strings.Contains(got, errCut.Error()) {
			t.Errorf("again\n%s", got)
		}
	})
}

// A key makes it try at once.
func TestOneNeedNotWaitForTheNextTry(t *testing.T) {
	t.Parallel()
	w := &world{status: lab(), err: errCut}
	watching(t, w, func(term *watchtest.Terminal) {
		pass(time.Minute)
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		term.Press("r")
		pass(200 * time.Millisecond)
		if got := term.String(); !strings.Contains(got, "live") {
			t.Error(got)
		}
	})
}

func TestALoginIsAskedForWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	w := &world{status: lab(), locked: true}
	watching(t, w, func(term *watchtest.Terminal) {
		pass(time.Second)
		if got := term.String(); !strings.Contains(got, "password for ") {
			t.Error(got)
		}
		if term.State().CursorHidden {
			t.Error("there is no cursor where something is to be typed")
		}
		term.Press("right\r")
		pass(time.Second)
		if got := term.String(); !strings.Contains(got, "live") || strings.Contains(term.Log(), "right") {
			t.Error(got)
		}
	})
}
