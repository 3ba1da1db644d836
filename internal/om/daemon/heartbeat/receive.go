package heartbeat

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// receive takes a frame that came on a stream.
func (m *Manager) receive(s *stream, frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams[s.setup.Name] != s || m.keys == nil {
		return
	}
	if err := m.take(s, frame); err != nil {
		m.refuse(s, err)
	}
}

func (m *Manager) take(s *stream, frame []byte) error {
	h, err := heartbeat.Parse(frame)
	if err != nil {
		return err
	}
	fresh, err := m.exchange.Check(h)
	if err != nil || !fresh {
		return err
	}
	if h.Heartbeat != s.setup.Name {
		return &heartbeat.RefusedError{Reason: heartbeat.Lie, Sender: h.Sender, Detail: "it was made for another heartbeat"}
	}
	msg, err := m.keys.Open(h)
	if err != nil {
		return err
	}
	v, err := m.exchange.Take(h, msg, m.o.State.Head())
	if err != nil {
		return err
	}
	if v.Beat {
		m.heard(s, h.Sender, msg, v)
	}
	switch {
	case v.Reply:
		m.tellSoon(time.Millisecond)
	case v.Ack, v.Beat && time.Since(m.spoke) > s.setup.Interval/2:
		m.tellSoon(ackDelay)
	}
	return nil
}

// heard is for a beat of a peer.
func (m *Manager) heard(s *stream, node string, msg *heartbeat.Message, v heartbeat.Verdict) {
	now := time.Now()
	m.last[node] = cluster.HeartbeatMessage{From: node, Type: msg.Kind(), PatchLength: len(msg.Entries)}
	b := s.rx[node]
	if b == nil { // it uses a heartbeat that is not for it here
		b = &beat{}
		s.rx[node] = b
	}
	b.at, b.last, b.refused = now, now, nil
	delete(m.grace, node)
	if !b.beating {
		b.beating, b.changed = true, now
		m.o.Bus.Publish(event.HeartbeatAlive{Node: node, HeartbeatID: s.setup.Name, At: now.Round(0)})
		m.publish()
	}
	if v.Adopted && v.Reset {
		m.o.Log.Info("the daemon of a peer restarted", slog.String("peer", node))
	}
	if unread := m.o.State.Apply(node, v.News); len(unread) > 0 && m.log.News("unread "+node, strings.Join(unread, " ")) {
		m.o.Log.Warn("what a peer says cannot be read: its release may be another one", slog.String("peer", node), slog.Any("keys", unread))
	}
	peer := *m.peers[node]
	if !peer.Beating {
		peer.Beating, peer.Since = true, now.Round(0)
	}
	if made := m.made(v.Echo); v.Adopted || made.After(m.echoed[node]) {
		m.echoed[node] = made
	}
	peer.Heard, peer.Left, peer.Synced = true, v.Leaving, m.exchange.Synced(node)
	peer.Deaf = v.Deaf || m.lapse(node, now) <= 0
	m.setPeer(node, peer)
	m.o.State.Known(m.exchange.Acked())
	m.settle(now)
}

// made is when a message of this node was made; the zero time is too long ago.
func (m *Manager) made(beat uint64) time.Time {
	if beat == 0 || beat > m.beaten || m.beaten-beat >= rememberBeats {
		return time.Time{}
	}
	return m.beats[beat%rememberBeats]
}

// lapse is for how long a peer surely takes this node for alive: it received what was
// made at a known time, and waits for its timeout from then on. This node knows before
// the peer does that it may not be heard any more. A time that this process stood
// still for counts.
func (m *Manager) lapse(node string, now time.Time) time.Duration {
	lease := time.Duration(0)
	for _, s := range m.streams {
		theirs, shared := s.setup.Peers[node]
		if !shared {
			continue
		}
		for _, timeout := range []time.Duration{s.setup.Timeout, theirs.Timeout} {
			if lease == 0 || timeout < lease {
				lease = timeout
			}
		}
	}
	return m.echoed[node].Add(lease - lease/100).Sub(now) // clocks do not run alike
}

