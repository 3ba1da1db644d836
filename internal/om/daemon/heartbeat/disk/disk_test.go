package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/disk"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/heartbeattest"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// memory is a device that nodes share, and that may hang.
type memory struct {
	mu    sync.Mutex
	bytes []byte
	hang  chan struct{} // closed: it answers again
	asked int           // calls that hang
}

const slots = 8

func signed() *memory {
	m := &memory{bytes: make([]byte, disk.Size(slots))}
	copy(m.bytes, disk.Signature())
	return m
}

func (m *memory) open(string) (disk.Device, int64, error) {
	m.wait()
	return m, int64(len(m.bytes)), nil
}

// maker is that of one daemon.
func (m *memory) maker() daemon.Maker { return disk.New(disk.Options{Open: m.open}) }

func (m *memory) wait() {
	m.mu.Lock()
	hang := m.hang
	if hang != nil {
		m.asked++
	}
	m.mu.Unlock()
	if hang != nil {
		<-hang
	}
}

func (m *memory) freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hang, m.asked = make(chan struct{}), 0
}

func (m *memory) thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.hang)
	m.hang = nil
}

func (m *memory) ReadAt(b []byte, at int64) (int, error) {
	m.wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if at%disk.PageSize != 0 || len(b)%disk.PageSize != 0 {
		return 0, errors.New("not aligned")
	}
	if at+int64(len(b)) > int64(len(m.bytes)) {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(b, m.bytes[at:]), nil
}

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	m.wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if at%disk.PageSize != 0 || len(b)%disk.PageSize != 0 {
		return 0, errors.New("not aligned")
	}
	return copy(m.bytes[at:], b), nil
}

func (*memory) Close() error { return nil }

func setup(self string, peers ...string) daemon.Setup {
	hb := schema.HeartbeatSettings{Name: "hb#1", Type: "disk", Dev: "/dev/x", MaxSlots: slots, Interval: 5 * time.Second, Timeout: 15 * time.Second}
	s := daemon.Setup{HeartbeatSettings: hb, Self: self, Cluster: "c1", Peers: map[string]schema.HeartbeatSettings{}}
	for _, p := range peers {
		s.Peers[p] = hb
	}
	return s
}

// node runs a driver until it is stopped.
type node struct {
	link   *heartbeattest.Link
	cancel context.CancelFunc
	done   chan error
}

func run(t *testing.T, maker daemon.Maker, s daemon.Setup) *node {
	t.Helper()
	d, err := maker(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := &node{link: &heartbeattest.Link{}, cancel: cancel, done: newDone()}
	go func() { n.done <- d.Run(ctx, n.link) }()
	return n
}

// passes has virtual time pass.
func passes(d time.Duration) { <-time.NewTimer(d).C }

func newDone() chan error { return make(chan error, 1) }

func (n *node) stop(t *testing.T) {
	t.Helper()
	n.cancel()
	if err := <-n.done; err != nil {
		t.Error(err)
	}
}

func TestNodesHearOneAnotherThroughADisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		names := []string{"n1", "n2", "n3"}
		nodes := map[string]*node{}
		for _, name := range names {
			nodes[name] = run(t, m.maker(), setup(name, slices.DeleteFunc(slices.Clone(names), func(o string) bool { return o == name })...))
		}
		passes(10 * time.Second)
		for round := range 3 {
			for _, name := range names {
				nodes[name].link.Tell(fmt.Appendf(nil, "%s says %d", name, round))
			}
			passes(7 * time.Second)
		}
		ways := map[string]bool{}
		for _, name := range names {
			heard := nodes[name].link.Heard()
			for _, other := range names {
				for round := range 3 {
					if got, want := slices.Contains(heard, fmt.Sprintf("%s says %d", other, round)), other != name; got != want {
						t.Errorf("%s heard round %d of %s: %v", name, round, other, got)
					}
				}
			}
			ways[nodes[name].link.Way("")] = true
			nodes[name].stop(t)
		}
		if len(ways) != 3 {
			t.Errorf("the slots are %v", ways)
		}
	})
}

// A frame that is there when a node starts may be of a peer that died long ago.
func TestWhatWasThereBeforeIsNoBeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		n1 := run(t, m.maker(), setup("n1", "n2"))
		n1.link.Tell([]byte("old"))
		passes(10 * time.Second)
		n1.stop(t)
		n2 := run(t, m.maker(), setup("n2", "n1"))
		passes(time.Minute)
		if heard := n2.link.Heard(); len(heard) > 0 {
			t.Errorf("heard %v", heard)
		}
		n1 = run(t, m.maker(), setup("n1", "n2"))
		n1.link.Tell([]byte("new"))
		passes(10 * time.Second)
		if heard := n2.link.Heard(); len(heard) == 0 || heard[0] != "new" {
			t.Errorf("heard %v", heard)
		}
		n1.stop(t)
		n2.stop(t)
	})
}

