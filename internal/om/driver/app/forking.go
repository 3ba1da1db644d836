package app

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Forking is the driver of applications that a command starts and leaves running.
var Forking = resource.Spec{
	Group:     "app",
	Name:      "forking",
	Doc:       "An application that a command starts and leaves running in the background. The start ends when its command does; the status is told by the check command, for the agent does not know the processes.",
	Kinds:     []object.Kind{object.KindSvc},
	Processes: true,
	New:       func(e resource.Env) resource.Driver { return &forking{commands: commands{env: e}} },
}

type forking struct {
	commands
	startTimeout time.Duration
}

// Keywords implements [resource.Driver].
func (a *forking) Keywords(k *keyword.Table) {
	a.declare(k,
		"The command that starts the application and ends once it is started; true calls the script, false or nothing starts nothing.",
		"The command that stops the application and ends once it is stopped; true calls the script, false or nothing stops nothing.",
		"The command whose exit status tells whether the application is up, by retcodes; true calls the script. Without a check the status is n/a.")
	k.Duration(&a.startTimeout, "start_timeout", "How long the start may take. By default, timeout.").Scopable().Eg("1m")
}

// Status implements [resource.Driver].
func (a *forking) Status(ctx context.Context) resource.State {
	if state, ok := a.checked(ctx); ok {
		return state
	}
	return resource.State{
		Status: cluster.NotApplicable,
		Log:    []cluster.ResourceLogEntry{{Level: "info", Message: "check is not set"}},
	}
}

// Start implements [resource.Starter].
func (a *forking) Start(ctx context.Context) error {
	return a.verb(ctx, a.start, "start", a.startTimeout)
}

// Stop implements [resource.Stopper].
func (a *forking) Stop(ctx context.Context) error {
	return a.verb(ctx, a.stop, "stop", a.StopTimeout)
}

// infoError tells that the info command failed.
type infoError struct {
	command string
	code    int
	stderr  string
}

// Error names the command and its end.
func (e *infoError) Error() string {
	msg := fmt.Sprintf("info command %s: exit status %d", e.command, e.code)
	if e.stderr != "" {
		msg += ": " + e.stderr
	}
	return msg
}

var (
	_ resource.Starter  = (*forking)(nil)
	_ resource.Stopper  = (*forking)(nil)
	_ resource.Informer = (*forking)(nil)
)
