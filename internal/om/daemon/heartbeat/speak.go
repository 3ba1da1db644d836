package heartbeat

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// speak tells what changed, soon after it did.
func (m *Manager) speak(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.o.State.Changed():
			m.mu.Lock()
			m.tellSoon(coalesce)
			m.mu.Unlock()
		case <-m.soon:
		case <-timer.C:
			m.mu.Lock()
			if !m.due.IsZero() && !time.Now().Before(m.due) {
				m.tell()
			}
			m.mu.Unlock()
		}
		m.mu.Lock()
		if m.due.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(0, time.Until(m.due)))
		}
		m.mu.Unlock()
	}
}

// tellSoon has something told within a time, or as soon as it may.
func (m *Manager) tellSoon(within time.Duration) {
	if len(m.streams) == 0 {
		return
	}
	due := time.Now().Add(within)
	if earliest := m.spoke.Add(m.gap); due.Before(earliest) {
		due = earliest
	}
	if m.due.IsZero() || due.Before(m.due) {
		m.due = due
		select {
		case m.soon <- struct{}{}:
		default: // it is about to look
		}
	}
}

// tell has every heartbeat send what is to be told now.
func (m *Manager) tell() {
	m.compose()
	for _, s := range m.streams {
		s.offer()
	}
}

// beat has one heartbeat send when it is time, and says when it may be next.
func (m *Manager) beat(s *stream) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left := time.Until(s.next); left > 0 {
		return left
	}
	if base, heard := m.exchange.Base(m.beating); heard && base == m.acked && base < m.o.State.Head() {
		m.piece = max(pieceMin, m.piece/2) // what was told did not arrive: less of it may
	}
	m.compose()
	s.offer()
	return s.setup.Interval
}

func (s *stream) offer() {
	s.next = time.Now().Add(s.setup.Interval)
	for o := range s.outboxes {
		o.offer()
	}
}

// compose makes the message of now.
func (m *Manager) compose() {
	m.due = time.Time{}
	if m.keys == nil || len(m.peers) == 0 {
		return
	}
	m.beaten++
	m.beats[m.beaten%rememberBeats] = time.Now()
	msg := &heartbeat.Message{
		Beat: m.beaten, Node: m.o.Node, Incarnation: m.incarnation, Compat: m.o.Compat, Keys: m.keys.Versions(),
		Marks: m.exchange.Marks(m.beating), Leaving: m.leaving,
	}
	base, heard := m.exchange.Base(m.beating)
	if heard {
		if base > m.acked {
			m.piece = min(pieceMax, m.piece*2)
		}
		m.acked = base
		msg.Base = base
		var long []string
		msg.Entries, msg.To, msg.Head, long = m.o.State.Delta(base, m.piece)
		if len(long) > 0 && m.log.News("long", strings.Join(long, " ")) {
			m.o.Log.Error("what this node says of itself is too long for its peers, who do not know it", slog.Any("keys", long))
		}
	} else {
		msg.Head = m.o.State.Head()
		msg.Base, msg.To = msg.Head, msg.Head
	}
	payload, err := heartbeat.Encode(msg)
	if err != nil {
		if m.log.News("encode", err.Error()) {
			m.o.Log.Error("a beat cannot be made", slog.Any("err", err))
		}
		return
	}
	m.payload = payload
	m.spoke = time.Now()
	m.gap = coalesce + time.Duration(payload.Size()/bytesPer)*time.Millisecond
	m.tally(msg, base, heard)
}

// tally records what kind of message is told.
func (m *Manager) tally(msg *heartbeat.Message, base uint64, heard bool) {
	m.last[m.o.Node] = cluster.HeartbeatMessage{From: m.o.Node, Type: msg.Kind(), PatchLength: len(msg.Entries)}
	kind := heartbeat.KindPatch
	switch {
	case !heard:
		kind = heartbeat.KindPing
	case base == 0:
		kind = heartbeat.KindFull
	}
	if kind == m.kind {
		return
	}
	nodes := append(slices.Sorted(maps.Keys(m.peers)), m.o.Node)
	slices.Sort(nodes)
	joined := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n != m.o.Node && !(m.beating(n) && m.exchange.Synced(n)) })
	applied := m.exchange.Gens(msg.Head)[m.o.Node]
	m.o.Bus.Publish(event.HeartbeatMessageTypeUpdated{
		Node: m.o.Node, OldType: m.kind, NewType: kind, Nodes: nodes, JoinedNodes: joined, InstalledGens: applied,
	})
	m.kind = kind
}

// Leave tells the peers that this node ends on purpose, and returns once it was sent
// to those that are heard, or shortly after.
func (m *Manager) Leave(ctx context.Context) {
	m.mu.Lock()
	m.leaving = true
	began := time.Now()
	m.tell()
	m.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = retry.Until(limited, retry.Policy{Interval: 10 * time.Millisecond}, func(context.Context) (bool, error) {
		return m.sentSince(began), nil
	}) // who was not reached sees that it is silent
}

// Stay takes back what [Manager.Leave] told.
func (m *Manager) Stay() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving {
		m.leaving = false
		m.tellSoon(0)
	}
}

func (m *Manager) sentSince(began time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node := range m.peers {
		if !m.beating(node) {
			continue
		}
		sent := false
		for _, s := range m.streams {
			if b := s.tx[node]; b != nil && b.at.After(began) {
				sent = true
			}
		}
		if !sent {
			return false
		}
	}
	return true
}
