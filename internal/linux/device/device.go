// Package device looks at block devices: what they hold, who uses them. Nothing is
// written on a device that is not known to be blank.
package device

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// HeartbeatSignature is what the disks of heartbeats begin with: no other program
// knows them.
const HeartbeatSignature = "3dc13c87c05be3b6"

// Content is what a device holds. The zero Content is nothing.
type Content struct {
	Type string // of the filesystem, or of what else it is a part of, as ext4, LVM2_member
	UUID string
	Not  string // what it holds that is none of these, as "a partition table (gpt)"
}

// Blank reports whether nothing that is known is on the device.
func (c Content) Blank() bool { return c == Content{} }

// String says what it is.
func (c Content) String() string {
	switch {
	case c.Not != "":
		return c.Not
	case c.Type != "":
		return c.Type
	}
	return "nothing"
}

// Number is the number of a block device.
func Number(name string) (uint64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		return 0, fmt.Errorf("%s is not a block device", name)
	}
	return st.Rdev, nil
}

// Find resolves LABEL= and UUID= into the device they name.
func Find(name string) string {
	for prefix, dir := range map[string]string{"LABEL=": "label", "UUID=": "uuid", "PARTLABEL=": "partlabel", "PARTUUID=": "partuuid"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return "/dev/disk/by-" + dir + "/" + strings.Trim(rest, `"`)
		}
	}
	return name
}

// Exclusive fails when a device is in use: mounted, or a part of another one.
func Exclusive(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s is in use", name)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Probe finds out what a device holds: whatever blkid knows, and the disks of
// heartbeats. An error is that it is not known.
func Probe(ctx context.Context, r host.Runner, name string) (Content, error) {
	if begins, err := heartbeat(name); err != nil || begins {
		return Content{Not: "a heartbeat disk of a cluster"}, err
	}
	out, err := r.Run(ctx, host.Cmd{Argv: []string{"blkid", "-p", "-o", "export", name}, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}})
	exit, _ := errors.AsType[*host.ExitError](err)
	const nothing, ambivalent = 2, 8
	switch {
	case exit != nil && exit.Code == nothing && exit.Stderr == "":
		return Content{}, nil
	case exit != nil && exit.Code == ambivalent:
		return Content{Not: "more than one filesystem, or what looks like it"}, nil
	case err != nil:
		return Content{}, fmt.Errorf("look what %s holds: %w", name, err)
	}
	c := parse(out.Stdout)
	if c.Blank() {
		c.Not = "something"
	}
	return c, nil
}

func parse(text []byte) (c Content) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		switch name {
		case "TYPE":
			c.Type = value
		case "UUID":
			c.UUID = strings.ToLower(value)
		case "PTTYPE":
			c.Not = "a partition table (" + value + ")"
		}
	}
	return c
}

// heartbeat reports whether a device begins as the disks of heartbeats do.
func heartbeat(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	begins := make([]byte, len(HeartbeatSignature)/2)
	if _, err := f.ReadAt(begins, 0); err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	return hex.EncodeToString(begins) == HeartbeatSignature, nil
}

// PromoteWritable makes a device that is read-only writable, and reports whether it was.
func PromoteWritable(name string) (changed bool, err error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	readOnly, err := unix.IoctlGetInt(int(f.Fd()), unix.BLKROGET)
	if err != nil {
		return false, fmt.Errorf("%s: whether it is read-only: %w", name, err)
	}
	if readOnly == 0 {
		return false, nil
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.BLKROSET, 0); err != nil {
		return false, fmt.Errorf("%s: make it writable: %w", name, err)
	}
	return true, nil
}
