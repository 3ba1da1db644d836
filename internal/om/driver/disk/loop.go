// Package disk has the drivers of block devices.
package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/linux/loop"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Loop is the driver of block devices made of files.
var Loop = resource.Spec{
	Group: "disk",
	Name:  "loop",
	Doc: "A block device made of a file. A provision makes the file, a start binds a free loop device to it, which other resources refer to as {disk#1.exposed_devs[0]}, " +
		"a stop unbinds it, an unprovision removes the file if a provision made it on this node.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New:   func(e resource.Env) resource.Driver { return &loopDisk{env: e} },
}

type loopDisk struct {
	env  resource.Env
	file string
	size int64
}

// Keywords implements [resource.Driver].
func (d *loopDisk) Keywords(k *keyword.Table) {
	k.String(&d.file, "file", "The file the device is made of, as an absolute name. Its directory must exist.").Required().Check(keyword.File).Scopable().Eg("/srv/{fqdn}/disk.img")
	k.Size(&d.size, "size", "The size of the file that a provision makes. The file takes no space before something is written to it.").Provisioning().Scopable().Eg("100m")
}

// Devices implements [resource.DeviceExposer].
func (d *loopDisk) Devices() ([]string, error) {
	devices, former, err := d.find()
	return append(devices, former...), err
}

// find lists the devices of the file, and those that a start made of the former one of
// its name: it was removed, renamed or replaced below them, and they may be in use.
func (d *loopDisk) find() (devices, former []string, err error) {
	devices, err = loop.Find(d.file)
	if err != nil {
		return nil, nil, err
	}
	was, err := d.attached()
	if err != nil || was == nil {
		return devices, nil, err
	}
	former, err = loop.FindBacked(*was)
	former = slices.DeleteFunc(former, func(device string) bool { return slices.Contains(devices, device) })
	return devices, former, err
}

func (d *loopDisk) attachedFile() string { return filepath.Join(d.env.StateDir, "attached.json") }

// attachment is which file a start made a device of. It holds until the stop, or the
// end of the boot.
type attachment struct {
	loop.Backing

	Boot string
}

// boot is the id of the boot of the node: the numbers of files mean nothing in another.
func boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

func (d *loopDisk) recordAttached() error {
	its, err := loop.Of(d.file)
	if err != nil {
		return err
	}
	text, err := json.Marshal(attachment{Backing: its, Boot: boot()})
	if err != nil {
		return err
	}
	return d.keep(d.attachedFile(), text)
}

func (d *loopDisk) attached() (*loop.Backing, error) {
	text, err := os.ReadFile(d.attachedFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is
	}
	if err != nil {
		return nil, err
	}
	var a attachment
	if err := json.Unmarshal(text, &a); err != nil || a.Boot != boot() {
		return nil, nil //nolint:nilnil,nilerr // it tells nothing of this boot
	}
	return &a.Backing, nil
}

func (d *loopDisk) keep(name string, text []byte) error {
	if err := os.MkdirAll(d.env.StateDir, 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(name, text, 0o600, renameio.WithStaticPermissions(0o600))
}

// Status implements [resource.Driver].
func (d *loopDisk) Status(context.Context) resource.State {
	s := resource.State{Status: cluster.Down, Label: d.file}
	remark := func(level, message string) {
		s.Log = append(s.Log, cluster.ResourceLogEntry{Level: level, Message: message})
	}
	devices, former, err := d.find()
	switch {
	case err != nil:
		s.Status = cluster.Warn
		remark("error", err.Error())
	case len(former) > 0:
		s.Status = cluster.Up
		remark("error", strings.Join(former, ", ")+" is made of a file that is "+d.file+" no more: it was removed, renamed or replaced: what is written now is not in it")
		devices = append(devices, former...)
	case len(devices) > 1:
		s.Status = cluster.Up
		remark("warn", strings.Join(devices, ", ")+" are all made of the file: what is written by one is not seen by the others")
	case len(devices) == 1:
		s.Status = cluster.Up
	}
	if len(devices) > 0 {
		s.Label = fmt.Sprintf("%s on %s", d.file, devices[0])
	}
	return s
}

// Start implements [resource.Starter].
func (d *loopDisk) Start(context.Context) error {
	info, err := os.Lstat(d.file)
	if errors.Is(err, os.ErrNotExist) && d.size > 0 && inMemory(filepath.Dir(d.file)) {
		// What is in memory did not survive the last reboot of the node.
		if err := d.make(); err != nil {
			return err
		}
		info, err = os.Lstat(d.file)
	}
	if err == nil {
		err = d.isRegular(info)
	}
	if err != nil {
		return err
	}
	if err := d.recordAttached(); err != nil {
		return err
	}
	device, err := loop.Attach(d.file)
	if err != nil {
		return err
	}
	d.env.Infof("%s is %s", device, d.file)
	return nil
}

func inMemory(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == unix.TMPFS_MAGIC
}

// isRegular refuses what is not a file. A link is none: what it leads to may change.
func (d *loopDisk) isRegular(info iofs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: set file to one, or to a name that is not taken", d.file)
	}
	return nil
}

