// Package resource is the contract between the instance engine and the
// drivers. A driver is two methods, [Driver], plus the capabilities it really
// has, each an interface of one method. What every resource shares (tags,
// subset, triggers...) is [Common], beside the driver, never inside it.
//
// The engine skips what is already in the wanted state, orders, times out, and
// undoes: a driver holds no rollback and no "already up" code.
package resource

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Driver is the least a resource driver does.
type Driver interface {
	// Keywords binds the configuration of the driver to its fields.
	Keywords(k *keyword.Table)
	// Status evaluates the resource, without changing anything.
	Status(ctx context.Context) State
}

// State is an evaluated status: Up, Down, Warn or NotApplicable, never a
// standby status (the engine turns them).
type State struct {
	Status cluster.Status
	Label  string // one line naming what the resource is
	Log    []cluster.ResourceLogEntry
	Info   map[string]any
}

// The capabilities. An action that needs one the driver lacks skips the resource.
type (
	// Starter brings the resource up.
	Starter interface {
		Start(ctx context.Context) error
	}
	// Stopper brings the resource down.
	Stopper interface {
		Stop(ctx context.Context) error
	}
	// Runner executes a task.
	Runner interface {
		Run(ctx context.Context) error
	}
	// Provisioner makes what the configuration describes, on the leader.
	Provisioner interface {
		Provision(ctx context.Context) error
	}
	// FollowerProvisioner makes what is needed on the other nodes.
	FollowerProvisioner interface {
		ProvisionFollower(ctx context.Context) error
	}
	// Unprovisioner destroys what was provisioned.
	Unprovisioner interface {
		Unprovision(ctx context.Context) error
	}
	// Provisioneder tells whether the thing exists, for drivers that can know.
	Provisioneder interface {
		Provisioned(ctx context.Context) (cluster.Provisioned, error)
	}
	// Booter cleans what the operating system activated at boot.
	Booter interface {
		Boot(ctx context.Context) error
	}
	// Enterer opens an interactive shell in the resource.
	Enterer interface {
		Enter(ctx context.Context) error
	}
	// Printer shows the last lines of what the resource has printed, and, when it is
	// asked to follow, those that come until ctx ends.
	Printer interface {
		Printed(ctx context.Context, lines int, follow bool) error
	}
	// Informer adds key-values to the resource info.
	Informer interface {
		Info(ctx context.Context) (map[string]string, error)
	}
	// Executor lists the executions of a task in progress.
	Executor interface {
		Executions() ([]cluster.Running, error)
	}
	// Remainer finds what runs of the resource though its status may be down: a
	// former run left it. A start is not put beside it, and a stop ends it. It is
	// empty when there is nothing, else names what there is.
	Remainer interface {
		Remains(ctx context.Context) (string, error)
	}
	// DeviceExposer has block devices, which other resources refer to as
	// {disk#1.exposed_devs}. It lists none while it is down.
	DeviceExposer interface {
		Devices() ([]string, error)
	}
	// Sorter orders resources of one set: lower keys start first.
	Sorter interface{ SortKey() string }
)

// Env is what a driver is given of its surroundings.
type Env struct {
	Host       host.Host
	Path       object.Path
	ObjectID   string
	RID        string // "app#1"
	StateDir   string // private directory of the resource, made by whoever writes in it
	CommandDir string // where relative commands are searched first, "<etc>/<name>.d"
	Cgroup     string // "/opensvc.slice/...": where its processes go, empty when not grouped
	Log        *slog.Logger
	// Vars is the whole environment of the commands run for the resource, KEY=value.
	Vars []string
	// Data reads a key of a cfg or sec object ("VAR=name/key" environments).
	Data func(path object.Path, key string) ([]byte, error)
	// Installation is what keys are laid down as files with.
	Installation Installation
	// Renew renews the certificate of a sec, and says what it did. Nil: it cannot.
	Renew func(ctx context.Context, r Renewal) (string, error)
	// Apart runs what may hang, as a look at a filesystem: see [Env.Beside]. Nil: there
	// is nobody who remembers what hangs.
	Apart func(ctx context.Context, what string, limit time.Duration, f func() error) error
	// Head is the directory of another resource of the object.
	Head    func(rid string) (string, error)
	Session string // id of the action in progress
	Force   bool   // the action asked to override safety checks
	Confirm bool   // the action answers yes to the confirmations
	// Terminal is where a shell in the resource reads and writes; TTY tells that it is
	// a terminal indeed. Zero: nobody is there.
	Terminal host.Terminal
	TTY      bool
	// Scheduled tells that the scheduler of the daemon asked for the action: it has
	// marked the run.
	Scheduled bool
}

// Beside runs f, and gives up on it after a while: it may then still go on. While it
// does, the next of the same kind of the resource is an error at once.
func (e Env) Beside(ctx context.Context, what string, limit time.Duration, f func() error) error {
	if e.Apart == nil {
		return f()
	}
	return e.Apart(ctx, e.Path.FQN()+" "+e.RID+" "+what, limit, f)
}

// Infof logs, for people, what is done to the resource.
func (e Env) Infof(format string, a ...any) { e.logf(slog.LevelInfo, format, a...) }

// Warnf logs what went wrong without being fatal.
func (e Env) Warnf(format string, a ...any) { e.logf(slog.LevelWarn, format, a...) }

// Errorf logs what failed.
func (e Env) Errorf(format string, a ...any) { e.logf(slog.LevelError, format, a...) }

// logf writes sentences: they are what a person reads while an action goes on.
func (e Env) logf(level slog.Level, format string, a ...any) {
	if e.Log != nil {
		e.Log.Log(context.Background(), level, fmt.Sprintf(format, a...)) //nolint:sloglint // see above; handlers need no context
	}
}

// Spec declares a driver.
type Spec struct {
	Group string // "app"
	Name  string // "simple"
	Doc   string // what it does, full sentences
	Kinds []object.Kind
	New   func(Env) Driver
	// Processes tells that the driver leaves processes running, or runs some that
	// take long: they are put in a control group of the resource.
	Processes bool
}

// ID is "group.name".
func (s Spec) ID() string { return s.Group + "." + s.Name }
