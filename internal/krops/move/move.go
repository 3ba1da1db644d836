package move

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// Options says what is moved, and how patiently.
type Options struct {
	Source, Target Cluster
	Namespace      string
	Say            func(format string, a ...any) // progress; nil says nothing

	// IdleBudget is how long the controllers of the source may take to come to
	// rest, Quiet how long nothing may change then, and Patience how long a server
	// may not answer. Zero is a sound value.
	IdleBudget, Quiet, Patience time.Duration
	Now                         func() time.Time
	// Wrote is told of each write before it is sent; nil is told of none.
	Wrote func()
}

const (
	idleBudget = 3 * time.Minute
	quiet      = 3 * time.Second
	patience   = time.Minute
	// queryPatience is for questions that are asked again anyway.
	queryPatience = 5 * time.Second
	// undoBudget is how long lifting the pauses may take when the caller has gone.
	undoBudget = time.Minute
)

// Result is what was moved.
type Result struct {
	Objects  int      // of the source
	Operator []string // what stays paused, because its operator paused it
}

// FailedError tells that a move failed before anything was deleted: the source has
// everything.
type FailedError struct {
	Check string // what was being done
	Err   error
	// Resumed tells that what the move had paused runs again.
	Resumed bool
}

// Error says what failed, and in what state the source is.
func (f *FailedError) Error() string {
	state := "the source cluster is as it was"
	if !f.Resumed {
		state = "the source cluster has everything, but its Clusters are still paused: run the same command again, which lifts that"
	}
	return fmt.Sprintf("%s: %v (%s)", f.Check, f.Err, state)
}

// Unwrap returns what failed.
func (f *FailedError) Unwrap() error { return f.Err }

type mover struct {
	Options

	source, target *side
	step           string // what is being done
}

func begin(o Options) (*mover, error) {
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, d := range []struct {
		given *time.Duration
		sound time.Duration
	}{{&o.IdleBudget, idleBudget}, {&o.Quiet, quiet}, {&o.Patience, patience}} {
		if *d.given <= 0 {
			*d.given = d.sound
		}
	}
	m := &mover{Options: o}
	var err error
	if m.source, err = open("source", counted{o.Source, o.Wrote}, o.Patience); err != nil {
		return nil, err
	}
	m.target, err = open("target", counted{o.Target, o.Wrote}, o.Patience)
	return m, err
}

// counted is a cluster whose writes are told of.
type counted struct {
	Cluster

	wrote func()
}

// Config returns what reaches the cluster.
func (c counted) Config() *rest.Config {
	config := c.Cluster.Config()
	if c.wrote != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return teller{next, c.wrote} })
	}
	return config
}

type teller struct {
	next  http.RoundTripper
	wrote func()
}

// RoundTrip tells of a request that writes.
func (t teller) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !r.URL.Query().Has("dryRun") {
		t.wrote()
	}
	return t.next.RoundTrip(r)
}

// Move moves the inventory of a namespace, or finishes a move that was begun. It
// may be called again after a crash at any instruction.
func Move(ctx context.Context, o Options) (Result, error) {
	m, err := begin(o)
	if err != nil {
		return Result{}, err
	}
	j, err := m.source.journal(ctx, m.Namespace)
	if err != nil {
		return Result{}, err
	}
	record, err := m.target.record(ctx, m.Namespace)
	if err != nil {
		return Result{}, err
	}
	if err := fit(j, record); err != nil {
		return Result{}, err
	}
	var operator []string
	if j == nil || j.phase != removing {
		if j, operator, err = m.prepare(ctx, j, record); err != nil {
			return Result{}, err
		}
	} else {
		m.Say("Finishing a move that was begun: the target cluster has everything")
	}
	if err := m.finish(ctx, j); err != nil {
		return Result{}, fmt.Errorf("the target cluster has everything, and the source cluster not any more; run the same command again to finish: %w", err)
	}
	return Result{Objects: len(j.items), Operator: operator}, nil
}

