package replicate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/replication"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// lookAgain is how soon what is under way is looked at again, if nothing tells.
const lookAgain = 5 * time.Second

// do does what was decided. release lets others look, before something that lasts.
func (r *Replicator) do(ctx context.Context, i *item, at here, d replication.Decision, release func()) (wait time.Duration, err error) {
	if d.Verdict != replication.Forget {
		i.idle = time.Time{}
	}
	if d.Verdict != replication.Delete {
		i.retired = false
	}
	switch d.Verdict {
	case replication.Keep:
		r.well(i)
		return 0, nil
	case replication.Missing:
		if r.said.News(i.path.String(), "missing") {
			r.o.Log.Warn("the configuration was removed by hand: it comes back from the first node that has it",
				slog.String("object", i.path.String()), slog.String("peer", strings.Join(d.Wait, " ")))
		}
		return 0, nil
	case replication.Note:
		if err := r.save(i, d.Version); err != nil {
			return 0, err
		}
		return time.Nanosecond, r.publish(i, at)
	case replication.Fetch:
		release()
		return r.fetch(ctx, i, at, d)
	case replication.Delete:
		return r.delete(ctx, i, at, d)
	case replication.Leave:
		return r.leave(ctx, i, at, d)
	case replication.Bury:
		r.o.Log.Warn("the configuration was removed by hand, and no node has it: the object is deleted", slog.String("object", i.path.String()))
		if err := r.save(i, i.version().Removed(r.self, false, stampOf(time.Now()))); err != nil {
			return 0, err
		}
		return time.Nanosecond, r.publish(i, at)
	case replication.Forget:
		return r.forget(i, at, d)
	}
	return 0, fmt.Errorf("verdict %s: nobody knows what to do", d.Verdict)
}

// well forgets what was said to be wrong.
func (r *Replicator) well(i *item) { r.said.Over(i.path.String()) }

// fetch gets the content of a version from a peer, and installs it.
func (r *Replicator) fetch(ctx context.Context, i *item, at here, d replication.Decision) (wait time.Duration, err error) {
	limited, cancel := context.WithTimeout(ctx, fetchTimeout*time.Duration(len(d.From)))
	defer cancel()
	r.mu.Lock()
	i.cancel = cancel
	r.mu.Unlock()
	file, err := r.fetchFrom(limited, i.path, d)
	r.mu.Lock()
	i.cancel = nil
	overtaken := i.again
	r.mu.Unlock()
	if err != nil {
		if overtaken {
			return 0, nil // another version was announced: it is looked at next
		}
		return 0, err
	}
	return r.install(ctx, i, at, d, file)
}

// fetchFrom asks the peers that have the content in turn, who wrote it first.
func (r *Replicator) fetchFrom(ctx context.Context, p object.Path, d replication.Decision) (File, error) {
	from := slices.Clone(d.From)
	slices.SortStableFunc(from, func(a, b string) int {
		switch d.Version.Writer {
		case a:
			return -1
		case b:
			return 1
		}
		return 0
	})
	var errs []error
	for _, node := range from {
		file, err := r.fetchOne(ctx, node, p)
		if err == nil && checksum(file.Data) != d.Version.Checksum {
			err = errors.New("it has another one by now")
		}
		if err == nil {
			return file, nil
		}
		errs = append(errs, fmt.Errorf("from %s: %w", node, err))
	}
	return File{}, fmt.Errorf("fetch the configuration: %w", errors.Join(errs...))
}

func (r *Replicator) fetchOne(ctx context.Context, node string, p object.Path) (File, error) {
	r.mu.Lock()
	turn := r.fetches[node]
	if turn == nil {
		turn = make(chan struct{}, maxFetches)
		r.fetches[node] = turn
	}
	r.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return File{}, ctx.Err()
	}
	defer func() { <-turn }()
	limited, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	return r.o.Fetch.Fetch(limited, node, p)
}

