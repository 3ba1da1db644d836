// Package tui is the terminal interface of ox: the cluster on one screen, live, to
// move around in and to act from.
//
// It is a [Model], a value: Update takes a key or news of the cluster, View draws.
// What it does to the world are commands, which go through [World] and [Cluster].
//
//	contexts ─▶ grid ─▶ object ─▶ instance ─▶ resource
//	              └───▶ node   ─▶ instance
//	anywhere: logs, configuration, events, help, actions with a confirmation
//
// The state comes from one snapshot and then from the events of the daemon, so that
// a quiet cluster costs nothing; when the stream breaks it is opened again.
package tui

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// World is where clusters are found.
type World interface {
	// Contexts lists the contexts of the user.
	Contexts() ([]Context, error)
	// Open returns the cluster of a context, that of the command line for "".
	Open(context string) (Cluster, error)
	// Login exchanges a password for the session of a context.
	Login(ctx context.Context, context string, password secret.String) error
}

// Context is a context that may be chosen.
type Context struct {
	Name, Server, User, Namespace string
	Authenticated                 bool
}

// Cluster is a cluster to look at and to act on.
type Cluster interface {
	ClusterStatus(ctx context.Context, selector string) (api.ClusterStatus, error)
	// EventsFrom calls opened once what happens is in the stream.
	EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error]
	ConfigFile(ctx context.Context, p object.Path) (configure.File, error)
	Orchestrate(ctx context.Context, p object.Path, a cmdobject.Action) (string, error)
	WaitOrchestration(ctx context.Context, id string, limit time.Duration) (api.Orchestration, error)
	ActOn(ctx context.Context, node string, p object.Path, a instance.Action) (api.InstanceActionAccepted, error)
	WaitExec(ctx context.Context, node, id string, limit time.Duration) (api.Exec, error)
	FreezeNode(ctx context.Context, node string, frozen bool) error
	NewSession() string
	// Logs sends the last lines of the log of a node, then those that come; those of
	// one object when it is given.
	Logs(ctx context.Context, node string, p object.Path) iter.Seq2[LogLine, error]
	// Wanted tells whether the namespace in force leaves an object in.
	Wanted(p object.Path) bool
}

// LogLine is a line of a log.
type LogLine struct {
	At      time.Time
	Level   string
	Object  string
	Rid     string
	Message string
}

// LoginNeeded is implemented by the errors that a login takes away.
type LoginNeeded interface {
	error
	LoginContext() string
	// WithPassword is whether a password is what it needs.
	WithPassword() bool
}
