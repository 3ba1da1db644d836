package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
)

const (
	// settleWait is how long an action waits for a launch in progress.
	settleWait = launchWait + 2*time.Second
	// statusWait is how long a status does.
	statusWait = 2 * time.Second
)

// members are the processes of a simple app.
type members struct {
	main      proc.Identity // zero: no record tells
	mainAlive bool
	broken    error    // why the record does not tell
	others    []member // not looked for by find when main is alive
}

// member is a process other than the main one.
type member struct {
	proc.Identity

	session string // id of the action that started it, empty when nothing tells
	foreign bool   // started for a former object of the same path
}

// all lists the processes alive, the main one first.
func (m members) all() []proc.Identity {
	ids := m.those(func(member) bool { return true })
	if !m.mainAlive {
		return ids
	}
	return append([]proc.Identity{m.main}, ids...)
}

// those lists the processes other than the main one that match.
func (m members) those(match func(member) bool) []proc.Identity {
	var ids []proc.Identity
	for _, o := range m.others {
		if match(o) {
			ids = append(ids, o.Identity)
		}
	}
	return ids
}

func (m members) foreign() []proc.Identity { return m.those(func(o member) bool { return o.foreign }) }

// settled waits for the launch in progress, if there is one: it goes on when the
// action that began it was killed.
func (a *simple) settled(ctx context.Context, wait time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return launch.Settle(limited, a.record())
}

// find tells whether the process is alive, and when it is not, which processes
// are there without it.
func (a *simple) find(ctx context.Context) (members, error) {
	if m := a.recorded(); m.mainAlive {
		return m, nil
	}
	return a.look(ctx)
}

func (a *simple) recorded() (m members) {
	r, err := launch.ReadRecord(a.record())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.broken = err
	}
	m.main = r.Identity
	m.mainAlive = m.main.Alive()
	return m
}

// look finds every process of the application: those of its control group, those
// of the session of the main one, and those that a start left anywhere, which the
// environment tells. Once the leader of a session is gone its number may lead
// another one: those of that session whose environment is another one are not ours.
func (a *simple) look(ctx context.Context) (members, error) {
	m := a.recorded()
	traced, err := a.trace().Find(ctx)
	if err != nil {
		return m, err
	}
	seen := map[int]bool{os.Getpid(): true}
	if m.mainAlive {
		seen[m.main.Pid] = true
	}
	for _, t := range traced {
		if !seen[t.Pid] {
			seen[t.Pid] = true
			m.others = append(m.others, member{Identity: t.Identity, session: t.Session, foreign: t.ObjectID != a.env.ObjectID})
		}
	}
	for _, list := range []func(ctx context.Context) ([]proc.Identity, error){a.grouped, m.session} {
		err := each(ctx, list, func(id proc.Identity) {
			if !seen[id.Pid] {
				seen[id.Pid] = true
				m.others = append(m.others, member{Identity: id})
			}
		})
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

// each calls add for the processes of a list that are alive. One that ends meanwhile
// may leave a child that the list does not have: then it lists again.
func each(ctx context.Context, list func(ctx context.Context) ([]proc.Identity, error), add func(proc.Identity)) error {
	gone := map[proc.Identity]bool{}
	for again := true; again; {
		again = false
		ids, err := list(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if id.Alive() {
				add(id)
			} else if !gone[id] {
				gone[id], again = true, true
			}
		}
	}
	return nil
}

// session lists the processes of the session of the main one; once that is gone,
// those alone whose environment does not tell whose they are.
func (m members) session(ctx context.Context) ([]proc.Identity, error) {
	if m.main.IsZero() || !m.main.ThisBoot() {
		return nil, nil
	}
	table, err := proc.List(ctx)
	if err != nil {
		return nil, err
	}
	ids := m.main.Session(table)
	if !m.mainAlive {
		ids = slices.DeleteFunc(ids, func(id proc.Identity) bool { return !overwritten(ctx, id.Pid) })
	}
	return ids, nil
}

// overwritten reports whether a process wrote over the environment it was executed
// with, as those do that show what they are at in the process table. One that is
// gone counts, for it may have left a child.
func overwritten(ctx context.Context, pid int) bool {
	env, err := proc.Environ(ctx, pid)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	return err == nil && !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })
}

// grouped lists the processes of the control group.
func (a *simple) grouped(context.Context) ([]proc.Identity, error) {
	if a.env.Cgroup == "" {
		return nil, nil
	}
	tree, err := cgroup.Open()
	if err != nil {
		return nil, err
	}
	pids, err := tree.Procs(a.env.Cgroup)
	if err != nil {
		return nil, err
	}
	ids := make([]proc.Identity, 0, len(pids))
	for _, pid := range pids {
		id, err := proc.Of(pid)
		if err != nil {
			id = proc.Identity{Pid: pid} // it has ended
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (a *simple) trace() process.Trace {
	return process.Trace{Root: a.env.Host.Paths.Root, Path: a.env.Path, RID: a.env.RID}
}

// Remains implements [resource.Remainer].
func (a *simple) Remains(ctx context.Context) (string, error) {
	if err := a.settled(ctx, settleWait); err != nil {
		return "", err
	}
	m, err := a.look(ctx)
	left := m.all()
	if err != nil || len(left) == 0 {
		return "", err
	}
	return pids(left), nil
}

// everyone is every process, for a stop to end.
func (a *simple) everyone(ctx context.Context) ([]proc.Identity, error) {
	m, err := a.look(ctx)
	return m.all(), err
}

// left is what a former run left, for a start to end. What this action started
// already is no leftover.
func (a *simple) left(ctx context.Context) ([]proc.Identity, error) {
	m, err := a.look(ctx)
	if m.mainAlive {
		return nil, err
	}
	return m.those(func(o member) bool { return !o.foreign && (o.session == "" || o.session != a.env.Session) }), err
}

// own is what this action started, for it to end when it fails.
func (a *simple) own(ctx context.Context) ([]proc.Identity, error) {
	m, err := a.look(ctx)
	ids := m.those(func(o member) bool { return !o.foreign && (o.session == "" || o.session == a.env.Session) })
	return ids, err
}

// told says what is known of the processes without a main one.
func (m members) told(stop string) string {
	others, foreign := m.those(func(o member) bool { return !o.foreign }), m.foreign()
	var words []string
	if m.broken != nil {
		words = append(words, m.broken.Error())
	}
	switch {
	case len(others) == 0:
	case m.main.IsZero():
		words = append(words, fmt.Sprintf("%s of a former run still there, and no record tells which is the main one: `%s` ends them", pids(others), stop))
	default:
		words = append(words, fmt.Sprintf("process %d has ended but left %s running", m.main.Pid, pids(others)))
	}
	if len(foreign) > 0 {
		words = append(words, fmt.Sprintf("%s of a former object of the same name still there: `%s` ends them", pids(foreign), stop))
	}
	return strings.Join(words, "; ")
}

func pids(ids []proc.Identity) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(id.Pid)
	}
	if len(words) == 1 {
		return "process " + words[0]
	}
	return "processes " + strings.Join(words, ", ")
}
