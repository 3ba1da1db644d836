// Package program is krops-bootstrap as the lab runs it: all of it, with the
// clusters of the lab for those of kind, and able to kill itself.
package program

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// Main runs the program and exits.
func Main() {
	program.Main("krops-bootstrap", func(p program.Process, signals func() context.Context) int {
		p.Version = "lab"
		o := krops.Overrides{Sink: newWatcher()}
		if socket := os.Getenv(lab.KindEnv); socket != "" {
			o.Site = func(s *site.Options) { s.Kinds = lab.Kinds{Socket: socket} }
		}
		return krops.RunWith(signals(), p, o)
	})
}

// watcher writes the events of a run down, and kills the process at one of them.
type watcher struct {
	mu    sync.Mutex
	file  *os.File
	event string // at which the process dies
	step  string
	left  int // events until then
}

func newWatcher() *watcher {
	w := &watcher{}
	if name := os.Getenv(lab.EventsEnv); name != "" {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			panic(err)
		}
		w.file = file
	}
	var at string
	w.event, at, _ = strings.Cut(os.Getenv(lab.DieEnv), ":")
	if n, err := strconv.Atoi(at); err == nil {
		w.left = n
	} else {
		w.step = at
	}
	return w
}

// Event implements [run.Sink].
func (w *watcher) Event(e run.Event) {
	if e.Name == run.Progress || e.Step.ID == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		_, _ = fmt.Fprintf(w.file, "%s %s\n", e.Name, e.Step.ID) // the test misses it
	}
	if string(e.Name) != w.event {
		return
	}
	if w.left--; w.left == 0 || e.Step.ID == w.step {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // there is no way to fail
		select {}
	}
}
