package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

const (
	// coalesce is how long a burst of changes is collected before it is handled.
	coalesce = 5 * time.Millisecond
	// pollEvery is how often everything is looked at when it cannot be watched.
	pollEvery = 5 * time.Second
)

// Run reads everything, then what changes, until ctx ends.
func (d *Discovery) Run(ctx context.Context) error {
	w := &watching{d: d, dirty: map[object.Path]bool{}, flags: map[object.Path]bool{}}
	for _, dir := range []string{d.o.Paths.Etc(), d.o.Paths.Var()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	var events <-chan fsnotify.Event
	var errs <-chan error
	if fsw, err := d.watcher(); err != nil {
		w.blind(err)
	} else {
		defer fsw.Close() //nolint:errcheck // nothing was written
		w.fsw, events, errs = fsw, fsw.Events, drained(fsw.Errors)
	}
	w.scan(ctx)
	close(d.ready)

	flush := time.NewTimer(time.Hour)
	flush.Stop()
	poll := time.NewTimer(time.Hour)
	if !w.polling {
		poll.Stop()
	}
	pending := false
	for {
		if w.polling {
			poll.Reset(d.pollEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if w.note(e) && !pending {
				pending = true
				flush.Reset(coalesce)
			}
		case err := <-errs:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				d.o.Log.Warn("changes came faster than they could be read: everything is looked at again", slog.Any("err", err))
			} else {
				d.o.Log.Warn("watch", slog.Any("err", err))
			}
			w.scan(ctx)
		case <-flush.C:
			pending = false
			w.flush(ctx)
		case <-poll.C:
			w.scan(ctx)
		}
	}
}

// drained takes the errors of a watcher as they come, and keeps one: each has
// everything looked at again. The library sends them under the lock that adding a
// watch takes: whoever adds must not be the one who receives.
func drained(errs <-chan error) <-chan error {
	last := make(chan error, 1)
	go func() { // ends when the watcher is closed
		for err := range errs {
			select {
			case last <- err:
			default:
			}
		}
	}()
	return last
}

func newWatcher() (*fsnotify.Watcher, error) { return fsnotify.NewBufferedWatcher(256) }

// watching is the state of the loop of Run.
type watching struct {
	d       *Discovery
	fsw     *fsnotify.Watcher // nil: blind
	polling bool

	dirty    map[object.Path]bool // configurations to read
	flags    map[object.Path]bool // flags to look at
	site     bool                 // cluster.conf or node.conf
	nodeFlag bool
}

// blind says why something cannot be watched, once, and goes over to polling.
func (w *watching) blind(err error) {
	if w.polling {
		return
	}
	w.polling = true
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		hint = "raise fs.inotify.max_user_watches: one watch is needed per object"
	case errors.Is(err, syscall.EMFILE):
		hint = "raise fs.inotify.max_user_instances, or the limit of open files"
	}
	w.d.o.Log.Error("the configurations cannot be watched: they are looked at every few seconds instead",
		slog.Any("err", err), slog.String("reason", hint))
}

func (w *watching) add(dir string) {
	if w.fsw == nil {
		return
	}
	if err := w.fsw.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.blind(fmt.Errorf("watch %s: %w", dir, err))
	}
}

// note takes in an event; true when there is something to do about it.
func (w *watching) note(e fsnotify.Event) bool {
	etc, inEtc := under(w.d.o.Paths.Etc(), e.Name)
	state, inVar := under(w.d.o.Paths.Var(), e.Name)
	switch {
	case inEtc && strings.HasSuffix(etc, ".conf"):
		return w.noteConfig(etc)
	case inEtc && e.Has(fsnotify.Create) && etcDir(etc):
		w.walkEtc(e.Name)
		return true
	case inEtc && etcDir(etc) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)):
		w.noteKnown() // a directory moved away takes its files along without a word
		return true
	case inVar && slices.Contains(flagNames[:], filepath.Base(state)):
		return w.noteFlag(filepath.Dir(state))
	case inVar && e.Has(fsnotify.Create) && varDir(state):
		w.walkVar(e.Name)
		return true
	}
	return false
}

func (w *watching) noteConfig(rel string) bool {
	if rel == "node.conf" || rel == "cluster.conf" {
		w.site = true
	}
	if p, ok := object.FromConfigFile(rel); ok {
		w.dirty[p] = true
		return true
	}
	return w.site
}

