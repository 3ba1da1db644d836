package auth

import (
	"fmt"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"
)

// WaitError says that a caller asks too much, and when to come back.
type WaitError struct {
	Reason string
	After  time.Duration
}

// Error says how long to wait.
func (e *WaitError) Error() string {
	return fmt.Sprintf("%s: try again in %s", e.Reason, e.After.Round(time.Second))
}

// slots is how many callers a table tells apart. Callers whose names hash alike
// share a slot: memory is bounded whatever is sent, and all that a stranger can
// do is to have others wait with them.
const slots = 1 << 13

// table counts by name, in a constant space.
type table struct {
	seed  maphash.Seed
	slots [slots]counter
}

type counter struct {
	level float64 // what was taken and is not given back yet
	last  int64   // unix nanoseconds
}

func (t *table) of(name string) *counter { return &t.slots[maphash.String(t.seed, name)%slots] }

// after returns the counter of a name, with what time gave back at so many a second.
func (t *table) after(name string, rate float64, now time.Time) *counter {
	c := t.of(name)
	at := now.UnixNano()
	if past := time.Duration(at - c.last).Seconds(); past > 0 {
		c.level = math.Max(0, c.level-past*rate)
		c.last = at
	}
	return c
}

// Limit is how often one address may ask.
type Limit struct {
	Rate    int           // a second; zero is no limit
	Burst   int           // at once
	Expires time.Duration // after which a silent address starts anew; zero: never
}

// Requests limits how often each address asks.
type Requests struct {
	mu    sync.Mutex
	table table
}

// NewRequests returns a limiter nobody has asked yet.
func NewRequests() *Requests { return &Requests{table: table{seed: maphash.MakeSeed()}} }

// Ask counts a request of an address, or refuses it with a *[WaitError].
func (r *Requests) Ask(address string, l Limit, now time.Time) error {
	if l.Rate <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	source := Source(address)
	if c := r.table.of(source); l.Expires > 0 && now.Sub(time.Unix(0, c.last)) > l.Expires {
		c.level = 0
	}
	c := r.table.after(source, float64(l.Rate), now)
	if over := c.level + 1 - math.Max(1, float64(l.Burst)); over > 0 {
		return &WaitError{Reason: "too many requests", After: time.Duration(over / float64(l.Rate) * float64(time.Second))}
	}
	c.level++
	return nil
}

// Source is what counts as one caller: an IPv4 address, or the /64 of an IPv6
// one, since whoever has one of its addresses has them all.
func Source(address string) string {
	if host, err := netip.ParseAddrPort(address); err == nil {
		address = host.Addr().String()
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return prefix.String()
}

// How guessing is slowed down. Each wrong password counts one, forgotten after
// forget; beyond the free ones, each doubles the wait, up to a maximum. One user
// from one address is slowed down first; then the address, whatever the users;
// then the user, whatever the addresses, but never for long: else anybody could
// keep a user out.
const (
	forget      = 30 * time.Second
	freePair    = 5
	freeAddress = 20
	freeUser    = 30
	maxWait     = 5 * time.Minute
	maxUserWait = 30 * time.Second
)

// Guesses slows down those who try passwords.
type Guesses struct {
	mu    sync.Mutex
	table table
}

// NewGuesses returns a limiter that has seen no wrong password.
func NewGuesses() *Guesses { return &Guesses{table: table{seed: maphash.MakeSeed()}} }

type guess struct {
	name string
	free float64
	max  time.Duration
}

func guesses(user, address string) [3]guess {
	source := Source(address)
	return [3]guess{
		{"pair\x00" + user + "\x00" + source, freePair, maxWait},
		{"address\x00" + source, freeAddress, maxWait},
		{"user\x00" + user, freeUser, maxUserWait},
	}
}

// Begin counts a guess as a wrong one until it proves right, or refuses one made
// too early with a *[WaitError]. A refused guess is not counted: it is not even
// looked at.
func (g *Guesses) Begin(user, address string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var longest time.Duration
	for _, by := range guesses(user, address) {
		c := g.table.of(by.name)
		if over := c.level - by.free; over >= 0 {
			wait := min(by.max, time.Duration(math.Exp2(math.Min(over, 20))*float64(time.Second)))
			longest = max(longest, wait-now.Sub(time.Unix(0, c.last)))
		}
	}
	if longest > 0 {
		return &WaitError{Reason: "too many wrong passwords", After: longest}
	}
	for _, by := range guesses(user, address) {
		g.table.after(by.name, 1/forget.Seconds(), now).level++
	}
	return nil
}

// Right forgets the wrong passwords of a user who typed the right one from an
// address; not those of the address, nor those others tried.
func (g *Guesses) Right(user, address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.giveBack(user, address)
	g.table.of(guesses(user, address)[0].name).level = 0
}

// GiveBack takes back a guess that was not compared.
func (g *Guesses) GiveBack(user, address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.giveBack(user, address)
}

func (g *Guesses) giveBack(user, address string) {
	for _, by := range guesses(user, address) {
		c := g.table.of(by.name)
		c.level = math.Max(0, c.level-1)
	}
}