// Stop implements [resource.Stopper].
func (d *loopDisk) Stop(ctx context.Context) error {
	devices, former, err := d.find()
	if err != nil {
		return err
	}
	for _, device := range devices {
		d.env.Infof("detach %s from %s", device, d.file)
		if err := loop.Detach(ctx, device, d.file); err != nil {
			return err
		}
	}
	for _, device := range former {
		was, err := d.attached()
		if err != nil || was == nil {
			return err
		}
		d.env.Infof("detach %s from the file that was %s", device, d.file)
		if err := loop.DetachBacked(ctx, device, *was); err != nil {
			return err
		}
	}
	if err := os.Remove(d.attachedFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Provisioned implements [resource.Provisioneder].
func (d *loopDisk) Provisioned(context.Context) (cluster.Provisioned, error) {
	info, err := os.Lstat(d.file)
	if errors.Is(err, os.ErrNotExist) {
		return cluster.ProvisionedFalse, nil
	}
	if err == nil {
		err = d.isRegular(info)
	}
	if err != nil {
		return cluster.ProvisionedUndef, err
	}
	return cluster.ProvisionedTrue, nil
}

// Provision implements [resource.Provisioner]. A file that is there is taken as it is.
func (d *loopDisk) Provision(context.Context) error {
	info, err := os.Lstat(d.file)
	if errors.Is(err, os.ErrNotExist) {
		return d.make()
	}
	if err == nil {
		err = d.isRegular(info)
	}
	if err != nil {
		return err
	}
	if info.Size() < d.size {
		return fmt.Errorf("%s is there, of %d bytes, which is less than the size of %d: remove it, or set another file", d.file, info.Size(), d.size)
	}
	d.env.Infof("%s is there: it is taken as it is", d.file)
	return nil
}

func (d *loopDisk) make() (err error) {
	if d.size <= 0 {
		return fmt.Errorf("%s does not exist, and size is not set: set it, as 100m", d.file)
	}
	if info, err := os.Stat(filepath.Dir(d.file)); err != nil {
		return fmt.Errorf("the directory of the file: %w: make it, or mount what holds it", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", filepath.Dir(d.file))
	}
	d.env.Infof("make %s of %d bytes", d.file, d.size)
	f, err := os.OpenFile(d.file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(f.Truncate(d.size), f.Sync(), f.Close(), d.record())
	if err != nil {
		err = errors.Join(err, os.Remove(d.file))
	}
	return err
}

// Unprovision implements [resource.Unprovisioner]. A file that was there before the
// provision is left.
func (d *loopDisk) Unprovision(context.Context) error {
	info, err := os.Lstat(d.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.isRegular(info)
	}
	if err != nil {
		return fmt.Errorf("not removed: %w", err)
	}
	made, err := d.made()
	if err != nil {
		return fmt.Errorf("not removed: %w", err)
	}
	if !made {
		d.env.Warnf("%s was not made by a provision of this resource on this node: it is left", d.file)
		return nil
	}
	d.env.Infof("remove %s", d.file)
	return errors.Join(os.Remove(d.file), os.Remove(d.madeFile()))
}

func (d *loopDisk) madeFile() string { return filepath.Join(d.env.StateDir, "made") }

// record keeps which file a provision made: an unprovision removes that one alone.
func (d *loopDisk) record() error {
	text, err := identity(d.file)
	if err != nil {
		return err
	}
	return d.keep(d.madeFile(), []byte(text))
}

// made tells whether the file is the one that a provision made.
func (d *loopDisk) made() (bool, error) {
	recorded, err := os.ReadFile(d.madeFile())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := identity(d.file)
	return text == string(recorded), err
}

// identity tells a file from every other one that has or had its name. The number of
// its filesystem is left out: it may be another one after a reboot.
func identity(file string) (string, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, file, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return "", &iofs.PathError{Op: "statx", Path: file, Err: err}
	}
	return fmt.Sprintf("%s\ninode %d of %d.%09d\n", file, st.Ino, st.Btime.Sec, st.Btime.Nsec), nil
}

var (
	_ resource.DeviceExposer = (*loopDisk)(nil)
	_ resource.Starter       = (*loopDisk)(nil)
	_ resource.Stopper       = (*loopDisk)(nil)
	_ resource.Provisioner   = (*loopDisk)(nil)
	_ resource.Provisioneder = (*loopDisk)(nil)
	_ resource.Unprovisioner = (*loopDisk)(nil)
)
