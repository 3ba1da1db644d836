// Package relay is both sides of the heartbeats that a daemon of another site relays:
// how the nodes of a cluster leave frames there and fetch those of their peers, and
// how a relay keeps them. It cannot read them.
package relay

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

const (
	// What a user may leave, and how long what is not renewed stays.
	mostSlots = 4096
	mostBytes = 64 << 20
	mostUsers = 256
	lifetime  = time.Hour
)

// ErrFull is the error of a message that the relay has no room for.
var ErrFull = errors.New("the relay has no room for more: its users have left too much")

// Store keeps messages in memory, of each user apart. It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	users map[string]*user
}

type user struct {
	slots map[place]api.RelayMessage
	bytes int
}

type place struct{ cluster, node string }

// NewStore returns a store without messages.
func NewStore() *Store { return &Store{users: map[string]*user{}} }

// Put keeps a message, in place of the one of its node.
func (s *Store) Put(m api.RelayMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[m.User]
	if u == nil {
		if len(s.users) >= mostUsers {
			s.sweep(m.UpdatedAt)
		}
		if len(s.users) >= mostUsers {
			return ErrFull
		}
		u = &user{slots: map[place]api.RelayMessage{}}
		s.users[m.User] = u
	}
	at := place{m.ClusterID, m.Node}
	was, had := u.slots[at]
	full := func() bool { return u.bytes-size(was)+size(m) > mostBytes || !had && len(u.slots) >= mostSlots }
	if full() {
		u.expire(m.UpdatedAt, at)
	}
	if full() {
		return ErrFull
	}
	u.bytes += size(m) - size(was)
	u.slots[at] = m
	return nil
}

// size is what a message counts for; an empty one for nothing.
func size(m api.RelayMessage) int {
	return len(m.ClusterID) + len(m.ClusterName) + len(m.Node) + len(m.Message)
}

// Get returns the message of a node, when there is one.
func (s *Store) Get(name, clusterID, node string) (api.RelayMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[name]
	if u == nil {
		return api.RelayMessage{}, false
	}
	m, ok := u.slots[place{clusterID, node}]
	return m, ok
}

// List returns the messages of a user, of all for "", sorted.
func (s *Store) List(name string, now time.Time) []api.RelayMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	var all []api.RelayMessage
	for n, u := range s.users {
		if name != "" && n != name {
			continue
		}
		for _, m := range u.slots {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b api.RelayMessage) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.ClusterName, b.ClusterName), cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Node, b.Node))
	})
	return all
}

// sweep forgets what was not renewed for long.
func (s *Store) sweep(now time.Time) {
	for name, u := range s.users {
		u.expire(now, place{})
		if len(u.slots) == 0 {
			delete(s.users, name)
		}
	}
}

func (u *user) expire(now time.Time, except place) {
	for at, m := range u.slots {
		if at != except && now.Sub(m.UpdatedAt) > lifetime {
			u.bytes -= size(m)
			delete(u.slots, at)
		}
	}
}
