package disk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	daemon "github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
)

// Options are what the drivers share.
type Options struct {
	// Open opens a device, and tells its size; nil is [Open].
	Open func(name string) (Device, int64, error)
}

const (
	// patience is how long a device has to answer before it is said to hang.
	patience = 10 * time.Second
	// settle is how long a node that took a slot waits before it looks whether another
	// one took it as well.
	settle = 300 * time.Millisecond
	// census is how often the slots are looked at, and hunt while some peer has none.
	census = time.Minute
	hunt   = 5 * time.Second
	// quickest is how often a device is read at most, slowest at least: who reads it is
	// seen to be alive.
	quickest = 250 * time.Millisecond
	slowest  = patience / 4
)

// New returns what makes the driver of a heartbeat.
func New(o Options) daemon.Maker {
	open := o.Open
	if open == nil {
		open = Open
	}
	stuck := &stuck{since: map[string]time.Time{}}
	return func(setup daemon.Setup) (daemon.Driver, error) {
		if setup.MaxSlots < 2 {
			return nil, fmt.Errorf("max_slots is %d: the first slot is of the signature, set it to 2 at least", setup.MaxSlots)
		}
		return &driver{open: open, stuck: stuck, setup: setup, layout: layout{setup.MaxSlots}}, nil
	}
}

// stuck are the devices that something still waits for, and since when. What waits
// cannot be ended, so nothing more is begun on them.
type stuck struct {
	mu    sync.Mutex
	since map[string]time.Time // by heartbeat and device
}

func (s *stuck) enter(key string, now time.Time) (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since, busy := s.since[key]; busy {
		return since, false
	}
	s.since[key] = now
	return now, true
}

func (s *stuck) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, key)
}

type driver struct {
	open   func(string) (Device, int64, error)
	stuck  *stuck
	setup  daemon.Setup
	layout layout
}

// Run implements [daemon.Driver]. All that touches the device is done by a goroutine of
// its own: a device that hangs holds up nobody else, and is given up here.
func (d *driver) Run(ctx context.Context, link daemon.Link) error {
	key := d.setup.Name + " " + d.setup.Dev
	if since, ok := d.stuck.enter(key, time.Now()); !ok {
		return fmt.Errorf("%s does not answer since %s", d.setup.Dev, since.Format(time.RFC3339))
	}
	w := &worker{driver: d, link: link, beats: make(chan time.Time, 1), seen: map[string]uint64{}, slots: map[string]int{}, said: map[string]string{}}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := w.run(inner)
		d.stuck.leave(key)
		done <- err
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-w.beats:
			timer.Reset(patience)
		case <-timer.C:
			return fmt.Errorf("%s does not answer for %s", d.setup.Dev, patience)
		case <-ctx.Done():
			// It ends after what it does now, which may hang: that is not waited for.
			timer.Reset(quickest)
			select {
			case <-done: //nolint:errcheck // what it came to is of no weight now
			case <-timer.C:
			}
			return nil
		}
	}
}

// worker is the goroutine that uses the device.
type worker struct {
	*driver

	link     daemon.Link
	beats    chan time.Time // it did something
	device   Device
	slot     int
	sequence uint64
	slots    map[string]int    // of the peers
	seen     map[string]uint64 // the frame of each that was read last
	said     map[string]string
}

// alive tells that the device answered.
func (w *worker) alive() {
	select {
	case w.beats <- time.Now():
	default: // it was told already
	}
}

func (w *worker) run(ctx context.Context) (err error) {
	device, size, err := w.open(w.setup.Dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	w.device = device
	if size < w.layout.size() {
		return fmt.Errorf("%s has %d bytes, of the %d that %d slots need: set max_slots, or take a larger device", w.setup.Dev, size, w.layout.size(), w.layout.slots)
	}
	if err := w.take(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	w.sequence = rand.Uint64() //nolint:gosec // no former life of this node began there
	return w.beat(ctx)
}

// beat writes what is to be told and reads what the peers tell, until ctx ends.
func (w *worker) beat(ctx context.Context) error {
	box := w.link.Outbox()
	gap := max(quickest, min(w.setup.Interval/5, w.setup.Timeout/10, slowest))
	ticker := time.NewTicker(gap)
	defer ticker.Stop()
	counted := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-box.C():
			if err := w.write(box.Take()); err != nil {
				return err
			}
		case <-ticker.C:
			if age := time.Since(counted); age > census || age > hunt && len(w.slots) < len(w.setup.Peers) {
				if err := w.take(ctx); err != nil {
					return err
				}
				counted = time.Now()
			}
			if err := w.read(); err != nil {
				return err
			}
		}
		w.alive()
	}
}