// install puts the content of a version in place.
func (r *Replicator) install(ctx context.Context, i *item, at here, d replication.Decision, file File) (wait time.Duration, err error) {
	next, was := d.Version, i.version()
	if d.Follows {
		next = was.Edited(r.self, next.Checksum, stampOf(time.Now()))
	}
	isNew, froze := was.IsZero() || was.IsGone(), false
	done, err := r.o.Store.Install(ctx, i.path, store.Incoming{
		Data: file.Data, ModTime: file.ModTime, Over: at.checksum, Archive: d.Lost && at.has,
		Before: func(doc *config.Document) (err error) {
			if isNew {
				if froze, err = r.freeze(i.path, doc); err != nil {
					return err
				}
			}
			return r.saveRecord(i, &record{Path: i.path, Version: was, Next: &next})
		},
	})
	if changed := (*store.ChangedError)(nil); errors.As(err, &changed) {
		return time.Nanosecond, nil // somebody edited it: that comes first
	}
	if err != nil {
		return 0, err
	}
	if done.Checksum != next.Checksum {
		next = next.Edited(r.self, done.Checksum, stampOf(done.ModTime)) // with secrets that are still needed
	}
	if err := r.save(i, next); err != nil {
		return 0, err
	}
	r.well(i)
	i.missing = time.Time{}
	r.o.Log.Info("the configuration of a peer is installed", slog.String("object", i.path.String()), slog.String("peer", d.Version.Writer))
	if froze {
		r.o.Log.Info("the new instance is frozen: unfreeze or provision the object once it is complete", slog.String("object", i.path.String()))
	}
	if d.Lost {
		r.conflict(i.path, was, next, done.Backup)
	}
	r.refresh(i.path)
	return time.Nanosecond, nil // for it to be announced, and compared again
}

// freeze freezes the instance of an object that is new here and that the daemon would
// start by itself, for it may not be complete.
func (r *Replicator) freeze(p object.Path, doc *config.Document) (bool, error) {
	if !p.Kind.Runs() || r.o.Freeze == nil {
		return false, nil
	}
	settings, err := r.o.Store.ObjectOf(p, doc, "")
	if err != nil || settings.Orchestrate != "ha" || len(settings.Nodes) < 2 {
		return false, nil //nolint:nilerr // the daemon starts nothing that it cannot read
	}
	return true, r.o.Freeze(p)
}

// conflict announces that an edit made here lost.
func (r *Replicator) conflict(p object.Path, lost, kept replication.Version, backup string) {
	e := event.ConfigFileConflict{
		Path: p, Node: r.self, File: r.o.Store.FileName(p), Backup: backup, Kept: edit(kept), Lost: edit(lost),
	}
	r.o.Bus.Publish(e)
	r.o.Log.Warn("the configuration was edited on two sides: the edit of the peer wins, the one made here is archived",
		slog.String("object", p.String()), slog.String("peer", kept.Writer), slog.String("reason", backup))
}

func edit(v replication.Version) event.ConfigEdit {
	return event.ConfigEdit{Node: v.Writer, At: timeOf(v.At), Checksum: v.Checksum, Deleted: v.IsGone()}
}

// refresh has the daemon read what was installed, or removed.
func (r *Replicator) refresh(p object.Path) {
	err := r.o.Discover.Refresh(p)
	if gone := (*object.NotFoundError)(nil); err != nil && !errors.As(err, &gone) {
		r.o.Log.Warn("read a configuration after its replication", slog.String("object", p.String()), slog.Any("err", err))
	}
}