// fit checks that the two records are of one move.
func fit(j, record *journal) error {
	const advice = "look at ConfigMap " + journalName + " of the source cluster and ConfigMap " + recordName + " of the target cluster"
	switch {
	case record == nil || record.phase == done && (j == nil || j.phase != removing):
		return nil
	case j == nil:
		return fmt.Errorf("the target cluster has the copies of a move (%s) that this source cluster knows nothing of: they came from another one; %s", record.phase, advice)
	case j.move != record.move:
		return fmt.Errorf("the target cluster has the copies of another move than the one this source cluster has begun; %s", advice)
	case record.phase == complete && j.phase != removing:
		return fmt.Errorf("the target cluster says it has everything, and the source cluster is at %q; %s", j.phase, advice)
	}
	return nil
}

// prepare brings a move to the point of no return. A failure before it leaves the
// source as it was.
func (m *mover) prepare(ctx context.Context, j, record *journal) (*journal, []string, error) {
	m.step = "look at what is to be moved"
	g, err := m.source.discover(ctx, m.Namespace)
	if err == nil && j != nil && j.phase == done && len(g.of(kube.CAPICluster)) == 0 {
		return j, nil, nil
	}
	var prior map[key]bool
	if err == nil {
		m.step = "check that it can be moved"
		prior, err = m.preflight(ctx, g, j)
	}
	if err == nil {
		err = m.target.ensureNamespace(ctx, m.Namespace)
	}
	if err == nil {
		err = m.rehearse(ctx, g)
	}
	if err != nil && (j == nil || j.phase != pausing && j.phase != copying) {
		return nil, nil, err // nothing was touched
	}
	next := &journal{phase: pausing}
	if j != nil {
		next.version, next.move = j.version, j.move
		if j.phase != done {
			next.items = j.items
		}
	}
	var operator []string
	if err == nil {
		operator, err = m.transfer(ctx, g, prior, next, record)
	}
	if err == nil {
		return next, operator, nil
	}
	return nil, nil, m.undo(ctx, err)
}

// transfer pauses, copies and verifies.
func (m *mover) transfer(ctx context.Context, g *graph, prior map[key]bool, j, record *journal) (operator []string, err error) {
	m.step = "note that a move begins"
	if err := m.source.write(ctx, m.Namespace, journalName, j); err != nil {
		return nil, err
	}
	m.step = "pause the Clusters of the source cluster"
	m.Say("Pausing %s in the source cluster", count(len(g.of(kube.CAPICluster)), "Cluster"))
	if operator, err = m.source.pause(ctx, g.pausable()); err != nil {
		return nil, err
	}
	for _, name := range operator {
		m.Say("%s was paused by its operator and stays so", name)
	}
	m.step = "wait for the controllers of the source cluster to rest"
	settled, err := m.idle(ctx)
	if err != nil {
		return nil, err
	}
	if !same(g, settled) {
		m.step = "check again what can be moved"
		if prior, err = m.preflight(ctx, settled, j); err != nil {
			return nil, err
		}
		if len(settled.pausable()) != len(g.pausable()) {
			return nil, errors.New("another Cluster appeared meanwhile; run the same command again")
		}
	}
	m.step = "remove stale copies of an earlier try"
	if err := m.prune(ctx, settled, j); err != nil {
		return nil, err
	}
	m.step = "note what is copied"
	j.phase, j.items = copying, settled.items(prior)
	if err := m.source.write(ctx, m.Namespace, journalName, j); err != nil {
		return nil, err
	}
	note := &journal{move: j.move, phase: copying}
	if record != nil {
		note.version = record.version
	}
	if err := m.target.write(ctx, m.Namespace, recordName, note); err != nil {
		return nil, err
	}
	m.step = "copy the objects to the target cluster"
	m.Say("Copying %s to the target cluster", count(len(j.items), "object"))
	copied, err := m.copy(ctx, j.items)
	if err != nil {
		return nil, err
	}
	m.step = "verify that the target cluster has everything"
	if err := m.verify(ctx, settled, j.items, copied); err != nil {
		return nil, err
	}
	m.Say("Verified %s in the target cluster", count(len(j.items), "object"))
	m.step = "note that the target cluster has everything"
	return operator, m.commit(ctx, j)
}

