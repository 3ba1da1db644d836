package heartbeat

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// The states of a stream.
const (
	stateRunning = "running"
	stateStopped = "stopped"
	stateFailed  = "failed"
)

// stream is one heartbeat: a driver, and what came of it. The lock of the manager
// guards it.
type stream struct {
	m      *Manager
	setup  Setup
	cancel context.CancelFunc
	done   chan struct{}

	started bool
	again   bool // to be started anew
	state   string
	fault   string
	since   time.Time // of state

	next time.Time // when it sends again, if nothing else has it do so

	configured, created time.Time

	outboxes map[*outbox]struct{}
	rx, tx   map[string]*beat
	desc     string // of the way of all the peers
}

// beat is a peer in one direction of a heartbeat.
type beat struct {
	at       time.Time // of the last one, by the clock that only goes forward
	last     time.Time // the same, as shown
	beating  bool
	changed  time.Time
	desc     string
	refused  []time.Time
	failures string
}

func (m *Manager) newStream(setup Setup, was *stream) *stream {
	now := time.Now()
	s := &stream{
		m: m, setup: setup, state: stateStopped, since: now, configured: now, created: now,
		outboxes: map[*outbox]struct{}{}, rx: map[string]*beat{}, tx: map[string]*beat{},
	}
	for peer := range setup.Peers {
		s.rx[peer], s.tx[peer] = &beat{}, &beat{}
		if was == nil {
			continue
		}
		s.created = was.created
		if b := was.rx[peer]; b != nil {
			s.rx[peer] = b // a change of the settings is no silence
		}
		if b := was.tx[peer]; b != nil {
			s.tx[peer] = b
		}
	}
	return s
}

func (s *stream) isStopped() bool { return !s.started }

// start runs the driver of a stream, and again when it fails.
func (m *Manager) start(ctx context.Context, s *stream) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.done, s.started = make(chan struct{}), true
	s.set(stateRunning, nil)
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
	go s.pulse(ctx)
}

// pulse has the stream send an interval after it last did, whatever it did then: the
// nodes fall into step, and each is answered soon.
func (s *stream) pulse(ctx context.Context) {
	timer := time.NewTimer(s.setup.Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(s.m.beat(s))
		}
	}
}

func (s *stream) run(ctx context.Context) {
	_ = retry.Until(ctx, retry.Policy{Interval: time.Second, Max: 30 * time.Second}, func(ctx context.Context) (bool, error) {
		err := s.once(ctx)
		if ctx.Err() != nil {
			return true, nil
		}
		if err == nil {
			err = fmt.Errorf("%s ended by itself", s.setup.Name)
		}
		s.m.mu.Lock()
		defer s.m.mu.Unlock()
		s.set(stateFailed, err)
		if s.m.log.News(s.setup.Name, err.Error()) {
			s.m.o.Log.Error("a heartbeat does not work, it is tried again", slog.String("hb", s.setup.Name), slog.Any("err", err))
		}
		return false, nil
	})
}

func (s *stream) once(ctx context.Context) error {
	maker := s.m.o.Drivers[s.setup.Type]
	if maker == nil {
		return fmt.Errorf("heartbeats of type %s are not supported by this release", s.setup.Type)
	}
	driver, err := maker(s.setup)
	if err != nil {
		return err
	}
	s.m.mu.Lock()
	s.set(stateRunning, nil)
	s.m.mu.Unlock()
	return driver.Run(ctx, link{s})
}

// set says how the stream does.
func (s *stream) set(state string, err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if s.state == state && s.fault == fault {
		return
	}
	s.state, s.fault, s.since = state, fault, time.Now()
	if s.m.streams[s.setup.Name] == s {
		s.m.publish()
	}
}

// stop ends the driver, and waits for it.
func (s *stream) stop() {
	s.m.mu.Lock()
	cancel, done := s.cancel, s.done
	s.m.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.outboxes = map[*outbox]struct{}{}
	s.set(stateStopped, nil)
}

// link is the manager as the driver of a stream sees it.
type link struct{ s *stream }

var _ Link = link{}

// Outbox implements [Link].
func (l link) Outbox() Outbox {
	o := &outbox{s: l.s, c: make(chan struct{}, 1)}
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	l.s.outboxes[o] = struct{}{}
	o.offer()
	return o
}

// Received implements [Link].
func (l link) Received(frame []byte) { l.s.m.receive(l.s, frame) }

