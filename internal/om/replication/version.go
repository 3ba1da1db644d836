package replication

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
)

// Fate is what became of an object.
type Fate int

// The fates. The greater wins over what did not see it: a deletion is not undone by
// an edit made elsewhere meanwhile, only by making the object again.
const (
	Alive Fate = iota
	Deleted
	Purged // deleted, and its data with it
)

// String names the fate.
func (f Fate) String() string {
	return [...]string{"alive", "deleted", "purged"}[f]
}

// Version is a configuration, or the end of one, among the edits of all nodes.
// The zero Version is that of an object nobody heard of.
type Version struct {
	Vector   Vector `json:"v"`
	Born     uint64 `json:"b"` // when the object was made
	At       uint64 `json:"t"` // when this edit was: later than those it follows, whatever the clocks said
	Writer   string `json:"w"` // the node of this edit
	Checksum string `json:"c,omitempty"`
	Fate     Fate   `json:"f,omitempty"`
}

// Stamps are nanoseconds since 1970. Clocks are not believed beyond maxStamp.
const maxStamp = 1 << 62

// IsZero reports whether nobody made the object, as far as this is known.
func (v Version) IsZero() bool { return len(v.Vector) == 0 }

// IsGone reports whether the object was deleted.
func (v Version) IsGone() bool { return !v.IsZero() && v.Fate != Alive }

// Same reports whether two versions have one content.
func (v Version) Same(w Version) bool {
	return v.IsZero() == w.IsZero() && v.IsGone() == w.IsGone() && v.Checksum == w.Checksum
}

// Edited is the version that follows v with another content, written by node. An
// object that was not there, or no more, is made. at is when, by the clock of node.
func (v Version) Edited(node, checksum string, at uint64) Version {
	made := v.IsZero() || v.IsGone()
	next := v.next(node, at)
	next.Checksum, next.Fate = checksum, Alive
	if made {
		next.Born = next.At
	}
	return next
}

// Removed is the version that follows v when node deletes the object.
func (v Version) Removed(node string, purged bool, at uint64) Version {
	next := v.next(node, at)
	next.Checksum, next.Fate = "", Deleted
	if purged {
		next.Fate = Purged
	}
	return next
}

// next follows v. The stamp is later than any that v saw, so that time goes forward
// along the edits even where clocks go back.
func (v Version) next(node string, at uint64) Version {
	at = min(at, maxStamp)
	at = max(at, v.At+1, v.Born+1, 1)
	for _, seen := range v.Vector {
		at = max(at, seen+1)
	}
	next := Version{Vector: maps.Clone(v.Vector), Born: v.Born, At: at, Writer: node}
	if next.Vector == nil {
		next.Vector = Vector{}
	}
	next.Vector[node] = at
	next.Vector.trim(node)
	return next
}

// Less reports whether b is the greater edit: of the object made later, else its end,
// else the later one, else that of the node whose name is greater. The checksum is for
// disks that went back in time.
func Less(a, b Version) bool { return compare(a, b) < 0 }

func compare(a, b Version) int {
	return cmp.Or(
		-cmp.Compare(zero(a), zero(b)),
		cmp.Compare(a.Born, b.Born), cmp.Compare(a.Fate, b.Fate), cmp.Compare(a.At, b.At),
		cmp.Compare(a.Writer, b.Writer), cmp.Compare(a.Checksum, b.Checksum),
	)
}

func zero(v Version) int {
	if v.IsZero() {
		return 1
	}
	return 0
}

// Merge is the version of all the edits that a or b saw.
func Merge(a, b Version) Version {
	if Less(a, b) {
		a, b = b, a
	}
	a.Vector = Join(a.Vector, b.Vector)
	a.Vector.trim(a.Writer)
	return a
}

// check refuses what no node says of a version.
func (v Version) check() error {
	switch {
	case v.IsZero():
		return errors.New("a version without an edit")
	case len(v.Vector) > maxWriters:
		return fmt.Errorf("a version of %d writers: at most %d", len(v.Vector), maxWriters)
	case v.Fate < Alive || v.Fate > Purged:
		return fmt.Errorf("fate %d: there is none", int(v.Fate))
	case v.Fate == Alive && len(v.Checksum) != checksumLen || v.Fate != Alive && v.Checksum != "":
		return fmt.Errorf("checksum %.80q of an object that is %s", v.Checksum, v.Fate)
	case len(v.Writer) > maxName || v.Writer == "":
		return fmt.Errorf("writer %.80q is no node", v.Writer)
	case max(v.Born, v.At) > 2*maxStamp-1:
		return errors.New("a stamp beyond all time")
	}
	for node, stamp := range v.Vector {
		if node == "" || len(node) > maxName || stamp > 2*maxStamp-1 {
			return fmt.Errorf("the edit %d of %.80q is none", stamp, node)
		}
	}
	return nil
}

const (
	checksumLen = 64  // sha256, in hexadecimal
	maxName     = 253 // of a host
)