func (w *worker) write(frame []byte) error {
	if frame == nil {
		return nil
	}
	if len(frame) > mostFrame {
		w.link.Failed("", fmt.Errorf("a frame of %d bytes does not fit a slot of %s", len(frame), w.setup.Dev))
		return nil
	}
	w.sequence++
	if err := writeSlot(w.device, w.layout.slot(w.slot), w.sequence, frame); err != nil {
		return fmt.Errorf("write slot %d of %s: %w", w.slot, w.setup.Dev, err)
	}
	w.link.Sent("")
	return nil
}

// read passes on the frames of the peers that are new.
func (w *worker) read() error {
	for _, peer := range slices.Sorted(maps.Keys(w.slots)) {
		slot := w.slots[peer]
		frame, sequence, err := readSlot(w.device, w.layout.slot(slot), w.seen[peer])
		if err != nil {
			return fmt.Errorf("read slot %d of %s: %w", slot, w.setup.Dev, err)
		}
		_, looked := w.seen[peer]
		w.seen[peer] = sequence
		// What is there at first may be of a peer that is gone for long: it is a beat
		// once it changes.
		if frame != nil && looked {
			w.link.Received(frame)
		}
	}
	return nil
}

// take sees that this node has a slot, and where those of the peers are.
func (w *worker) take(ctx context.Context) error {
	self := owner{w.setup.Self, w.setup.Cluster}
	for {
		owners, err := w.owners()
		if err != nil {
			return err
		}
		if w.slot != 0 && owners[w.slot] == self {
			w.learn(owners)
			return nil
		}
		slot := slices.Index(owners, self)
		if slot < 1 {
			if slot = slices.Index(owners[1:], owner{}) + 1; slot < 1 {
				return fmt.Errorf("no slot of %s is free: all %d are taken: wipe it, or set max_slots", w.setup.Dev, len(owners)-1)
			}
			page := aligned(pageSize)
			if err := self.encode(page); err != nil {
				return err
			}
			if _, err := w.device.WriteAt(page, w.layout.page(slot)); err != nil {
				return fmt.Errorf("take slot %d of %s: %w", slot, w.setup.Dev, err)
			}
			// Another node may take the same one now: who wrote last has it.
			if !pause(ctx, settle+time.Duration(rand.Int64N(int64(settle)))) { //nolint:gosec // only to part
				return nil
			}
			w.alive()
			continue
		}
		w.slot = slot
		w.alive()
	}
}

// owners reads who has each slot.
func (w *worker) owners() ([]owner, error) {
	const atOnce = 64
	owners := make([]owner, w.layout.slots)
	buffer := aligned(atOnce * pageSize)
	for first := 0; first < len(owners); first += atOnce {
		n := min(atOnce, len(owners)-first)
		if _, err := w.device.ReadAt(buffer[:n*pageSize], w.layout.page(first)); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.setup.Dev, err)
		}
		if first == 0 && !isSigned(buffer) {
			return nil, fmt.Errorf("%s is not signed as a disk of heartbeats: run `om daemon hb sign --name %s` on one node", w.setup.Dev, w.setup.Name)
		}
		for i := range n {
			if first+i > 0 {
				owners[first+i] = parseOwner(buffer[i*pageSize : (i+1)*pageSize])
			}
		}
	}
	return owners, nil
}

// learn remembers the slots of the peers, and tells them.
func (w *worker) learn(owners []owner) {
	w.describe("", fmt.Sprintf("%s slot %d", w.setup.Dev, w.slot))
	clear(w.slots)
	for slot, o := range owners {
		if _, isPeer := w.setup.Peers[o.node]; isPeer && o.cluster == w.setup.Cluster {
			w.slots[o.node] = slot
			w.describe(o.node, fmt.Sprintf("%s slot %d", w.setup.Dev, slot))
		}
	}
}

func (w *worker) describe(peer, text string) {
	if w.said[peer] != text {
		w.said[peer] = text
		w.link.Describe(peer, text)
	}
}

// pause waits, and reports whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
