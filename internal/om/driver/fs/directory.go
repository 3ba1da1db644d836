package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

// Directory is the driver of directories.
var Directory = resource.Spec{
	Group: "fs",
	Name:  "directory",
	Doc:   "A directory with an owner and a mode. It is made when the object is provisioned or started, left in place when it is stopped, and removed with all it holds when the object is unprovisioned. Its status is n/a while it is there: a directory alone does not make an instance up.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New:   func(e resource.Env) resource.Driver { return &directory{env: e} },
}

type directory struct {
	env               resource.Env
	path, user, group string
	perm              *iofs.FileMode
	files             install.Settings
}

// Keywords implements [resource.Driver].
func (d *directory) Keywords(k *keyword.Table) {
	k.String(&d.path, "path", "The directory, as an absolute name. Directories of the system and of the agent are refused, and so is a symbolic link.").Required().Scopable().Check(func(dir string) error { return d.guard().name(dir) }).Eg("/srv/{fqdn}/data")
	k.String(&d.user, "user", "The owner of the directory and of what is installed in it, by name or number. By default it is left as it is.").Check(keyword.Account).Scopable().Eg("www-data")
	k.String(&d.group, "group", "The group of the directory and of what is installed in it, by name or number. By default it is left as it is.").Check(keyword.Account).Scopable().Eg("www-data")
	k.FileMode(&d.perm, "perm", "The mode of the directory, in octal. By default a new directory is made with 755, and an existing one is left as it is.").Scopable().DefaultText("755 for a new directory").Eg("2750")
	d.files.Keywords(k)
}

// Head implements [resource.Header].
func (d *directory) Head() string { return filepath.Clean(d.path) }

// SortKey implements [resource.Sorter]: what contains comes before what is in it.
func (d *directory) SortKey() string { return filepath.Clean(d.path) }

// Status implements [resource.Driver].
func (d *directory) Status(context.Context) resource.State {
	state := resource.State{Label: d.path, Status: cluster.NotApplicable, Log: install.Remarks(d.env.StateDir)}
	remark := func(level, format string, a ...any) {
		state.Log = append(state.Log, cluster.ResourceLogEntry{Level: level, Message: fmt.Sprintf(format, a...)})
	}
	info, err := os.Lstat(filepath.Clean(d.path))
	if errors.Is(err, os.ErrNotExist) {
		state.Status = cluster.Down
		return state
	}
	if err == nil {
		err = d.isDirectory(info)
	}
	if err != nil {
		state.Status = cluster.Warn
		remark("error", "%s", err)
		return state
	}
	if mode := info.Mode() & modeBits; d.perm != nil && mode != *d.perm&modeBits {
		remark("warn", "mode is %s, should be %s", octal(mode), octal(*d.perm))
	}
	uid, gid, err := d.owner()
	if err != nil {
		remark("error", "%s", err)
		return state
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if uid >= 0 && int(st.Uid) != uid {
			remark("warn", "owner is %d, should be %s", st.Uid, d.user)
		}
		if gid >= 0 && int(st.Gid) != gid {
			remark("warn", "group is %d, should be %s", st.Gid, d.group)
		}
	}
	return state
}

// Start implements [resource.Starter].
func (d *directory) Start(ctx context.Context) error { return d.make(ctx, false) }

// Stop implements [resource.Stopper]: the directory stays, with its files, which
// do not follow their keys any more.
func (d *directory) Stop(context.Context) error { return install.Forget(d.env.StateDir) }

// Provision implements [resource.Provisioner].
func (d *directory) Provision(ctx context.Context) error { return d.make(ctx, true) }

// Install implements [resource.Installer].
func (d *directory) Install(ctx context.Context) error { return d.make(ctx, false) }

// Provisioned implements [resource.Provisioneder].
func (d *directory) Provisioned(context.Context) (cluster.Provisioned, error) {
	info, err := os.Lstat(filepath.Clean(d.path))
	if errors.Is(err, os.ErrNotExist) {
		return cluster.ProvisionedFalse, nil
	}
	if err == nil {
		err = d.isDirectory(info)
	}
	if err != nil {
		return cluster.ProvisionedUndef, err
	}
	return cluster.ProvisionedTrue, nil
}