func TestAForeignClusterOnTheDiskHasSlotsOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		ours, theirs := run(t, m.maker(), setup("n1", "n2")), setup("n2", "n1")
		theirs.Cluster = "c2"
		foreign := run(t, m.maker(), theirs)
		passes(10 * time.Second)
		foreign.link.Tell([]byte("hello"))
		passes(time.Minute)
		if heard := ours.link.Heard(); len(heard) > 0 {
			t.Errorf("heard %v", heard)
		}
		ours.stop(t)
		foreign.stop(t)
	})
}

func TestADeviceThatHangsIsSaidAndWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		maker := m.maker()
		n1, n2 := run(t, maker, setup("n1", "n2")), run(t, m.maker(), setup("n2", "n1"))
		passes(20 * time.Second)
		m.freeze()
		began := time.Now()

		err := <-n1.done

		if err == nil || !strings.Contains(err.Error(), "/dev/x does not answer for 10s") || time.Since(began) > 2*disk.Patience {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := <-n2.done; err == nil {
			t.Error("the other node saw nothing")
		}
		for range 20 { // as the manager does
			again := run(t, maker, setup("n1", "n2"))
			if err := <-again.done; err == nil || !strings.Contains(err.Error(), "/dev/x does not answer since ") {
				t.Errorf("again: %v", err)
			}
			again.cancel()
		}
		synctest.Wait()
		m.mu.Lock()
		if m.asked > 2 {
			t.Errorf("%d calls hang, of two nodes", m.asked)
		}
		m.mu.Unlock()
		m.thaw()
		n1.cancel()
		n2.cancel()
		synctest.Wait()
		n1, n2 = run(t, maker, setup("n1", "n2")), run(t, m.maker(), setup("n2", "n1"))
		passes(10 * time.Second)
		n1.link.Tell([]byte("back"))
		passes(10 * time.Second)
		if heard := n2.link.Heard(); !slices.Contains(heard, "back") {
			t.Errorf("heard %v", heard)
		}
		n1.stop(t)
		n2.stop(t)
	})
}

func TestASlowHeartbeatIsNotADeviceThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup("n1", "n2")
		s.Interval, s.Timeout = 5*time.Minute, time.Hour
		n1 := run(t, signed().maker(), s)
		passes(time.Hour)
		select {
		case err := <-n1.done:
			t.Fatal(err)
		default:
		}
		n1.stop(t)
	})
}

func TestADriverEndsWhileItsDeviceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		n1 := run(t, m.maker(), setup("n1", "n2"))
		passes(5 * time.Second)
		m.freeze()
		passes(time.Second)
		began := time.Now()
		n1.stop(t)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		m.thaw()
	})
}

