package heartbeat

import (
	"maps"
	"slices"
	"strings"
)

// EventPrefix begins the keys of what happened, rather than of what is.
const EventPrefix = "event/"

// Part is how far the part of the state that another node owns is known: the
// generation of each key. It decides what of a message is news. The zero Part knows
// nothing.
type Part struct {
	Incarnation Incarnation
	Gen         uint64 // everything up to there is known

	gens   map[string]uint64
	former map[string]struct{} // told in the life before, and not yet in this one
	synced bool                // was once known up to its head
}

// Begin is for another life of the node. What it told before holds until it has
// told everything again.
func (p *Part) Begin(i Incarnation) {
	if p.former == nil {
		p.former = map[string]struct{}{}
	}
	for key := range p.gens {
		p.former[key] = struct{}{}
	}
	*p = Part{Incarnation: i, former: p.former}
}

// Forget returns the keys the part has, and empties it: what is told next must
// begin at the beginning.
func (p *Part) Forget() []string {
	keys := p.Keys()
	*p = Part{Incarnation: p.Incarnation}
	return keys
}

// Keys lists the keys the part has, sorted.
func (p *Part) Keys() []string {
	all := map[string]struct{}{}
	maps.Copy(all, p.former)
	for key := range p.gens {
		all[key] = struct{}{}
	}
	return slices.Sorted(maps.Keys(all))
}

// Synced tells whether the part was known up to its head once.
func (p *Part) Synced() bool { return p.synced }

// Take returns the entries of a message that are news, in order, and false when
// the message builds on what is not known. Taking messages again, or in another
// order, comes to the same in the end: per key the highest generation holds.
func (p *Part) Take(m *Message) (news []Entry, ok bool) {
	if m.Incarnation != p.Incarnation || m.Base > p.Gen {
		return nil, false
	}
	if p.gens == nil {
		p.gens = map[string]uint64{}
	}
	for _, e := range m.Entries {
		if e.Gen <= p.Gen {
			continue // told before
		}
		_, had := p.gens[e.Key]
		_, hadFormer := p.former[e.Key]
		delete(p.former, e.Key)
		switch {
		case strings.HasPrefix(e.Key, EventPrefix):
			if !p.synced {
				continue // happened before we listened
			}
		case len(e.Value) == 0:
			delete(p.gens, e.Key)
			if !had && !hadFormer {
				continue
			}
		default:
			p.gens[e.Key] = e.Gen
		}
		news = append(news, e)
	}
	p.Gen = max(p.Gen, m.To)
	if p.Gen >= m.Head {
		p.synced = true
		for _, key := range slices.Sorted(maps.Keys(p.former)) {
			news = append(news, Entry{Key: key, Gen: p.Gen})
		}
		p.former = nil
	}
	return news, true
}