// make makes the directory what it should be, and installs its files. seed makes
// the keys that do not exist, of those that have a source.
func (d *directory) make(ctx context.Context, seed bool) (err error) {
	uid, gid, err := d.owner()
	if err != nil {
		return err
	}
	// One descriptor for all that follows: nobody can put a link in its place
	// between a look and a change.
	dir, info, err := d.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && (uid >= 0 && int(st.Uid) != uid || gid >= 0 && int(st.Gid) != gid) {
		d.env.Infof("set owner of %s to %s:%s", d.path, d.user, d.group)
		if err := dir.Chown(uid, gid); err != nil {
			return err
		}
		if info, err = dir.Stat(); err != nil { // a change of owner may drop bits
			return err
		}
	}
	if d.perm != nil && info.Mode()&modeBits != *d.perm&modeBits {
		d.env.Infof("set mode of %s to %s", d.path, octal(*d.perm))
		if err := dir.Chmod(*d.perm); err != nil {
			return err
		}
	}
	return d.lay(ctx, info, seed)
}

// lay installs the files in the directory, the very one that info is of.
func (d *directory) lay(ctx context.Context, info iofs.FileInfo, seed bool) (err error) {
	if !d.files.Any() {
		return install.Forget(d.env.StateDir)
	}
	root, err := os.OpenRoot(filepath.Clean(d.path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s was replaced meanwhile", d.path)
	}
	if err != nil {
		return err
	}
	return d.files.Install(ctx, d.env, install.Target{Head: root, Name: d.path, User: d.user, Group: d.group, Seed: seed})
}

// open makes the directory when it is not there, and takes hold of it unless it
// is one to leave alone.
func (d *directory) open() (_ *os.File, info iofs.FileInfo, err error) {
	name := filepath.Clean(d.path) // a trailing slash would follow a link
	info, err = os.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.env.Infof("create directory %s", d.path)
		if err := os.MkdirAll(name, 0o755); err != nil { //nolint:gosec // perm is what tightens it
			return nil, nil, err
		}
	case err != nil:
		return nil, nil, err
	default:
		if err := d.isDirectory(info); err != nil {
			return nil, nil, err
		}
	}
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = dir.Stat(); err == nil {
		err = d.guard().identity(d.path, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, info, nil
}

func (d *directory) guard() guard { return newGuard(d.env.Host.Paths) }

// isDirectory refuses what is no directory. A link is none: what it leads to may
// change at any time, and is not what the configuration names.
func (d *directory) isDirectory(info iofs.FileInfo) error {
	switch {
	case info.Mode()&iofs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, which is not followed: set path to the directory itself", d.path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", d.path)
	}
	return nil
}

// Unprovision implements [resource.Unprovisioner].
func (d *directory) Unprovision(context.Context) (err error) {
	name := filepath.Clean(d.path)
	// The parent is held, so that what is removed is the entry that was looked
	// at, and links found in it are removed, not followed.
	parent, err := os.OpenRoot(filepath.Dir(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	info, err := parent.Lstat(filepath.Base(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.isDirectory(info)
	}
	if err == nil {
		err = d.guard().identity(d.path, info)
	}
	if err != nil {
		return fmt.Errorf("not removed: %w", err)
	}
	if err := install.Forget(d.env.StateDir); err != nil {
		return err
	}
	d.env.Infof("remove directory %s", d.path)
	return parent.RemoveAll(filepath.Base(name))
}

// owner gives the numbers of the owner and group wanted, -1 for as it is.
func (d *directory) owner() (uid, gid int, err error) {
	uid, gid = -1, -1
	if d.user != "" {
		if uid, err = launch.UserID(d.user); err != nil {
			return -1, -1, err
		}
	}
	if d.group != "" {
		if gid, err = launch.GroupID(d.group); err != nil {
			return -1, -1, err
		}
	}
	return uid, gid, nil
}

// modeBits are the bits of a mode that chmod sets.
const modeBits = iofs.ModePerm | iofs.ModeSetuid | iofs.ModeSetgid | iofs.ModeSticky

// octal prints a mode as it is written in a configuration.
func octal(m iofs.FileMode) string {
	bits := uint32(m.Perm())
	for bit, value := range map[iofs.FileMode]uint32{iofs.ModeSetuid: 0o4000, iofs.ModeSetgid: 0o2000, iofs.ModeSticky: 0o1000} {
		if m&bit != 0 {
			bits |= value
		}
	}
	return fmt.Sprintf("%o", bits)
}

var (
	_ resource.Installer     = (*directory)(nil)
	_ resource.Starter       = (*directory)(nil)
	_ resource.Stopper       = (*directory)(nil)
	_ resource.Provisioner   = (*directory)(nil)
	_ resource.Provisioneder = (*directory)(nil)
	_ resource.Unprovisioner = (*directory)(nil)
	_ resource.Sorter        = (*directory)(nil)
	_ resource.Header        = (*directory)(nil)
)
