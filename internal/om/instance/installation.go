package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

// installation is what the resource rid lays down files with.
func (l *loaded) installation(rid string) resource.Installation {
	in := resource.Installation{
		Keys: l.engine.Keys, Version: l.engine.version, Networks: l.networks,
		Values: l.values,
		Ref: func(name string) (string, error) {
			l.configuring.Lock()
			defer l.configuring.Unlock()
			return l.ev.Expand(rid, "{"+name+"}")
		},
		Signal: l.signal,
	}
	in.MaxKeySize = func() int64 {
		node, err := l.store.Node()
		if err != nil {
			return 0
		}
		return node.MaxKeySize
	}
	in.Installed = func(ctx context.Context, files []string) {
		if l.engine.Notify != nil {
			l.engine.Notify.Installed(ctx, l.path, rid, files)
		}
	}
	return in
}

// version names the state of an object that holds keys.
func (e *Engine) version(p object.Path) string {
	file, err := e.Store.Load(p)
	if err != nil {
		return ""
	}
	return file.Checksum
}

// values evaluates the env section, as this node does.
func (l *loaded) values() (values map[string]string, failed map[string]error) {
	l.configuring.Lock()
	defer l.configuring.Unlock()
	values, failed = map[string]string{}, map[string]error{}
	for _, k := range l.file.Doc.Keys("env") {
		value, found, err := l.ev.Value("env", config.Option{Name: k.Option, Scopable: true, Inherit: config.LeafOnly})
		switch {
		case err != nil:
			failed[k.Option] = err
		case found:
			values[k.Option] = value
		}
	}
	return values, failed
}

// signal sends a signal to the processes of a resource. One that does not run
// will read the files when it starts.
func (l *loaded) signal(ctx context.Context, rid string, sig syscall.Signal) error {
	m := l.find(rid)
	if m == nil {
		return errors.New("the object has no such resource")
	}
	if m.Common.Disable {
		return nil
	}
	if err := l.ready(m); err != nil {
		return err
	}
	s, ok := m.Driver.(resource.Signaler)
	if !ok {
		return fmt.Errorf("driver %s has no process to send a signal to", m.Spec.ID())
	}
	to, err := s.Signal(ctx, sig)
	if err == nil && to != "" {
		m.env.Infof("send %s signal to %s", cmp.Or(unix.SignalName(sig), strconv.Itoa(int(sig))), to)
	}
	return err
}

// install brings the files of the selected resources up to date.
func (x *execution) install(ctx context.Context) error {
	var errs []error
	for _, m := range x.resources {
		installer, ok := m.Driver.(resource.Installer)
		if !ok || m.Common.Disable || !x.chosen(m) {
			continue
		}
		if err := x.ready(m); err != nil {
			errs = append(errs, fmt.Errorf("install %s: %w", m.RID, err))
			continue
		}
		if isDown(m.Driver.Status(ctx).Status) {
			m.env.Infof("down: nothing is installed")
			errs = append(errs, install.Forget(m.env.StateDir))
			continue
		}
		if err := installer.Install(ctx); err != nil {
			errs = append(errs, fmt.Errorf("install %s: %w", m.RID, err))
		}
	}
	return errors.Join(errs...)
}

// chosen tells whether the request selects a resource.
func (x *execution) chosen(m *member) bool {
	match, err := choose([]facts{m.facts()}, Request{RID: x.request.RID, Tag: x.request.Tag, Subset: x.request.Subset})
	return err == nil && match(m.facts())
}

// Outdated lists the resources of the local instance whose files were installed
// from keys that changed since.
func (e *Engine) Outdated(p object.Path) ([]string, error) {
	return e.recorded(p, func(r install.Record, boot string) bool { return r.Outdated(boot, e.version) })
}

// Installs lists the resources of the local instance whose files hold keys of an
// object that match a glob.
func (e *Engine) Installs(p, from object.Path, glob string) ([]string, error) {
	return e.recorded(p, func(r install.Record, boot string) bool { return r.Boot == boot && r.Holds(from, glob) })
}

func (e *Engine) recorded(p object.Path, match func(r install.Record, boot string) bool) ([]string, error) {
	boot, err := proc.BootID()
	if err != nil {
		return nil, err
	}
	f := e.flags(p)
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rids []string
	for _, entry := range entries {
		if !entry.IsDir() || !strings.Contains(entry.Name(), "#") {
			continue
		}
		r, err := install.ReadRecord(f.resource(entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if match(r, boot) {
			rids = append(rids, entry.Name())
		}
	}
	return rids, nil
}

// Reinstall installs again the keys of an object that match a glob, in every
// instance of this node that has files of them, and returns these instances.
func (e *Engine) Reinstall(ctx context.Context, from object.Path, glob string, r Request) ([]object.Path, error) {
	paths, err := e.Store.List()
	if err != nil {
		return nil, err
	}
	var done []object.Path
	var errs []error
	for _, p := range paths {
		if !p.Kind.Runs() {
			continue
		}
		rids, err := e.Installs(p, from, glob)
		if err != nil || len(rids) == 0 {
			errs = append(errs, err)
			continue
		}
		each := r
		each.Action, each.RID = Install, slices.Clone(rids)
		if err := e.Run(ctx, p, each); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, p)
	}
	return done, errors.Join(errs...)
}