func (w *watching) noteFlag(dir string) bool {
	if dir == "node" {
		w.nodeFlag = true
		return true
	}
	p, ok := fromStateDir(dir)
	if ok {
		w.flags[p] = true
	}
	return ok
}

// flush handles what was noted.
func (w *watching) flush(ctx context.Context) {
	if w.site {
		w.site = false
		w.d.readSite(ctx)
	}
	if w.nodeFlag {
		w.nodeFlag = false
		w.d.readNodeFlag()
	}
	paths := make([]object.Path, 0, len(w.dirty))
	for p := range w.dirty {
		paths = append(paths, p)
		w.add(filepath.Join(w.d.o.Paths.Var(), p.StateDir()))
	}
	clear(w.dirty)
	slices.SortFunc(paths, object.Compare)
	w.d.readAll(ctx, paths)
	for p := range w.flags {
		w.d.readFlags(p)
	}
	clear(w.flags)
}

// scan looks at everything: files that are there, and objects that were.
func (w *watching) scan(ctx context.Context) {
	d := w.d
	w.walkEtc(d.o.Paths.Etc())
	w.walkVar(d.o.Paths.Var())
	w.noteKnown()
	for p := range w.dirty {
		w.flags[p] = true
	}
	w.site, w.nodeFlag = true, true
	w.flush(ctx)
}

// noteKnown notes every object that was read: some may be gone.
func (w *watching) noteKnown() {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	for p := range w.d.objects {
		w.dirty[p] = true
	}
}

// walkEtc watches the directories of configurations from dir down, and notes the
// files in them. The watch comes first: what appears meanwhile is seen twice
// rather than not at all.
func (w *watching) walkEtc(dir string) {
	w.walk(w.d.o.Paths.Etc(), dir, etcDir, func(rel string) { w.noteConfig(rel) })
}

// walkVar does the same for the state directories and the flags.
func (w *watching) walkVar(dir string) {
	w.walk(w.d.o.Paths.Var(), dir, varDir, func(rel string) {
		if slices.Contains(flagNames[:], filepath.Base(rel)) {
			w.noteFlag(filepath.Dir(rel))
		}
	})
}

func (w *watching) walk(root, dir string, wanted func(rel string) bool, file func(rel string)) {
	if rel, ok := under(root, dir); !ok || rel != "." && !wanted(rel) {
		return
	}
	w.add(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			w.d.o.Log.Warn("read directory", slog.Any("err", err))
		}
		return
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if e.IsDir() {
			w.walk(root, name, wanted, file)
		} else if rel, ok := under(root, name); ok {
			file(rel)
		}
	}
}

// under returns name relative to root.
func under(root, name string) (string, bool) {
	rel, err := filepath.Rel(root, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// etcDir reports whether configurations are looked for in a directory: kind,
// namespaces, namespaces/ns and namespaces/ns/kind.
func etcDir(rel string) bool {
	parts := strings.Split(rel, "/")
	switch {
	case parts[0] != "namespaces":
		return len(parts) == 1 && isKind(parts[0])
	case len(parts) == 3:
		return isKind(parts[2])
	default:
		return len(parts) <= 3
	}
}

// varDir reports whether flags are looked for in a directory, or below it: node,
// kind/name, namespaces/ns/kind/name and what leads there.
func varDir(rel string) bool {
	parts := strings.Split(rel, "/")
	switch {
	case rel == "node":
		return true
	case parts[0] != "namespaces":
		return len(parts) <= 2 && isKind(parts[0])
	case len(parts) >= 3:
		return len(parts) <= 4 && isKind(parts[2])
	default:
		return true
	}
}

func isKind(s string) bool {
	_, err := object.ParseKind(s)
	return err == nil
}

// fromStateDir returns the object whose private directory is rel.
func fromStateDir(rel string) (object.Path, bool) {
	parts := strings.Split(rel, "/")
	if parts[0] == "namespaces" {
		parts = parts[1:]
	} else {
		parts = append([]string{object.RootNamespace}, parts...)
	}
	if len(parts) != 3 {
		return object.Path{}, false
	}
	p := object.Path{Namespace: parts[0], Kind: object.Kind(parts[1]), Name: parts[2]}
	return p, p.Validate() == nil && p.StateDir() == rel
}
