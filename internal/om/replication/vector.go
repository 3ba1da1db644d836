// Package replication decides how the configurations of a cluster become one on
// every node. It is pure: it reads no file and knows no network.
//
// A configuration has a [Version]: a [Vector], which says what was seen of the edits
// of each node, and what chooses between versions when neither saw the other. The
// content of a version is that of its greatest edit, by [Less], among all the edits
// its vector holds; an edit is greater than each one it follows. So a merge is the
// union of two sets of edits: in whatever order and however often versions meet,
// they end as one.
//
// What is replaced by a version that did not see it is lost on its node alone, which
// archives it; only that node merges the vectors. Hence the law that the tests hold:
// an edit that a vector holds either led to the content, or is in an archive.
package replication

import "maps"

// Vector is, for each node, the stamp of its last edit that was seen.
type Vector map[string]uint64

// Order is how two vectors compare.
type Order int

// The orders.
const (
	Equal Order = iota
	Before
	After
	Concurrent
)

// String names the order.
func (o Order) String() string {
	return [...]string{"equal", "before", "after", "concurrent"}[o]
}

// Compare tells what a saw against what b did.
func Compare(a, b Vector) Order {
	missing := func(a, b Vector) bool { // of b, in a
		for node, stamp := range b {
			if a[node] < stamp {
				return true
			}
		}
		return false
	}
	switch aMisses, bMisses := missing(a, b), missing(b, a); {
	case aMisses && bMisses:
		return Concurrent
	case aMisses:
		return Before
	case bMisses:
		return After
	default:
		return Equal
	}
}

// Join is what both saw, together.
func Join(a, b Vector) Vector {
	v := maps.Clone(a)
	if v == nil {
		v = Vector{}
	}
	for node, stamp := range b {
		v[node] = max(v[node], stamp)
	}
	return v
}

// maxWriters bounds a vector. Who edits an object are some nodes of one cluster.
const maxWriters = 256

// trim drops the oldest edit seen when there are too many. What is dropped may at
// worst be taken for a conflict later, which is announced.
func (v Vector) trim(keep string) {
	for len(v) > maxWriters {
		oldest := ""
		for node, stamp := range v {
			if node != keep && (oldest == "" || stamp < v[oldest] || stamp == v[oldest] && node < oldest) {
				oldest = node
			}
		}
		delete(v, oldest)
	}
}
