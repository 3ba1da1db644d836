package instance_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// layered is a device, or a filesystem, on another device. Each start of a device gives
// it another name.
type layered struct {
	env resource.Env
	on  string
	w   *layers
}

type layers struct {
	mu   sync.Mutex
	up   map[string]string // the device of each resource, "mounted" for a filesystem
	next int
	did  []string
}

func (s *layered) Keywords(k *keyword.Table) {
	k.String(&s.on, "dev", "What it is made of.").Scopable()
}

func (s *layered) Status(context.Context) resource.State {
	if devices, _ := s.Devices(); devices == nil {
		return resource.State{Status: cluster.Down}
	}
	return resource.State{Status: cluster.Up}
}

func (s *layered) Start(context.Context) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.next++
	s.w.did = append(s.w.did, "start "+s.env.RID+" on "+s.on)
	s.w.up[s.env.RID] = "/dev/x" + itoa(s.w.next)
	return nil
}

func (s *layered) Stop(context.Context) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.did = append(s.w.did, "stop "+s.env.RID+" on "+s.on)
	delete(s.w.up, s.env.RID)
	return nil
}

func (s *layered) Devices() ([]string, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if device := s.w.up[s.env.RID]; device != "" {
		return []string{device}, nil
	}
	return nil, nil
}

// stacked is an engine of layers.
func stacked(t *testing.T, conf string) (*fixture, *layers) {
	t.Helper()
	w := &layers{up: map[string]string{}}
	var specs []resource.Spec
	for _, group := range []string{"disk", "fs"} {
		specs = append(specs, resource.Spec{Group: group, Name: "fake", Doc: "A fake.", Kinds: []object.Kind{object.KindSvc}, New: func(e resource.Env) resource.Driver {
			return &layered{env: e, w: w}
		}})
	}
	return newFixture(t, resource.NewRegistry(specs...), "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\ncreate_pg = false\n"+fakes(conf)), w
}

func TestADeviceIsLookedUpWhenItIsUsed(t *testing.T) {
	t.Parallel()
	f, w := stacked(t, "[fs#1]\ndev = {disk#2.exposed_devs[0]}\n[disk#2]\ndev = {disk#1.exposed_devs}\n[disk#1]\n")

	f.run(instance.Start)
	f.run(instance.Restart)

	want := []string{
		"start disk#1 on ", "start disk#2 on /dev/x1", "start fs#1 on /dev/x2",
		"stop fs#1 on /dev/x2", "stop disk#2 on /dev/x1", "stop disk#1 on ",
		"start disk#1 on ", "start disk#2 on /dev/x4", "start fs#1 on /dev/x5",
	}
	if diff := cmp.Diff(want, w.did); diff != "" {
		t.Error(diff)
	}
	f.run(instance.Stop)
	if s := f.status(); s.Avail != cluster.Down || s.Overall != cluster.Down {
		t.Errorf("stopped: %s, %s", s.Avail, s.Overall)
	}
}

func TestDevicesThatDependOnThemselvesAreAnError(t *testing.T) {
	t.Parallel()
	f, _ := stacked(t, "[disk#1]\ndev = {disk#2.exposed_devs}\n[disk#2]\ndev = {disk#1.exposed_devs}\n")
	if s := f.status(); len(s.Resources["disk#1"].Log) == 0 {
		t.Errorf("%+v", s.Resources["disk#1"])
	}
	f.fails(instance.Start, "disk#")
}

func TestWhatHangsIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	f, w := stacked(t, "[disk#1]\n")
	var env resource.Env
	f.Registry = resource.NewRegistry(resource.Spec{Group: "disk", Name: "fake", Doc: "A fake.", Kinds: []object.Kind{object.KindSvc}, New: func(e resource.Env) resource.Driver {
		env = e
		return &layered{env: e, w: w}
	}})
	f.status()
	over, runs := make(chan struct{}), make(chan struct{}, 9)
	hangs := func() error {
		runs <- struct{}{}
		<-over
		return errors.New("at last")
	}

	first := env.Beside(t.Context(), "look", time.Millisecond, hangs)
	<-runs
	second := env.Beside(t.Context(), "look", time.Nanosecond, hangs)
	other := env.Beside(t.Context(), "another look", time.Minute, func() error { return nil })

	if first == nil || !strings.Contains(first.Error(), "nothing after 1ms") || second == nil || !strings.Contains(second.Error(), "nothing since ") || other != nil {
		t.Errorf("%v, %v, %v", first, second, other)
	}
	close(over)
	if len(runs) > 0 {
		t.Errorf("it ran %d times more", len(runs))
	}
}
