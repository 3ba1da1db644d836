package instance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// lookUpDevices lets the configuration refer to the block devices of its resources,
// as {disk#1.exposed_devs[0]}.
func (l *loaded) lookUpDevices() {
	inner := l.ev.Lookup
	l.ev.Lookup = func(section, name string) (value string, ok bool, err error) {
		value, ok, err = inner(section, name)
		rid, option, _ := strings.Cut(name, ".")
		if option != "exposed_devs" || !errors.Is(err, config.ErrPostponed) {
			return value, ok, err
		}
		devices, err := l.devices(rid)
		l.looked = true // after the look, which may configure others
		return strings.Join(devices, " "), err == nil, err
	}
}

// devices lists the devices of a resource; who calls it configures another one.
func (l *loaded) devices(rid string) ([]string, error) {
	m := l.find(rid)
	switch {
	case slices.Contains(l.looking, rid):
		return nil, fmt.Errorf("the devices of %s depend on themselves", rid)
	case m == nil: // further down
		return nil, fmt.Errorf("%s: %w", rid, config.ErrPostponed)
	}
	if m.moving || errors.Is(m.err, config.ErrPostponed) {
		own := *m // who acts on the resource configures the other one
		m = &own
		l.looking = append(l.looking, rid)
		l.configure(m)
		l.looking = l.looking[:len(l.looking)-1]
	}
	if m.err != nil {
		return nil, m.err
	}
	d, ok := m.Driver.(resource.DeviceExposer)
	if !ok {
		return nil, fmt.Errorf("driver %s has no block device", m.Spec.ID())
	}
	devices, err := d.Devices()
	if err != nil {
		return nil, fmt.Errorf("the devices of %s: %w", rid, err)
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("%s is down: %w", rid, config.ErrPostponed)
	}
	return devices, nil
}
