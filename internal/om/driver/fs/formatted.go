package fs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/device"
	"github.com/holdfast-ops/holdfast/internal/linux/mount"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

const formattedDoc = " A start makes the mount, a stop undoes it, and says who uses the filesystem when that is why it cannot. " +
	"A provision formats the device, unless it holds something already: nothing is ever overwritten. An unprovision wipes the filesystem if a provision of the object made it."

// Ext4 is the driver of ext4 filesystems.
var Ext4 = resource.Spec{
	Group: "fs",
	Name:  "ext4",
	Doc:   "An ext4 filesystem of a block device. It is checked before it is mounted." + formattedDoc,
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New: func(e resource.Env) resource.Driver {
		return newFormatted(e, "ext4", func(id string) []string { return []string{"-q", "-U", id} }, "-U", []string{"fsck.ext4", "-p"})
	},
}

// XFS is the driver of xfs filesystems.
var XFS = resource.Spec{
	Group: "fs",
	Name:  "xfs",
	Doc:   "An xfs filesystem of a block device. The kernel repairs what a crash left when it mounts it." + formattedDoc,
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New: func(e resource.Env) resource.Driver {
		return newFormatted(e, "xfs", func(id string) []string { return []string{"-q", "-m", "uuid=" + id} }, "uuid=", nil)
	},
}

// formatted is a filesystem of a block device.
type formatted struct {
	mounted

	dev       string
	mkfs      []string
	promoteRW bool

	quiet    func(uuid string) []string // the arguments of mkfs that are always given
	identity string                     // of the options of mkfs, what sets another uuid
	fsck     []string                   // nil: it needs none
}

func newFormatted(e resource.Env, typ string, quiet func(string) []string, identity string, fsck []string) *formatted {
	f := &formatted{mounted: mounted{env: e, typ: typ}, quiet: quiet, identity: identity, fsck: fsck}
	f.source = func() string { return device.Find(f.dev) }
	f.ours = func(p mount.Point) (bool, error) { return ofDevice(p, typ, f.source()) }
	f.before = f.prepare
	return f
}

// Keywords implements [resource.Driver].
func (f *formatted) Keywords(k *keyword.Table) {
	f.keywords(k)
	k.String(&f.dev, "dev", "The block device that holds the filesystem, by its name, or by the label or uuid of what it holds, as LABEL=shop.").Required().Check(checkDevice).Scopable().Eg("{disk#1.exposed_devs[0]}")
	k.Shlex(&f.mkfs, "mkfs_opt", "The options of the command that formats the device. The uuid of the filesystem is given by the agent, which knows by it what it made: do not set another one, or an unprovision leaves the filesystem.").Provisioning().Scopable().Eg("-L shop")
	k.Bool(&f.promoteRW, "promote_rw", "When true, a start makes a device that is read-only writable.")
}

// checkDevice is the rule of devices.
func checkDevice(text string) error {
	if !strings.HasPrefix(device.Find(text), "/") {
		return errors.New("not a device: write its name, as /dev/vdb, or LABEL=shop")
	}
	return nil
}

func (f *formatted) run(ctx context.Context, argv ...string) error {
	_, err := f.env.Host.Runner.Run(ctx, host.Cmd{
		Argv: argv, Env: append(slices.Clone(f.env.Vars), "LC_ALL=C"),
		OnLine: func(_ bool, line string) { f.env.Infof("%s: %s", argv[0], line) },
	})
	return err
}

// prepare checks the device before it is mounted.
func (f *formatted) prepare(ctx context.Context) error {
	number, err := device.Number(f.source())
	if err != nil {
		return err
	}
	if f.promoteRW {
		changed, err := device.PromoteWritable(f.source())
		if err != nil {
			return err
		}
		if changed {
			f.env.Infof("%s was read-only: it is made writable", f.source())
		}
	}
	elsewhere, err := mount.Of(number)
	if err != nil {
		return err
	}
	options, err := f.parsed()
	if f.fsck == nil || len(elsewhere) > 0 || err != nil || options.ReadOnly() {
		return err // a filesystem in use is not checked
	}
	err = f.run(ctx, append(slices.Clone(f.fsck), f.source())...)
	const mended = 1 | 2
	if exit, ok := errors.AsType[*host.ExitError](err); ok && exit.Code > 0 && exit.Code&^mended == 0 {
		f.env.Warnf("%s was repaired", f.source())
		return nil
	}
	if errors.Is(err, os.ErrNotExist) {
		f.env.Warnf("%s is mounted without a check: %s", f.source(), err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s is not mounted: %w", f.source(), err)
	}
	return nil
}

// id is the uuid of the filesystem that a provision of the resource makes: the same on
// every node.
func (f *formatted) id() string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(f.env.ObjectID+" "+f.env.RID)).String()
}

func (f *formatted) probe(ctx context.Context) (device.Content, error) {
	if _, err := device.Number(f.source()); err != nil {
		return device.Content{}, err
	}
	return device.Probe(ctx, f.env.Host.Runner, f.source())
}

// Provisioned implements [resource.Provisioneder]. Nothing is known of a device that is
// not here now.
func (f *formatted) Provisioned(ctx context.Context) (cluster.Provisioned, error) {
	if _, at, err := f.find(); err == nil && at >= 0 {
		return cluster.ProvisionedTrue, nil
	}
	c, err := f.probe(ctx)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cluster.ProvisionedUndef, nil
	case err != nil:
		return cluster.ProvisionedUndef, err
	case c.Type == f.typ && c.Not == "":
		return cluster.ProvisionedTrue, nil
	}
	return cluster.ProvisionedFalse, nil
}

// Provision implements [resource.Provisioner].
func (f *formatted) Provision(ctx context.Context) error {
	c, err := f.probe(ctx)
	if err != nil {
		return err
	}
	if c.Type == f.typ && c.Not == "" {
		f.env.Infof("%s holds a filesystem %s: it is taken as it is", f.source(), f.typ)
		return nil
	}
	if !c.Blank() {
		return fmt.Errorf("%s is not formatted: it holds %s: if that is of no use any more, run `wipefs --all %s`", f.source(), c, f.source())
	}
	if err := device.Exclusive(f.source()); err != nil {
		return fmt.Errorf("not formatted: %w", err)
	}
	argv := []string{"mkfs." + f.typ}
	if own := slices.ContainsFunc(f.mkfs, func(word string) bool { return strings.HasPrefix(word, f.identity) }); own {
		argv = append(argv, "-q")
	} else {
		argv = append(argv, f.quiet(f.id())...)
	}
	f.env.Infof("format %s with %s", f.source(), f.typ)
	return f.run(ctx, append(append(argv, f.mkfs...), f.source())...)
}

// Unprovision implements [resource.Unprovisioner]. What a provision of the resource did
// not make is left.
func (f *formatted) Unprovision(ctx context.Context) error {
	c, err := f.probe(ctx)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f.env.Infof("%s is not there: nothing to wipe", f.source())
		return nil
	case err != nil:
		return err
	case c.Blank():
		return nil
	case c.Type != f.typ || c.UUID != f.id() || c.Not != "":
		f.env.Warnf("%s holds %s that was not made here: it is left", f.source(), c)
		return nil
	}
	if err := device.Exclusive(f.source()); err != nil {
		return fmt.Errorf("not wiped: %w", err)
	}
	f.env.Infof("wipe the filesystem of %s", f.source())
	return f.run(ctx, "wipefs", "--all", "--quiet", f.source())
}

var (
	_ resource.Provisioner   = (*formatted)(nil)
	_ resource.Provisioneder = (*formatted)(nil)
	_ resource.Unprovisioner = (*formatted)(nil)
)
