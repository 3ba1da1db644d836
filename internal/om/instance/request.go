package instance

import (
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Request is an action asked on the local instance of an object.
type Request struct {
	Action Action

	RID    []string // resource ids, groups or globs
	Tag    []string // "a+b" is both, several entries are either
	Subset []string
	To     string // last resource of the walk

	Force           bool
	DryRun          bool
	DisableRollback bool
	Leader          bool // provision, unprovision: this node does what only one may do
	StateOnly       bool // provision, unprovision: only set the flags
	NoLock          bool
	Confirm         bool          // run: answers yes to the confirmation of a task
	Cron            bool          // run: only the tasks the schedule would run now
	WaitLock        time.Duration // for the action in progress to end; 0 is [DefaultWaitLock], [NoWait] not at all
	Env             []string      // added to the environment of the commands, KEY=value

	// What follows names the request in logs and locks; it is no flag.
	Session       string   // sid, made when empty
	Exec          string   // eid
	Orchestration string   // oid
	Origin        string   // user, daemon/api, daemon/monitor...; empty is user
	Command       []string // command line as typed; made when empty
}

// Who may ask for an action.
const (
	OriginUser      = "user"
	OriginAPI       = "daemon/api"
	OriginMonitor   = "daemon/monitor"
	OriginScheduler = "daemon/scheduler"
)

// DefaultWaitLock is how long an action waits for another one to end.
const DefaultWaitLock = 30 * time.Second

// NoWait is the wait of who does not want to wait at all.
const NoWait time.Duration = -1

// Flags is where [Request.Bind] declares flags; *pflag.FlagSet is one.
type Flags interface {
	BoolVar(p *bool, name string, value bool, usage string)
	StringVar(p *string, name, value, usage string)
	StringSliceVar(p *[]string, name string, value []string, usage string)
	StringArrayVar(p *[]string, name string, value []string, usage string)
	DurationVar(p *time.Duration, name string, value time.Duration, usage string)
}

// Bind declares the flags the action understands, into the request.
func (r *Request) Bind(f Flags) {
	t, _ := r.Action.traits()
	if t.selects {
		f.StringSliceVar(&r.RID, "rid", nil, "act on these resources: ids, driver groups or globs")
		f.StringSliceVar(&r.Tag, "tag", nil, "act on the resources having these tags: a+b for both, a,b for either")
		f.StringSliceVar(&r.Subset, "subset", nil, "act on the resources of these subsets")
	}
	if t.walks {
		f.StringVar(&r.To, "to", "", "stop the walk after this resource or group")
		f.BoolVar(&r.DryRun, "dry-run", false, "print what would be done, do nothing")
		f.StringArrayVar(&r.Env, "env", nil, "add KEY=value to the environment of the commands")
	}
	if t.walks || r.Action == Delete {
		f.BoolVar(&r.Force, "force", false, "override the safety checks")
	}
	if t.locks {
		f.BoolVar(&r.NoLock, "no-lock", false, "do not take the action lock")
		f.DurationVar(&r.WaitLock, "waitlock", DefaultWaitLock, "how long to wait for the action in progress")
	}
	if t.rollback {
		f.BoolVar(&r.DisableRollback, "disable-rollback", false, "on error, leave what was done in place")
	}
	if t.provisions {
		f.BoolVar(&r.Leader, "leader", false, "act on the shared resources too, as only one node may")
		f.BoolVar(&r.StateOnly, "state-only", false, "only flag the resources")
	}
	if r.Action == Run {
		f.BoolVar(&r.Confirm, "confirm", false, "answer yes to the confirmations of the tasks")
		f.BoolVar(&r.Cron, "cron", false, "run the tasks their schedule would run now, and only those")
	}
}

// Args is the inverse of parsing the flags of [Request.Bind]: the shortest
// command line that gives the same request.
func (r Request) Args() []string {
	var args []string
	list := func(name string, values []string) {
		if len(values) > 0 {
			args = append(args, "--"+name+"="+strings.Join(values, ","))
		}
	}
	flag := func(name string, set bool) {
		if set {
			args = append(args, "--"+name)
		}
	}
	list("rid", r.RID)
	list("tag", r.Tag)
	list("subset", r.Subset)
	if r.To != "" {
		args = append(args, "--to="+r.To)
	}
	flag("dry-run", r.DryRun)
	flag("force", r.Force)
	for _, e := range r.Env {
		args = append(args, "--env="+e)
	}
	flag("no-lock", r.NoLock)
	if r.WaitLock != 0 && r.WaitLock != DefaultWaitLock {
		args = append(args, "--waitlock="+max(r.WaitLock, 0).String()) // [NoWait] is 0s
	}
	flag("disable-rollback", r.DisableRollback)
	flag("leader", r.Leader)
	flag("state-only", r.StateOnly)
	flag("confirm", r.Confirm)
	flag("cron", r.Cron)
	return args
}

// selects reports whether the request names resources.
func (r Request) selects() bool { return len(r.RID) > 0 || len(r.Tag) > 0 || len(r.Subset) > 0 }

// Partial reports whether the request is restricted to some resources.
func (r Request) Partial() bool {
	return r.selects() || r.To != ""
}

// complete fills what the request leaves out.
func (r Request) complete(p object.Path) Request {
	if r.Session == "" {
		r.Session = uuid.NewString()
	}
	if r.Origin == "" {
		r.Origin = OriginUser
	}
	if r.WaitLock == 0 {
		r.WaitLock = DefaultWaitLock
	}
	if len(r.Command) == 0 {
		r.Command = append([]string{"om", p.String(), "instance", string(r.Action)}, r.Args()...)
	}
	r.Command = MaskCommand(r.Command)
	return r
}

// logAttrs are the ids every line about the request carries.
func logAttrs(p object.Path, r Request) []any {
	attrs := []any{slog.String("object", p.String())}
	for _, id := range [][2]string{{"sid", r.Session}, {"eid", r.Exec}, {"oid", r.Orchestration}} {
		if id[1] != "" {
			attrs = append(attrs, slog.String(id[0], id[1]))
		}
	}
	return attrs
}
