package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// deeds are what is done to the node as a whole, when its monitor decides so.
type deeds struct {
	executor *executor.Executor
	ending   *ending
	log      *slog.Logger
}

// freeze sets or lifts the freeze of the node.
func (d *deeds) freeze(ctx context.Context, frozen bool, orchestration string) error {
	action := "freeze"
	if !frozen {
		action = "unfreeze"
	}
	ids, err := d.executor.Submit(ctx, executor.Job{Args: []string{"node", action}, Origin: executor.OriginMonitor, OrchestrationID: orchestration})
	if err != nil {
		return fmt.Errorf("%s the node: %w", action, err)
	}
	r, err := d.executor.Wait(ctx, ids.ExecID)
	if err != nil {
		return fmt.Errorf("%s the node: %w", action, err)
	}
	if r.State == executor.Failed {
		return fmt.Errorf("%s the node: %s", action, r.Error)
	}
	return nil
}

// empty freezes the node, so that nothing starts, then shuts its svc and its vol
// instances down.
func (d *deeds) empty(ctx context.Context, orchestration string) error {
	d.log.Info("node drain", slog.String("oid", orchestration))
	if err := d.freeze(ctx, true, orchestration); err != nil {
		return err
	}
	var broken []error
	for _, kind := range []object.Kind{object.KindSvc, object.KindVol} {
		unread, err := d.ending.shutdownInstances(ctx, kind, orchestration)
		if broken = append(broken, unread); err != nil {
			return errors.Join(append(broken, err)...)
		}
	}
	return errors.Join(broken...)
}

// farewell tells the peers that this daemon ends on purpose, once it does: its
// silence is no failure, and what it leaves running is left to it for a while.
type farewell struct {
	ending *ending
	leave  func(ctx context.Context)
}

func (f farewell) run(ctx context.Context) error {
	<-ctx.Done()
	f.ending.announce()
	f.leave(context.WithoutCancel(ctx))
	return nil
}

// kernelArgs is the command line of the kernel; empty when it is not known.
func kernelArgs() string {
	text, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return ""
	}
	return string(text)
}

// passwords reads the passwords that sec objects hold.
func passwords(data *datastore.Data) func(name string) (secret.String, error) {
	return func(name string) (secret.String, error) {
		p, key, err := secretPlace(name)
		if err != nil {
			return secret.String{}, err
		}
		value, err := data.Decode(p, key)
		return secret.New(string(value)), err
	}
}

// secretPlace is the key that holds a secret: "password" of a sec object, or what
// "from <object> key <name>" says.
func secretPlace(text string) (object.Path, string, error) {
	key, words := "password", strings.Fields(text)
	if len(words) == 4 && words[0] == "from" && words[2] == "key" {
		text, key = words[1], words[3]
	}
	p, err := object.Parse(text)
	return p, key, err
}
