package app

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
)

// members are the processes of a simple app.
type members struct {
	main      proc.Identity
	mainAlive bool
	others    []proc.Identity // not looked for by find when main is alive
}

// all lists the processes alive, the main one first.
func (m members) all() []proc.Identity {
	if !m.mainAlive {
		return m.others
	}
	return append([]proc.Identity{m.main}, m.others...)
}

// find tells whether the process is alive, and when it is not, which processes
// it left behind.
func (a *simple) find() (members, error) {
	m, err := a.recorded()
	if err != nil || m.mainAlive {
		return m, err
	}
	return a.complete(m)
}

func (a *simple) recorded() (m members, err error) {
	r, err := launch.ReadRecord(a.record())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return m, err
	}
	m.main = r.Identity
	m.mainAlive = m.main.Alive()
	return m, nil
}

// everyone finds every process of the application: those of a run that nothing
// recorded any more too.
func (a *simple) everyone() ([]proc.Identity, error) {
	m, err := a.recorded()
	if err == nil {
		m, err = a.complete(m)
	}
	if err != nil || a.env.Cgroup != "" {
		return m.all(), err
	}
	all := m.all()
	table, err := proc.List()
	if err != nil {
		return all, err
	}
	for _, p := range table {
		id, err := proc.Of(p.Pid)
		if err == nil && id.StartTime == p.StartTime && !p.Ended() && !slices.Contains(all, id) && a.started(p.Pid) {
			all = append(all, id)
		}
	}
	return all, nil
}

// started reports whether a process comes from a start of this resource, by this
// agent, other than the one in progress. The environment says so: where processes
// are not grouped, nothing else does once the record is gone.
func (a *simple) started(pid int) bool {
	env, err := proc.Environ(pid)
	if err != nil {
		return false
	}
	find := func(name string) string {
		for _, e := range slices.Backward(env) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
	if find("OPENSVC_RID") != a.env.RID || find("OPENSVC_SVCPATH") != a.env.Path.String() || find("OSVC_ROOT_PATH") != a.env.Host.Paths.Root {
		return false
	}
	return find("OPENSVC_SID") != a.env.Session && slices.Contains([]string{"start", "startstandby", "restart", "provision"}, find("OPENSVC_ACTION"))
}

// Remains implements [resource.Remainer].
func (a *simple) Remains(context.Context) (string, error) {
	left, err := a.everyone()
	if err != nil || len(left) == 0 {
		return "", err
	}
	return pids(left), nil
}

// complete adds the processes of the same control group, and those of the same
// session. Once the leader of a session is gone its number may lead another one:
// then only those that were started for this resource count.
func (a *simple) complete(m members) (members, error) {
	seen := map[int]bool{m.main.Pid: true, os.Getpid(): true}
	if a.env.Cgroup != "" {
		tree, err := cgroup.Open()
		if err != nil {
			return m, err
		}
		pids, err := tree.Procs(a.env.Cgroup)
		if err != nil {
			return m, err
		}
		for _, pid := range pids {
			if id, err := proc.Of(pid); err == nil && !seen[pid] && id.Alive() {
				seen[pid] = true
				m.others = append(m.others, id)
			}
		}
	}
	if m.main.IsZero() || !m.main.ThisBoot() {
		return m, nil
	}
	table, err := proc.List()
	if err != nil {
		return m, err
	}
	for _, id := range m.main.Session(table) {
		ours := m.mainAlive || proc.HasEnv(id.Pid, "OPENSVC_ID="+a.env.ObjectID, "OPENSVC_RID="+a.env.RID)
		if ours && !seen[id.Pid] {
			seen[id.Pid] = true
			m.others = append(m.others, id)
		}
	}
	return m, nil
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
