package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/device"
	"github.com/holdfast-ops/holdfast/internal/linux/mount"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

// unmountPatience is how long processes that end are waited for.
const unmountPatience = 5 * time.Second

// mounted is a filesystem at a directory. Its drivers differ in what is mounted.
type mounted struct {
	env resource.Env
	typ string

	mnt, options, user, group string
	perm                      *iofs.FileMode
	statTimeout               time.Duration
	checkRead                 bool
	files                     install.Settings

	// source is what is mounted, as mount takes it.
	source func() string
	// more are options that other keywords make.
	more func() (string, error)
	// ours tells whether what is mounted is what the resource mounts.
	ours func(p mount.Point) (bool, error)
	// before prepares what is to be mounted.
	before func(ctx context.Context) error
}

// keywords declares what all the drivers have.
func (m *mounted) keywords(k *keyword.Table) {
	k.String(&m.mnt, "mnt", "The directory the filesystem is mounted at, as an absolute name. It is made when it does not exist. Directories of the system and of the agent are refused, and so is a symbolic link.").Required().Scopable().Check(newGuard(m.env.Host.Paths).name).Eg("/srv/{fqdn}")
	k.String(&m.options, "mnt_opt", "The options of the mount, separated by commas, as those of mount(8).").Check(func(text string) error {
		_, err := mount.ParseOptions(text)
		return err
	}).Scopable().Eg("noatime,nosuid")
	k.String(&m.user, "user", "The owner of the top directory of the filesystem and of what is installed in it, by name or number. By default it is left as it is.").Check(keyword.Account).Scopable().Eg("www-data")
	k.String(&m.group, "group", "The group of the top directory of the filesystem and of what is installed in it, by name or number. By default it is left as it is.").Check(keyword.Account).Scopable().Eg("www-data")
	k.FileMode(&m.perm, "perm", "The mode of the top directory of the filesystem, in octal. By default it is left as it is.").Scopable().Eg("2750")
	k.Duration(&m.statTimeout, "stat_timeout", "How long a status waits for the filesystem to answer before it is a warning.").Default("5s").Scopable()
	k.Bool(&m.checkRead, "check_read", "When true, a status reads the top directory, so that a filesystem that does not answer is seen.").Scopable()
	m.files.Keywords(k)
}

// Head implements [resource.Header].
func (m *mounted) Head() string { return filepath.Clean(m.mnt) }

// SortKey implements [resource.Sorter]: what contains comes before what is in it.
func (m *mounted) SortKey() string { return filepath.Clean(m.mnt) }

// top is the directory that is the top of the mounted filesystem.
func (m *mounted) top() *directory {
	return &directory{env: m.env, path: filepath.Clean(m.mnt), user: m.user, group: m.group, perm: m.perm, files: m.files}
}

// parsed are the options of the mount.
func (m *mounted) parsed() (mount.Options, error) {
	text := m.options
	if m.more != nil {
		more, err := m.more()
		if err != nil {
			return mount.Options{}, err
		}
		text = strings.Trim(text+","+more, ",")
	}
	return mount.ParseOptions(text)
}