// commit passes the point of no return. When it is not certain whether it did, it
// asks until it is.
func (m *mover) commit(ctx context.Context, j *journal) error {
	j.phase = removing
	if err := ctx.Err(); err != nil {
		return err
	}
	err := m.source.write(ctx, m.Namespace, journalName, j)
	if err == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBudget)
	defer cancel()
	now, unknown := m.source.journal(limited, m.Namespace)
	switch {
	case unknown != nil:
		return &uncertainError{err}
	case now != nil && now.phase == removing:
		j.version = now.version
		return nil
	}
	return err
}

// uncertainError tells that it is not known whether the point of no return is passed.
type uncertainError struct{ err error }

func (u *uncertainError) Error() string { return u.err.Error() }
func (u *uncertainError) Unwrap() error { return u.err }

// undo lifts the pauses of a move that failed before anything was deleted.
func (m *mover) undo(ctx context.Context, cause error) error {
	failed := &FailedError{Check: m.step, Err: cause}
	if _, unsure := errors.AsType[*uncertainError](cause); unsure {
		return failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoBudget)
	defer cancel()
	failed.Resumed = m.source.release(ctx, m.Namespace) == nil
	return failed
}

// release lifts the pauses of a move that is not past the point of no return, and
// notes that. It does nothing about any other.
func (s *side) release(ctx context.Context, namespace string) error {
	j, err := s.journal(ctx, namespace)
	if err != nil {
		return err
	}
	if j == nil || j.phase != pausing && j.phase != copying {
		return nil
	}
	if err := s.resume(ctx, namespace); err != nil {
		return err
	}
	j.phase = released
	return s.write(ctx, namespace, journalName, j)
}

// same tells whether two graphs move the same objects.
func same(a, b *graph) bool {
	list := func(g *graph) string {
		var text strings.Builder
		for _, n := range g.moved() {
			text.WriteString(n.key.String() + " " + string(n.uid) + "\n")
		}
		return text.String()
	}
	return list(a) == list(b)
}

func (g *graph) items(prior map[key]bool) []item {
	var list []item
	for _, n := range g.moved() {
		list = append(list, item{key: n.key, kind: n.kind, uid: n.uid, level: n.level, keep: n.keep, prior: prior[n.key]})
	}
	return list
}

// prune removes the copies of an earlier try whose originals are no more.
func (m *mover) prune(ctx context.Context, g *graph, j *journal) error {
	now := map[key]bool{}
	for _, n := range g.moved() {
		now[n.key] = true
	}
	for _, i := range backwards(j.items) {
		if now[i.key] || i.prior || i.keep {
			continue
		}
		i.uid = ""
		if err := m.target.remove(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// finish deletes what was moved at the source and resumes the target.
func (m *mover) finish(ctx context.Context, j *journal) error {
	if j.phase == done {
		return nil
	}
	record, err := m.target.record(ctx, m.Namespace)
	if err != nil {
		return err
	}
	if record == nil {
		record = &journal{}
	}
	if record.phase != done {
		if err := m.guard(ctx, j); err != nil {
			return err
		}
		record.move, record.phase = j.move, complete
		if err := m.target.write(ctx, m.Namespace, recordName, record); err != nil {
			return err
		}
	}
	m.Say("Removing %s from the source cluster", count(len(j.items), "object"))
	for _, i := range backwards(j.items) {
		if i.keep {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.source.remove(ctx, i); err != nil {
			return err
		}
	}
	if record.phase != done {
		m.Say("Resuming the Clusters in the target cluster")
		if err := m.target.unpause(ctx, m.Namespace, record); err != nil {
			return err
		}
	}
	j.phase = done
	return m.source.write(ctx, m.Namespace, journalName, j)
}

// unpause lifts the pauses of the move at the target and notes that it is over.
func (s *side) unpause(ctx context.Context, namespace string, record *journal) error {
	if err := s.resume(ctx, namespace); err != nil {
		return err
	}
	record.phase = done
	return s.write(ctx, namespace, recordName, record)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