func (m *Manager) setPeer(node string, p cluster.Peer) {
	if p.Same(*m.peers[node]) {
		return
	}
	flips := p.Beating != m.peers[node].Beating
	*m.peers[node] = p
	m.o.State.SetPeer(node, p)
	if flips {
		var hears []string
		for _, n := range slices.Sorted(maps.Keys(m.peers)) {
			if m.beating(n) {
				hears = append(hears, n)
			}
		}
		m.o.State.EditNodeStatus(m.o.Node, func(v *cluster.NodeStatus) { v.Hears = hears })
	}
	m.wakeWatch()
}

func (m *Manager) wakeWatch() {
	select {
	case m.quiet <- struct{}{}:
	default: // it is about to look
	}
}

// beating tells whether a node is heard in time on a heartbeat at least.
func (m *Manager) beating(node string) bool {
	p := m.peers[node]
	return p != nil && p.Beating
}

// refused counts the refusals of a peer: its machine answers, its daemon does not. One
// that is restarted at once is not gone.
func (m *Manager) refused(s *stream, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := s.rx[node]
	if b == nil || !b.beating || m.streams[s.setup.Name] != s {
		return
	}
	now := time.Now()
	b.refused = slices.DeleteFunc(append(b.refused, now), func(t time.Time) bool { return now.Sub(t) > hasty })
	if len(b.refused) >= refusals && now.Sub(b.refused[0]) >= goneFor {
		m.o.Log.Info("a peer refuses connections: its daemon is gone", slog.String("hb", s.setup.Name), slog.String("peer", node))
		m.silent(s, node, b, now)
		m.judge(now)
	}
}

// watch looks for peers that are silent for too long.
func (m *Manager) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	expected := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.quiet:
		case <-timer.C:
		}
		if late := time.Since(expected); late > pauseMin {
			m.stoodStill(late)
		}
		wait := m.look(time.Now())
		timer.Reset(wait)
		expected = time.Now().Add(wait)
	}
}

// stoodStill is for a process that did not run for a while: what the peers sent
// meanwhile was not read yet, so their silence is ours.
func (m *Manager) stoodStill(while time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.o.Log.Warn("this daemon stood still: its peers are given that time", slog.Duration("dur", while))
	for _, s := range m.streams {
		for _, b := range s.rx {
			if b.at = b.at.Add(while); b.at.After(now) {
				b.at = now
			}
		}
	}
}

// look marks those that are silent, and says when to look again.
func (m *Manager) look(now time.Time) (wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wait = time.Hour
	changed := false
	for _, s := range m.streams {
		for node, b := range s.rx {
			if !b.beating {
				continue
			}
			left := b.at.Add(s.setup.Timeout).Sub(now)
			if left <= 0 {
				m.silent(s, node, b, now)
				changed = true
				continue
			}
			wait = min(wait, left, watchGap)
		}
		for _, b := range s.tx {
			if !b.beating {
				continue
			}
			left := b.at.Add(s.setup.Timeout).Sub(now)
			if left <= 0 {
				b.beating, b.changed = false, now
				m.publish()
				continue
			}
			wait = min(wait, left)
		}
	}
	for node, known := range m.peers {
		if !known.Beating || known.Deaf {
			continue
		}
		left := m.lapse(node, now)
		if left <= 0 {
			peer := *known
			peer.Deaf = true
			m.setPeer(node, peer)
			continue
		}
		wait = min(wait, left, watchGap)
	}
	if m.rotation.id != "" {
		wait = min(wait, max(0, m.rotation.until.Sub(now)))
		m.settle(now)
	}
	for node, until := range m.grace {
		left := until.Sub(now)
		if left <= 0 {
			delete(m.grace, node)
			changed = true
			continue
		}
		wait = min(wait, left, watchGap)
	}
	if changed {
		m.judge(now)
	}
	return max(wait, time.Millisecond)
}

// silent is for a peer that a heartbeat does not hear any more.
func (m *Manager) silent(s *stream, node string, b *beat, now time.Time) {
	b.beating, b.changed, b.refused = false, now, nil
	m.o.Bus.Publish(event.HeartbeatStale{Node: node, HeartbeatID: s.setup.Name, At: now.Round(0)})
	m.publish()
}