func TestADeviceThatCannotBeUsedSaysWhy(t *testing.T) {
	t.Parallel()
	unsigned, full := signed(), signed()
	clear(unsigned.bytes[:8])
	for slot := 1; slot < slots; slot++ {
		copy(full.bytes[slot*disk.PageSize:], fmt.Sprintf("other%d\x00c9\x00", slot))
	}
	small := &memory{bytes: signed().bytes[:disk.Size(2)]}
	for want, m := range map[string]*memory{
		"is not signed as a disk of heartbeats: run `om daemon hb sign --name hb#1`": unsigned,
		"no slot of /dev/x is free: all 7 are taken":                                 full,
		"of the 8421376 that 8 slots need":                                           small,
	} {
		d, err := m.maker()(setup("n1", "n2"))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(t.Context(), &heartbeattest.Link{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Nodes that start at once find the same slot free.
func TestNodesThatTakeTheSameSlotPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := signed()
		var nodes []*node
		for i := range slots - 1 {
			nodes = append(nodes, run(t, m.maker(), setup(fmt.Sprint("n", i), "zz")))
		}
		passes(3 * time.Minute)
		ways := map[string]bool{}
		for _, n := range nodes {
			ways[n.link.Way("")] = true
			n.stop(t)
		}
		if len(ways) != slots-1 {
			t.Errorf("the slots are %v", ways)
		}
	})
}

func TestAFrameThatIsHalfWrittenIsNone(t *testing.T) {
	t.Parallel()
	m := signed()
	at := disk.SlotAt(slots, 3)
	frame := bytes.Repeat([]byte("beat"), 5000)
	if err := disk.WriteSlot(m, at, 7, frame); err != nil {
		t.Fatal(err)
	}
	if got, sequence, err := disk.ReadSlot(m, at, 0); err != nil || sequence != 7 || !bytes.Equal(got, frame) {
		t.Fatalf("%d bytes, %d, %v", len(got), sequence, err)
	}
	if got, _, _ := disk.ReadSlot(m, at, 7); got != nil {
		t.Error("a frame that was read is new")
	}
	m.bytes[at+disk.PageSize+9000]++
	if got, sequence, err := disk.ReadSlot(m, at, 0); got != nil || sequence != 0 || err != nil {
		t.Errorf("torn: %d bytes, %d, %v", len(got), sequence, err)
	}
	if err := disk.WriteSlot(m, at, 8, make([]byte, disk.MostFrame+1)); err == nil {
		t.Error("a frame that does not fit is written")
	}
}

// blkid answers as a host where a device holds something, or nothing.
type blkid string

func (b blkid) Run(_ context.Context, c host.Cmd) (host.Output, error) {
	if b == "" {
		return host.Output{}, &host.ExitError{Argv: c.Argv, Code: 2}
	}
	return host.Output{Stdout: []byte(b)}, nil
}

func (blkid) Start(host.Cmd) (host.Process, error) { return nil, errors.New("nothing is left running") }

func TestOnlyABlankDeviceIsSignedAndOnlyASignedOneWiped(t *testing.T) {
	t.Parallel()
	file := func(size int64) string {
		name := filepath.Join(t.TempDir(), "disk")
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	name := file(disk.Size(slots))
	refused := func(err error, want string) {
		t.Helper()
		if _, ok := errors.AsType[*disk.RefusedError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	read := func() []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	refused(disk.Wipe(t.Context(), name, slots), "is not wiped")
	refused(disk.Sign(t.Context(), blkid("TYPE=ext4\nUUID=x\n"), name, slots), "it holds ext4: ")
	refused(disk.Sign(t.Context(), blkid("PTTYPE=gpt\n"), name, slots), "a partition table (gpt)")
	refused(disk.Sign(t.Context(), blkid(""), file(disk.Size(slots)-1), slots), "of the 8421376 that 8 slots need")
	if !bytes.Equal(read(), make([]byte, disk.Size(slots))) {
		t.Error("the device was written")
	}

	if err := disk.Sign(t.Context(), blkid(""), name, slots); err != nil || !bytes.HasPrefix(read(), disk.Signature()) {
		t.Fatal("not signed:", err)
	}

	n1 := run(t, disk.New(disk.Options{}), func() daemon.Setup { s := setup("n1", "n2"); s.Dev = name; return s }())
	n1.link.Tell([]byte("beat"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := retry.Until(ctx, retry.Policy{Interval: 10 * time.Millisecond}, func(context.Context) (bool, error) {
		select {
		case err := <-n1.done:
			return false, fmt.Errorf("it ended: %w", err)
		default:
			return n1.link.SentCount() > 0, nil
		}
	}); err != nil {
		t.Fatal(err)
	}
	n1.stop(t)
	signed := read()
	if !bytes.Contains(signed, []byte("n1\x00c1\x00")) || !bytes.Contains(signed, []byte("beat")) {
		t.Error("the node left nothing")
	}
	if err := disk.Sign(t.Context(), blkid("TYPE=ext4\n"), name, slots); err != nil || !bytes.Equal(read(), signed) {
		t.Error("a signed device is signed again:", err)
	}
	if err := disk.Wipe(t.Context(), name, slots); err != nil || bytes.Contains(read(), []byte("n1\x00")) || bytes.HasPrefix(read(), disk.Signature()) {
		t.Error("not wiped:", err)
	}
}

func FuzzReadSlot(f *testing.F) {
	m := signed()
	_ = disk.WriteSlot(m, disk.SlotAt(slots, 1), 3, []byte("beat"))
	f.Add(m.bytes[disk.SlotAt(slots, 1) : disk.SlotAt(slots, 1)+2*disk.PageSize])
	f.Add([]byte("HFHD"))
	f.Fuzz(func(t *testing.T, slot []byte) {
		m := &memory{bytes: make([]byte, disk.Size(2))}
		copy(m.bytes[disk.SlotAt(2, 1):], slot)
		frame, _, err := disk.ReadSlot(m, disk.SlotAt(2, 1), 0)
		if err != nil || len(frame) > disk.MostFrame {
			t.Errorf("%d bytes, %v", len(frame), err)
		}
	})
}