// delete has an object that was deleted elsewhere deleted here. What runs is stopped
// and its data removed, when that was asked for, by the monitor; then the file goes.
func (r *Replicator) delete(ctx context.Context, i *item, at here, d replication.Decision) (wait time.Duration, err error) {
	if err := store.Protected(i.path); err != nil {
		if r.said.News(i.path.String(), err.Error()) {
			r.o.Log.Error("a peer deleted what the agent lives by: it is kept here", slog.String("object", i.path.String()), slog.String("peer", d.Version.Writer), slog.Any("err", err))
		}
		return 0, nil
	}
	if known := r.o.State.View().Objects[i.path]; i.path.Kind.Runs() && known != nil {
		if local, ok := known.Instances[r.self]; ok {
			if local.Monitor != nil && isEnd(local.Monitor.GlobalExpect) {
				return lookAgain, nil
			}
			return r.retire(ctx, i, d)
		}
	}
	backup, err := r.o.Store.Withdraw(ctx, i.path, at.checksum)
	if changed := (*store.ChangedError)(nil); errors.As(err, &changed) {
		return time.Nanosecond, nil
	}
	if err != nil {
		return 0, err
	}
	lost := i.version()
	if err := r.save(i, d.Version); err != nil {
		return 0, err
	}
	r.o.Log.Info("the object was deleted on a peer: the configuration is archived", slog.String("object", i.path.String()), slog.String("peer", d.Version.Writer), slog.String("reason", backup))
	if d.Lost {
		r.conflict(i.path, lost, d.Version, backup)
	}
	r.refresh(i.path)
	return time.Nanosecond, nil
}

// retire asks the monitor, which has more to do than to remove a file.
func (r *Replicator) retire(ctx context.Context, i *item, d replication.Decision) (wait time.Duration, err error) {
	if !i.retired {
		backup, err := r.o.Store.Archive(i.path)
		if err != nil {
			return 0, err
		}
		i.retired = true
		r.o.Log.Warn("the object was deleted on a peer while this node did not hear: so is it here", slog.String("object", i.path.String()),
			slog.String("peer", d.Version.Writer), slog.String("action", d.Version.Fate.String()), slog.String("reason", backup))
		if d.Lost {
			r.conflict(i.path, i.version(), d.Version, backup)
		}
	}
	if err := r.o.Retire(ctx, i.path, d.Version.Fate == replication.Purged); err != nil {
		return 0, fmt.Errorf("delete what a peer deleted: %w", err)
	}
	return lookAgain, nil
}

// leave archives and removes what is for others, who have it.
func (r *Replicator) leave(ctx context.Context, i *item, at here, d replication.Decision) (wait time.Duration, err error) {
	if known := r.o.State.View().Objects[i.path]; i.path.Kind.Runs() && known != nil {
		if local, ok := known.Instances[r.self]; ok && local.MayRun() {
			if r.said.News(i.path.String(), "leave") {
				r.o.Log.Warn("the object is not for this node any more, and its instance is not known to be down: stop it here, then the configuration is removed", slog.String("object", i.path.String()))
			}
			return lookAgain, nil
		}
	}
	backup, err := r.o.Store.Withdraw(ctx, i.path, at.checksum)
	if changed := (*store.ChangedError)(nil); errors.As(err, &changed) {
		return time.Nanosecond, nil
	}
	if err != nil {
		return 0, err
	}
	r.o.Log.Info("the object is not for this node: the configuration is archived", slog.String("object", i.path.String()), slog.String("reason", backup))
	if d.Lost {
		r.conflict(i.path, i.version(), d.Version, backup)
	}
	if err := r.drop(i); err != nil {
		return 0, err
	}
	r.well(i)
	r.refresh(i.path)
	return 0, r.publish(i, here{})
}

// forget drops what serves nobody: of a deletion, once everybody knew long enough.
func (r *Replicator) forget(i *item, at here, d replication.Decision) (wait time.Duration, err error) {
	if i.version().IsGone() && len(r.o.State.View().Config.Nodes) > 1 && d.Version.IsGone() {
		if i.idle.IsZero() {
			i.idle = time.Now()
		}
		if left := forgetAfter - time.Since(i.idle); left > 0 {
			return left, nil
		}
	}
	if err := r.drop(i); err != nil {
		return 0, err
	}
	return 0, r.publish(i, at)
}
