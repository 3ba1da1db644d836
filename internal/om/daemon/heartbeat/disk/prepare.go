package disk

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/device"
)

// RefusedError tells why a device is left as it is.
type RefusedError struct{ Reason string }

// Error is the reason.
func (e *RefusedError) Error() string { return e.Reason }

// refused leaves a device as it is.
func refused(format string, a ...any) error { return &RefusedError{fmt.Sprintf(format, a...)} }

// Sign makes a device one of heartbeats. One that is signed is left as it is; one that
// holds anything else is refused.
func Sign(ctx context.Context, r host.Runner, name string, slots int) (err error) {
	l := layout{slots}
	return apart(ctx, name, func() (err error) {
		d, size, err := Open(name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		if size < l.size() {
			return refused("%s has %d bytes, of the %d that %d slots need: set max_slots, or take a larger device", name, size, l.size(), slots)
		}
		page := aligned(pageSize)
		if _, err := d.ReadAt(page, 0); err != nil {
			return err
		}
		if isSigned(page) {
			return nil
		}
		c, err := device.Probe(ctx, r, name)
		if err != nil {
			return fmt.Errorf("not signed: %w", err)
		}
		if !c.Blank() {
			return refused("%s is not signed: it holds %s: if that is of no use any more, run `wipefs --all %s`", name, c, name)
		}
		if !isRegular(name) {
			if err := device.Exclusive(name); err != nil {
				return refused("not signed: %s", err)
			}
		}
		if err := blank(d, l); err != nil {
			return err
		}
		copy(page, signature())
		clear(page[len(signature()):])
		_, err = d.WriteAt(page, 0)
		return err
	})
}

// Wipe makes a device of heartbeats one of nothing. One that is not of heartbeats is
// refused.
func Wipe(ctx context.Context, name string, slots int) error {
	return apart(ctx, name, func() (err error) {
		d, size, err := Open(name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		page := aligned(pageSize)
		if _, err := d.ReadAt(page, 0); err != nil {
			return err
		}
		if !isSigned(page) {
			return refused("%s is not wiped: it is not signed as a disk of heartbeats", name)
		}
		clear(page)
		if _, err := d.WriteAt(page, 0); err != nil { // nobody uses it from here on
			return err
		}
		return blank(d, layout{min(slots, int(size/(pageSize+slotSize)))})
	})
}

// blank forgets who has the slots, and what is in them.
func blank(d Device, l layout) error {
	page := aligned(pageSize)
	for slot := 1; slot < l.slots; slot++ {
		for _, at := range []int64{l.page(slot), l.slot(slot)} {
			if _, err := d.WriteAt(page, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// apart runs what a device may keep waiting for ever.
func apart(ctx context.Context, name string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%s does not answer: %w", name, ctx.Err())
	}
}
