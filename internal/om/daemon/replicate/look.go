package replicate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/writer"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/replication"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// here is what the node has of a configuration.
type here struct {
	has      bool
	text     store.Text
	checksum string
}

// look brings the version of a configuration up to date with its file, announces it,
// and does what it decides. It is to be looked at again after wait, when that is not
// zero.
func (r *Replicator) look(ctx context.Context, i *item) (wait time.Duration, err error) {
	select {
	case r.looks <- struct{}{}:
	case <-ctx.Done():
		return 0, nil
	}
	held := true
	release := func() {
		if held {
			held = false
			<-r.looks
		}
	}
	defer release()

	at, wait, err := r.update(i)
	if err != nil || wait > 0 {
		return wait, err
	}
	if r.isExpired(i) {
		r.o.Log.Warn("too many deletions wait for nodes that stay away: the oldest is forgotten", slog.String("object", i.path.String()))
		if err := r.drop(i); err != nil {
			return 0, err
		}
		return 0, r.publish(i, at)
	}
	d := replication.Decide(r.world(i))
	r.tell(i, d)
	return r.do(ctx, i, at, d, release)
}

// update reads the file, and takes note of what happened to it.
func (r *Replicator) update(i *item) (at here, wait time.Duration, err error) {
	if at, err = r.read(i.path); err != nil {
		return at, 0, err
	}
	deletion, err := r.o.Store.Deletion(i.path)
	if err != nil {
		r.o.Log.Warn("a deletion", slog.Any("err", err))
	}
	if err := r.conclude(i, at); err != nil {
		return at, 0, err
	}
	version := i.version()
	leaving := at.has && deletion != nil && deletion.Checksum == at.checksum && at.text.ModTime.Equal(deletion.ModTime)
	switch {
	case at.has && !leaving && deletion == nil && version.Fate == replication.Alive && version.Checksum == at.checksum:
		// the file of the version
	case leaving:
		// it is being removed
	case at.has:
		if wait, err = r.edited(i, at, deletion != nil); err != nil || wait > 0 {
			return at, wait, err
		}
	case deletion != nil && !version.IsGone():
		if err := r.save(i, version.Removed(r.self, r.goalOf(i) == purged, stampOf(deletion.At))); err != nil {
			return at, 0, err
		}
		r.setGoal(i, "")
		r.o.Log.Info("the object was deleted", slog.String("object", i.path.String()))
	case version.Fate == replication.Alive && !version.IsZero():
		if i.missing.IsZero() {
			i.missing = time.Now()
		}
		if left := removalDelay - time.Since(i.missing); left > 0 {
			return at, left, nil
		}
	}
	if at.has {
		i.missing = time.Time{}
	}
	if deletion != nil && !leaving {
		if err := r.o.Store.DeletionNoted(i.path); err != nil {
			return at, 0, err
		}
	}
	i.legacy = false
	return at, 0, r.publish(i, at)
}

func (r *Replicator) setGoal(i *item, goal string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i.goal = goal
}

