package heartbeat

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// rotation is a change of the secret that not every node has yet.
type rotation struct {
	id    string
	from  string // version of the key before
	until time.Time
}

// rotateLimit is how long the nodes may take to have a new secret before that is said.
const rotateLimit = 5 * time.Minute

// ErrRotating is the error of a rotation that another one is in the way of.
var ErrRotating = errors.New("another rotation of the secret is in progress")

// Rotate has change write another secret of the cluster. Every node goes on opening what
// the former one sealed, and seals with the new one once all that are heard have it.
// Events with the id that is returned say when every node has it, or that some do not.
func (m *Manager) Rotate(ctx context.Context, change func(context.Context) error) (id string, err error) {
	m.mu.Lock()
	if m.rotation.id != "" {
		m.mu.Unlock()
		return "", ErrRotating
	}
	id = uuid.NewString()
	m.rotation = rotation{id: id, until: time.Now().Add(rotateLimit)}
	if m.keys != nil && len(m.keys.Versions()) > 0 {
		m.rotation.from = m.keys.Versions()[0]
	}
	m.mu.Unlock()
	m.o.Bus.Publish(event.HeartbeatRotateRequest{ID: id})
	if err := change(ctx); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.rotation = rotation{}
		m.o.Bus.Publish(event.HeartbeatRotateError{ID: id, Reason: err.Error()})
		return "", err
	}
	select {
	case m.asked <- struct{}{}:
	default: // it is about to look
	}
	return id, nil
}

// settle ends a rotation that every node has, or that took too long.
func (m *Manager) settle(now time.Time) {
	if m.rotation.id == "" {
		return
	}
	missing := m.o.Node
	if len(m.peers) == 0 {
		missing = "" // a node that is alone has nobody to tell
	} else if m.keys != nil && len(m.keys.Versions()) > 0 && m.keys.Versions()[0] != m.rotation.from {
		_, missing = m.exchange.Know(m.keys.Versions()[0], m.beating)
	}
	switch id := m.rotation.id; {
	case missing == "":
		m.rotation = rotation{}
		m.o.Bus.Publish(event.HeartbeatRotateSuccess{ID: id})
	case now.After(m.rotation.until):
		m.rotation = rotation{}
		m.o.Bus.Publish(event.HeartbeatRotateError{ID: id, Reason: missing + " does not have the new secret yet: both are accepted until it does"})
	}
}