// Status implements [resource.Driver].
func (m *mounted) Status(ctx context.Context) resource.State {
	s := resource.State{Status: cluster.Down, Label: m.typ + " " + m.source() + "@" + m.mnt}
	remark := func(level, format string, a ...any) {
		s.Log = append(s.Log, cluster.ResourceLogEntry{Level: level, Message: fmt.Sprintf(format, a...)})
	}
	points, at, err := m.find()
	switch {
	case err != nil:
		s.Status = cluster.Warn
		remark("error", "%s", err)
		return s
	case at < 0 && len(points) > 0:
		remark("warn", "%s holds another filesystem, %s of %s", m.mnt, points[len(points)-1].Type, points[len(points)-1].Source)
		return s
	case at < 0:
		return s
	case at < len(points)-1:
		s.Status = cluster.Warn
		remark("warn", "it is mounted, and hidden by another filesystem, %s of %s", points[len(points)-1].Type, points[len(points)-1].Source)
		return s
	}
	s.Status = cluster.Up
	if o, err := m.parsed(); err == nil && points[at].ReadOnly && !o.ReadOnly() {
		remark("warn", "it is mounted read-only, which an error of the device may have done")
	}
	var seen []cluster.ResourceLogEntry
	err = m.env.Beside(ctx, "stat", m.statTimeout, func() error {
		seen = m.top().Status(ctx).Log
		if !m.checkRead {
			return nil
		}
		dir, err := os.Open(m.Head())
		if err != nil {
			return err
		}
		_, err = dir.ReadDir(1)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return errors.Join(err, dir.Close())
	})
	if err != nil {
		s.Status = cluster.Warn
		remark("error", "%s does not answer: %s", m.mnt, err)
		return s
	}
	s.Log = append(s.Log, seen...)
	return s
}

// find lists what is mounted at the directory, and which of it is ours, the last; at
// is -1 when none is.
func (m *mounted) find() (points []mount.Point, at int, err error) {
	points, err = mount.At(m.mnt)
	if err != nil {
		return nil, -1, err
	}
	for i, p := range slices.Backward(points) {
		ours, err := m.ours(p)
		if err != nil {
			return nil, -1, err
		}
		if ours {
			return points, i, nil
		}
	}
	return points, -1, nil
}

// Start implements [resource.Starter].
func (m *mounted) Start(ctx context.Context) error {
	options, err := m.parsed()
	if err != nil {
		return err
	}
	points, at, err := m.find()
	if err != nil {
		return err
	}
	if len(points) > 0 && at < 0 {
		last := points[len(points)-1]
		return &resource.UntouchedError{Err: fmt.Errorf("%s holds another filesystem, %s of %s: unmount it, or set mnt", m.mnt, last.Type, last.Source)}
	}
	if at < 0 {
		if err := m.mount(ctx, options); err != nil {
			return err
		}
	}
	return m.top().make(ctx, false)
}

func (m *mounted) mount(ctx context.Context, options mount.Options) error {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return err
		}
	}
	dir, _, err := (&directory{env: m.env, path: m.Head()}).open()
	if err != nil {
		return err
	}
	if err := dir.Close(); err != nil {
		return err
	}
	m.env.Infof("mount %s on %s", m.source(), m.mnt)
	return mount.Mount(ctx, m.source(), m.Head(), m.typ, options)
}

// Install implements [resource.Installer].
func (m *mounted) Install(ctx context.Context) error { return m.top().make(ctx, false) }

// Stop implements [resource.Stopper].
func (m *mounted) Stop(ctx context.Context) error {
	if err := install.Forget(m.env.StateDir); err != nil {
		return err
	}
	for {
		points, at, err := m.find()
		if err != nil || at < 0 {
			return err
		}
		if at < len(points)-1 {
			last := points[len(points)-1]
			return fmt.Errorf("%s is hidden by another filesystem, %s of %s: unmount that first", m.mnt, last.Type, last.Source)
		}
		m.env.Infof("unmount %s", m.mnt)
		if err := mount.Unmount(ctx, points[at], unmountPatience); err != nil {
			return err
		}
	}
}

// sameDirectory tells whether two names lead to one directory.
func sameDirectory(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(x, y), nil
}

// ofDevice tells whether a mount is of a block device, whose name may be one of many.
func ofDevice(p mount.Point, typ, name string) (bool, error) {
	if p.Type != typ {
		return false, nil
	}
	number, err := device.Number(name)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENXIO) {
		return p.Source == name, nil // it went away below the filesystem
	}
	return number == p.Device, err
}

var (
	_ resource.Starter   = (*mounted)(nil)
	_ resource.Stopper   = (*mounted)(nil)
	_ resource.Installer = (*mounted)(nil)
	_ resource.Sorter    = (*mounted)(nil)
	_ resource.Header    = (*mounted)(nil)
)
