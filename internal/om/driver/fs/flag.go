// Package fs has the drivers of filesystems, directories and flag files.
package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Flag is the driver of flag files.
var Flag = resource.Spec{
	Group: "fs",
	Name:  "flag",
	Doc:   "A file in memory whose presence says that the instance is started. It vanishes when the host reboots. It gives a status to an object that has nothing else to show, and lets scripts know where the object is up.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New:   func(e resource.Env) resource.Driver { return &flag{env: e} },
}

type flag struct{ env resource.Env }

// Keywords implements [resource.Driver].
func (*flag) Keywords(*keyword.Table) {}

func (f *flag) file() string {
	return filepath.Join(f.env.Host.Paths.Shm(), f.env.Path.StateDir(), f.env.RID+".flag")
}

// Status implements [resource.Driver].
func (f *flag) Status(context.Context) resource.State {
	state := resource.State{Status: cluster.Up, Label: f.file()}
	if _, err := os.Lstat(f.file()); errors.Is(err, os.ErrNotExist) {
		state.Status = cluster.Down
	} else if err != nil {
		state.Status = cluster.Warn
		state.Log = []cluster.ResourceLogEntry{{Level: "error", Message: err.Error()}}
	}
	return state
}

// Start implements [resource.Starter].
func (f *flag) Start(context.Context) error {
	f.env.Infof("install flag file %s", f.file())
	if err := os.MkdirAll(filepath.Dir(f.file()), 0o755); err != nil { //nolint:gosec // scripts of any user may look
		return err
	}
	file, err := os.OpenFile(f.file(), os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // as above
	if err != nil {
		return err
	}
	return file.Close()
}

// Stop implements [resource.Stopper].
func (f *flag) Stop(context.Context) error {
	f.env.Infof("uninstall flag file %s", f.file())
	if err := os.Remove(f.file()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("uninstall flag file: %w", err)
	}
	// The directory may hold the flags of other resources: it goes with the last.
	_ = os.Remove(filepath.Dir(f.file()))
	return nil
}

var (
	_ resource.Starter = (*flag)(nil)
	_ resource.Stopper = (*flag)(nil)
)
