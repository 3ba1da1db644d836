package engine_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/engine/enginetest"
)

// running is an engine that was found, and its double.
func running(t *testing.T) (*engine.Engine, *enginetest.Server) {
	t.Helper()
	h := newHost(t)
	s := h.docker()
	e, err := h.detect(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

func TestContainersAreFoundByTheirWholeName(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	for _, name := range []string{"krops-registry-2", "xkrops-registry", "krops-registry"} {
		s.Add(enginetest.Container{Name: name})
	}

	c, found, err := e.Named(t.Context(), "krops-registry")
	if err != nil || !found || c.Name != "krops-registry" || c.State != "exited" || c.Running() {
		t.Errorf("%+v, %v, %v", c, found, err)
	}
	if _, found, err := e.Named(t.Context(), "krops"); err != nil || found {
		t.Errorf("a part of the name: %v, %v", found, err)
	}
}

func TestAListingThatFailsIsNoEmptyOne(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Fail(func(_, _ string) (int, string) { return http.StatusInternalServerError, "no such container: 12" })

	_, found, err := e.Named(t.Context(), "x")
	if err == nil || found || !strings.HasPrefix(err.Error(), "list the containers of docker: ") {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := e.HasNetwork(t.Context(), "kind"); err == nil {
		t.Error("networks")
	}
	if _, err := e.HasImage(t.Context(), "x"); err == nil {
		t.Error("images")
	}
	if _, err := e.Marked(t.Context(), "x"); err == nil {
		t.Error("marks")
	}
	if _, err := e.ReadFile(t.Context(), engine.Container{ID: "1"}, "/x"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files: %v", err)
	}
	s.Close()
	if _, _, err := e.Named(t.Context(), "x"); err == nil {
		t.Error("an engine that is gone")
	}
}

func TestRemovalIsByForceAndTwiceIsFine(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Add(enginetest.Container{Name: "a", Running: true})
	c, _, err := e.Named(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Remove(t.Context(), c); err != nil {
			t.Error(err)
		}
	}
	if left := s.Names(); len(left) != 0 {
		t.Errorf("%q", left)
	}
}

func TestARemovalBySomebodyElseIsWaitedFor(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Add(enginetest.Container{Name: "a"})
	c, _, err := e.Named(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	s.Fail(func(method, _ string) (int, string) {
		if method == http.MethodDelete && asked.Add(1) < 3 {
			return http.StatusConflict, "removal of container a is already in progress"
		}
		return 0, ""
	})
	if err := e.Remove(t.Context(), c); err != nil || asked.Load() != 3 {
		t.Errorf("%v after %d", err, asked.Load())
	}
}

func TestPublishedPortsOfAContainer(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Add(enginetest.Container{Name: "local-workload-lb", Running: true, Ports: map[uint16]int{6443: 32771}})
	s.Add(enginetest.Container{Name: "stopped", Ports: map[uint16]int{6443: 1}})

	if port, err := e.Port(t.Context(), "local-workload-lb", 6443); err != nil || port != 32771 {
		t.Errorf("%d, %v", port, err)
	}
	for name, want := range map[string]string{
		"stopped": "container stopped (exited) does not publish port 6443/tcp",
		"gone":    "there is no container gone",
	} {
		if _, err := e.Port(t.Context(), name, 6443); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFilesOfContainers(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.Add(enginetest.Container{Name: "node"})
	c, _, err := e.Named(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	const name = "/etc/containerd/certs.d/localhost:5001/hosts.toml"
	if _, err := e.ReadFile(t.Context(), c, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := e.WriteFile(t.Context(), c, name, []byte("x = 1\n")); err != nil {
		t.Fatal(err)
	}
	if text, err := e.ReadFile(t.Context(), c, name); err != nil || string(text) != "x = 1\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestMarksOutliveWhoSetThem(t *testing.T) {
	t.Parallel()
	e, _ := running(t)
	is := func(want bool) {
		t.Helper()
		if set, err := e.Marked(t.Context(), "m"); err != nil || set != want {
			t.Errorf("%v, %v", set, err)
		}
	}
	is(false)
	for range 2 {
		if err := e.Mark(t.Context(), "m"); err != nil {
			t.Error(err)
		}
		is(true)
	}
	for range 2 {
		if err := e.Unmark(t.Context(), "m"); err != nil {
			t.Error(err)
		}
		is(false)
	}
}

func TestVolumesAreRemovedByLabel(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.AddVolume("a", map[string]string{"mgmt-control-plane": "true"})
	s.AddVolume("b", map[string]string{"mgmt-2-control-plane": "true"})
	s.AddVolume("c", nil)
	if err := e.RemoveLabelledVolumes(t.Context(), "mgmt-control-plane"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, s.Volumes()); diff != "" {
		t.Error(diff)
	}
}

func TestTheOwnContainerJoinsAndLeavesANetwork(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	s.AddNetwork("kind")
	me := s.Add(enginetest.Container{Name: "toolbox", ID: "abcdef012345" + strings.Repeat("0", 52)})
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hostname"), []byte(" abcdef012345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := engine.OwnID(root)
	if err != nil || id != "abcdef012345" {
		t.Fatal(id, err)
	}
	member := func() bool {
		for _, c := range s.Containers() {
			if c.ID == me.ID {
				return slices.Contains(c.Networks, "kind")
			}
		}
		return false
	}
	connects := func() int {
		n := 0
		for _, asked := range s.Asked() {
			if asked == "POST /networks/kind/connect" {
				n++
			}
		}
		return n
	}

	for range 2 {
		if err := e.Join(t.Context(), "kind", id); err != nil || !member() || connects() != 1 {
			t.Errorf("%v, %v, connected %d times", err, member(), connects())
		}
	}
	for range 2 {
		if err := e.Leave(t.Context(), "kind", id); err != nil || member() {
			t.Errorf("%v, %v", err, member())
		}
	}
	if err := e.Join(t.Context(), "gone", id); err == nil || !strings.Contains(err.Error(), "network gone") {
		t.Errorf("%v", err)
	}
}

func TestOnlyMembershipTellsWhetherAJoinWorked(t *testing.T) {
	t.Parallel()
	for name, member := range map[string]bool{"somebody else was faster": true, "it is no member": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, s := running(t)
			s.AddNetwork("kind")
			me := s.Add(enginetest.Container{Name: "toolbox"})
			s.Fail(func(_, path string) (int, string) {
				if path != "/networks/kind/connect" {
					return 0, ""
				}
				if member {
					s.Connect(me.ID, "kind")
				}
				return http.StatusInternalServerError, "whatever"
			})

			err := e.Join(t.Context(), "kind", me.ID)

			if (err == nil) != member || !member && !strings.Contains(err.Error(), "whatever") {
				t.Error(err)
			}
		})
	}
}

func TestAContainerWithoutHostnameHasNoID(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := engine.OwnID(root); err == nil || !strings.HasPrefix(err.Error(), "read the id of this container: ") {
		t.Errorf("%v", err)
	}
}

func TestImagesArePulledOnce(t *testing.T) {
	t.Parallel()
	e, s := running(t)
	const ref = "docker.io/library/registry:2"
	var said []string
	say := func(text string) { said = append(said, text) }

	if err := e.Pull(t.Context(), ref, say); err == nil || !strings.HasPrefix(err.Error(), "pull image "+ref+": ") {
		t.Errorf("no such image: %v", err)
	}
	s.AddRemoteImage(ref)
	said = nil
	for range 2 {
		if err := e.Pull(t.Context(), ref, say); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"Pulling image " + ref + "..."}, said); diff != "" {
		t.Error(diff)
	}
}