// Sent implements [Link].
func (l link) Sent(peer string) {
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	now := time.Now()
	l.s.each(peer, l.s.rx, func(_ string, b *beat) { b.refused = nil }) // somebody took it
	l.s.each(peer, l.s.tx, func(_ string, b *beat) {
		shown := b.beating && b.failures == ""
		b.at, b.last, b.failures = now, now, ""
		if !b.beating {
			b.beating, b.changed = true, now
		}
		if !shown {
			l.s.m.publish()
		}
	})
}

// Failed implements [Link].
func (l link) Failed(peer string, err error) {
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	l.s.each(peer, l.s.tx, func(node string, b *beat) {
		first := b.failures == ""
		if b.failures != err.Error() {
			b.failures = err.Error()
			l.s.m.o.Log.Debug("a beat is not sent", slog.String("hb", l.s.setup.Name), slog.String("peer", node), slog.Any("err", err))
		}
		if first {
			l.s.m.publish()
		}
	})
}

// Refused implements [Link].
func (l link) Refused(peer string) { l.s.m.refused(l.s, peer) }

// Describe implements [Link].
func (l link) Describe(peer, text string) {
	l.s.m.mu.Lock()
	defer l.s.m.mu.Unlock()
	if peer == "" {
		l.s.desc = text
	}
	l.s.each(peer, l.s.tx, func(_ string, b *beat) { b.desc = text })
	l.s.each(peer, l.s.rx, func(_ string, b *beat) { b.desc = text })
}

func (s *stream) each(peer string, of map[string]*beat, do func(string, *beat)) {
	if peer != "" {
		if b := of[peer]; b != nil {
			do(peer, b)
		}
		return
	}
	for node, b := range of {
		do(node, b)
	}
}

// outbox implements [Outbox].
type outbox struct {
	s       *stream
	c       chan struct{}
	pending bool
}

// C implements [Outbox].
func (o *outbox) C() <-chan struct{} { return o.c }

// Take implements [Outbox].
func (o *outbox) Take() []byte {
	m := o.s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	if !o.pending {
		return nil
	}
	o.pending = false
	return m.seal(o.s)
}

func (o *outbox) offer() {
	o.pending = true
	select {
	case o.c <- struct{}{}:
	default: // it was not taken yet
	}
}

// seal makes a frame of what is to be told.
func (m *Manager) seal(s *stream) []byte {
	if m.payload.Message() == nil {
		m.compose()
	}
	if m.payload.Message() == nil {
		return nil
	}
	m.counter++
	frame, err := m.keys.Seal(heartbeat.Header{
		Sender: m.o.Node, Heartbeat: s.setup.Name, Incarnation: m.incarnation, Counter: m.counter,
		Key: m.keys.Choose(m.exchange.Keys(m.beating)),
	}, m.payload)
	if err != nil {
		if m.log.News("seal", err.Error()) {
			m.o.Log.Error("a beat cannot be sealed", slog.Any("err", err))
		}
		return nil
	}
	return frame
}

// status is how a stream is shown, in one direction.
func (s *stream) status(direction string, beats map[string]*beat) cluster.HeartbeatStream {
	v := cluster.HeartbeatStream{
		ID: s.setup.Name + "." + direction, Type: s.setup.Type, State: s.state, Error: s.fault,
		ConfiguredAt: s.configured.Round(0), CreatedAt: s.created.Round(0), UpdatedAt: s.since.Round(0),
		Peers: map[string]cluster.HeartbeatPeer{}, Alerts: []cluster.HeartbeatAlert{},
	}
	if s.fault != "" {
		v.Alerts = append(v.Alerts, cluster.HeartbeatAlert{Severity: "error", Message: s.fault})
	}
	for peer, b := range beats {
		desc := b.desc
		if desc == "" {
			desc = s.desc
		}
		if b.failures != "" {
			v.Alerts = append(v.Alerts, cluster.HeartbeatAlert{Severity: "warning", Message: peer + ": " + b.failures})
		}
		v.Peers[peer] = cluster.HeartbeatPeer{Desc: desc, IsBeating: b.beating, ChangedAt: b.changed.Round(0), LastBeatingAt: b.last.Round(0)}
	}
	slices.SortFunc(v.Alerts, func(a, b cluster.HeartbeatAlert) int { return strings.Compare(a.Message, b.Message) })
	return v
}
