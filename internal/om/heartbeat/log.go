package heartbeat

import (
	"iter"
	"sort"
)

// Log is what a node changed of its own part: for each key, the generation of its
// last change. The zero Log is empty.
type Log struct {
	gen   uint64
	keys  map[string]uint64
	order []change // by generation; those that are not the last of their key are skipped
}

type change struct {
	gen uint64
	key string
}

// Head is the generation of the last change.
func (l *Log) Head() uint64 { return l.gen }

// Len counts the keys.
func (l *Log) Len() int { return len(l.keys) }

// Of is the generation of the last change of a key.
func (l *Log) Of(key string) uint64 { return l.keys[key] }

// Touch records that what a key says changed, or is gone.
func (l *Log) Touch(key string) {
	if l.keys == nil {
		l.keys = map[string]uint64{}
	}
	l.gen++
	l.keys[key] = l.gen
	l.order = append(l.order, change{l.gen, key})
	if len(l.order) > 2*len(l.keys)+64 {
		kept := l.order[:0]
		for _, c := range l.order {
			if l.keys[c.key] == c.gen {
				kept = append(kept, c)
			}
		}
		clear(l.order[len(kept):])
		l.order = kept
	}
}

// Drop forgets a key: nobody is told of it any more, not even that it is gone.
func (l *Log) Drop(key string) { delete(l.keys, key) }

// After yields the keys that changed after a generation, in order.
func (l *Log) After(gen uint64) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		from := sort.Search(len(l.order), func(i int) bool { return l.order[i].gen > gen })
		for _, c := range l.order[from:] {
			if l.keys[c.key] == c.gen && !yield(c.key, c.gen) {
				return
			}
		}
	}
}