// goalOf is the deletion that is under way here, or was.
func (r *Replicator) goalOf(i *item) string {
	if o := r.o.State.View().Objects[i.path]; o != nil {
		if local := o.Instances[r.self]; local.Monitor != nil && isEnd(local.Monitor.GlobalExpect) {
			return local.Monitor.GlobalExpect
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return i.goal
}

func (i *item) version() replication.Version {
	if i.record == nil {
		return replication.Version{}
	}
	return i.record.Version
}

// read reads the file of an object.
func (r *Replicator) read(p object.Path) (here, error) {
	text, err := r.o.Store.Text(p)
	if missing := (*object.NotFoundError)(nil); errors.As(err, &missing) {
		return here{}, nil
	}
	if err != nil {
		return here{}, err
	}
	if text.ModTime.IsZero() {
		return here{}, nil // cluster.conf, which is empty when it is not there
	}
	return here{has: true, text: text, checksum: checksum(text.Data)}, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// conclude takes note of the end of an install that was interrupted.
func (r *Replicator) conclude(i *item, at here) error {
	if i.record == nil || i.record.Next == nil {
		return nil
	}
	if next := *i.record.Next; at.has && at.checksum == next.Checksum {
		return r.save(i, next)
	}
	return r.save(i, i.record.Version)
}

// edited makes the version of a file that is another one than was recorded. again: the
// object was deleted from the cluster in between.
func (r *Replicator) edited(i *item, at here, again bool) (wait time.Duration, err error) {
	if busy, err := writer.Busy(r.o.Store.FileName(i.path)); err != nil || busy {
		return busyDelay, nil //nolint:nilerr // gone, or to be read once it is written
	}
	if still, err := r.read(i.path); err != nil || still.checksum != at.checksum {
		return time.Nanosecond, err // at once
	}
	if _, err := config.Parse(at.text.Data); err != nil {
		return 0, fmt.Errorf("it cannot be read, and the other nodes keep the last one that can: %w", err)
	}
	was, stamp := i.version(), stampOf(at.text.ModTime)
	if again {
		was = was.Removed(r.self, false, stamp)
	}
	if (was.IsZero() || was.IsGone()) && !i.legacy {
		// Made now: it is another object than any that was heard of by that name.
		r.mu.Lock()
		stamp = max(stamp, r.stamp+1)
		r.mu.Unlock()
	}
	if err := r.save(i, was.Edited(r.self, at.checksum, stamp)); err != nil {
		return 0, err
	}
	r.o.Log.Debug("the configuration changed", slog.String("object", i.path.String()))
	return 0, nil
}

// stampOf is a time as versions have it.
func stampOf(t time.Time) uint64 {
	return uint64(max(t.UnixNano(), 0))
}

// timeOf is the inverse.
func timeOf(stamp uint64) time.Time {
	return time.Unix(0, int64(min(stamp, math.MaxInt64)))
}

// save makes a version that of the record, durably.
func (r *Replicator) save(i *item, v replication.Version) error {
	return r.saveRecord(i, &record{Path: i.path, Version: v})
}

func (r *Replicator) saveRecord(i *item, one *record) error {
	if one.Version.IsZero() && one.Next == nil {
		return r.drop(i)
	}
	if err := r.records.save(one); err != nil {
		return err
	}
	i.record = one
	r.mu.Lock()
	r.seen(one.Version.At, one.Version.Born)
	if one.Version.IsGone() {
		r.gone[i.path] = one.Version.At
		r.expire()
	} else {
		delete(r.gone, i.path)
	}
	r.mu.Unlock()
	return nil
}

// expire has the oldest deletion forgotten when there are too many; the lock is held.
func (r *Replicator) expire() {
	if len(r.gone) <= r.maxGone {
		return
	}
	var oldest object.Path
	for p, at := range r.gone {
		if oldest.IsZero() || at < r.gone[oldest] {
			oldest = p
		}
	}
	select {
	case r.expired <- oldest:
	default: // after the one before
	}
}

// isExpired tells whether a deletion is the one that is not remembered any more.
func (r *Replicator) isExpired(i *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, gone := r.gone[i.path]
	if !gone || len(r.gone) <= r.maxGone {
		return false
	}
	for _, other := range r.gone {
		if other < at {
			return false
		}
	}
	return true
}

// drop forgets what is known of a configuration.
func (r *Replicator) drop(i *item) error {
	if err := r.records.remove(i.path); err != nil {
		return err
	}
	i.record, i.missing, i.idle, i.retired = nil, time.Time{}, time.Time{}, false
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.gone, i.path)
	return nil
}

// publish announces the version of the file here, or of the end of the object.
func (r *Replicator) publish(i *item, at here) error {
	v := i.version()
	i.has = at.has && v.Fate == replication.Alive && v.Checksum == at.checksum
	was := i.scope
	i.scope = nil
	if i.has {
		doc, err := config.Parse(at.text.Data)
		if err != nil {
			return err
		}
		if i.scope, err = r.o.Store.Scope(i.path, doc); err != nil {
			return err
		}
		if !slices.Equal(was, i.scope) {
			r.isFor(i, at, doc)
		}
	}
	if i.has || v.IsGone() {
		r.say(keyOf(i.path), replication.Told{Version: v, Scope: i.scope})
	} else {
		r.say(keyOf(i.path), nil)
	}
	return nil
}

// isFor tells of a configuration that is for others.
func (r *Replicator) isFor(i *item, at here, doc *config.Document) {
	if i.path == object.Cluster() || slices.Contains(i.scope, r.self) {
		return
	}
	e := event.InstanceConfigFor{Path: i.path, Node: r.self, Scope: i.scope, UpdatedAt: at.text.ModTime}
	if settings, err := r.o.Store.ObjectOf(i.path, doc, ""); err == nil {
		e.Orchestrate = settings.Orchestrate
	}
	r.o.Bus.Publish(e)
}

// world is what is known of a configuration, here and by the others.
func (r *Replicator) world(i *item) replication.World {
	w := replication.World{
		Own:        replication.Own{Node: r.self, Version: i.version(), Has: i.has, Scope: i.scope},
		Peers:      map[string]replication.Told{},
		Everywhere: i.path == object.Cluster(),
		Nodes:      r.o.State.View().Config.Nodes,
	}
	for node, text := range r.o.State.Announced(keyOf(i.path)) {
		if node == r.self {
			continue
		}
		told, err := replication.ParseTold(text)
		if err != nil {
			if r.said.News(node+" "+i.path.String(), err.Error()) {
				r.o.Log.Warn("what a peer says of a configuration is ignored", slog.String("peer", node), slog.String("object", i.path.String()), slog.Any("err", err))
			}
			continue
		}
		w.Peers[node] = told
		r.mu.Lock()
		r.seen(told.At, told.Born)
		r.mu.Unlock()
	}
	all := r.o.State.Announced(toldKey)
	for _, node := range w.Nodes {
		if _, ok := all[node]; !ok && node != r.self {
			w.Silent = append(w.Silent, node)
		}
	}
	return w
}

// tell says, once, which edits made elsewhere lose to what is here.
func (r *Replicator) tell(i *item, d replication.Decision) {
	if len(d.Overruled) == 0 {
		i.overruled = nil
		return
	}
	for _, peer := range d.Overruled {
		told, err := replication.ParseTold(r.o.State.Announced(keyOf(i.path))[peer])
		if err != nil || i.overruled[peer] == told.Checksum {
			continue
		}
		if i.overruled == nil {
			i.overruled = map[string]string{}
		}
		i.overruled[peer] = told.Checksum
		r.o.Log.Warn("the configuration was edited on two sides: this one wins, the other one is archived where it was",
			slog.String("object", i.path.String()), slog.String("peer", peer))
	}
}