// judge says which peers are not heard by any heartbeat any more.
func (m *Manager) judge(now time.Time) {
	for _, node := range slices.Sorted(maps.Keys(m.peers)) {
		heard := now.Before(m.grace[node])
		for _, s := range m.streams {
			b := s.rx[node]
			heard = heard || b != nil && b.beating
		}
		peer := *m.peers[node]
		if heard || !peer.Beating {
			continue
		}
		peer.Beating, peer.Since, peer.Deaf, peer.Synced = false, now.Round(0), false, false
		m.setPeer(node, peer)
		if !peer.Left {
			m.forget(node)
		}
		m.tellSoon(0)
	}
}

// Forget forgets what a peer told that announced its end: until then it holds. One
// that is heard is not forgotten.
func (m *Manager) Forget(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.beating(node) {
		m.forget(node)
	}
}

func (m *Manager) forget(node string) {
	m.exchange.Lost(node)
	m.o.State.Forget(node)
}

// refuse says why a frame is not believed, once for each reason in a while.
func (m *Manager) refuse(s *stream, err error) {
	var r *heartbeat.RefusedError
	if !errors.As(err, &r) {
		m.o.Log.Error("a beat cannot be read", slog.String("hb", s.setup.Name), slog.Any("err", err))
		return
	}
	now := time.Now()
	key := refusedKey{s.setup.Name, r.Reason}
	if last, said := m.said[key]; said && now.Sub(last.at) < sayAgain {
		last.more++
		m.said[key] = last
		return
	}
	attrs := []any{slog.String("hb", s.setup.Name), slog.String("reason", string(r.Reason)), slog.Any("err", err)}
	if more := m.said[key].more; more > 0 {
		attrs = append(attrs, slog.Int("more", more))
	}
	m.said[key] = refusedSaid{at: now}
	m.o.Log.Warn("a beat is not believed", attrs...)
}

// sayAgain is how long the same reason is not said again.
const sayAgain = time.Minute

type refusedKey struct {
	heartbeat string
	reason    heartbeat.Reason
}

type refusedSaid struct {
	at   time.Time
	more int // that were not said since
}

// publish tells how the heartbeats do.
func (m *Manager) publish() {
	if n := m.o.State.View().Nodes[m.o.Node]; len(m.streams) > 0 || n != nil && len(n.Heartbeat.Streams) > 0 {
		m.o.State.SetNodeHeartbeat(m.o.Node, m.status())
	}
}

// Status is how the heartbeats do now.
func (m *Manager) Status() cluster.Heartbeat {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.status()
}

func (m *Manager) status() cluster.Heartbeat {
	v := cluster.Heartbeat{
		Streams: []cluster.HeartbeatStream{}, LastMessages: []cluster.HeartbeatMessage{},
		LastMessage: cluster.HeartbeatMessage{From: m.o.Node, Type: "unset"}, UpdatedAt: time.Now().Round(0),
	}
	for _, name := range slices.Sorted(maps.Keys(m.streams)) {
		s := m.streams[name]
		v.Streams = append(v.Streams, s.status("rx", s.rx), s.status("tx", s.tx))
	}
	for _, node := range slices.Sorted(maps.Keys(m.last)) {
		v.LastMessages = append(v.LastMessages, m.last[node])
	}
	if own, ok := m.last[m.o.Node]; ok {
		v.LastMessage = own
	}
	if m.keys != nil {
		v.SecretVersion.Main = m.keys.Choose(m.exchange.Keys(m.beating))
		for _, version := range m.keys.Versions() {
			if version != v.SecretVersion.Main {
				v.SecretVersion.Alternate = version
				break
			}
		}
	}
	return v
}

// Acked tells whether a peer knows what the monitor of the local instance of an
// object does now.
func (m *Manager) Acked(node string, p object.Path) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exchange.AckedBy(node) >= m.o.State.MonitorGen(p)
}

// Gens are the generations up to which each node knows the others, this one included.
func (m *Manager) Gens() map[string]map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exchange.Gens(m.o.State.Head())
}
