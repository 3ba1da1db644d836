package replication

import (
	"maps"
	"slices"
)

// Own is what a node knows of a configuration by itself.
type Own struct {
	Node    string
	Version Version  // zero: of nothing here
	Has     bool     // the file of the version is here
	Scope   []string // as the file says
}

// World is what a node decides on.
type World struct {
	Own   Own
	Peers map[string]Told // what the others say of it
	// Silent are the nodes of the cluster that did not say what they have: nothing
	// may be concluded from what they do not say.
	Silent []string
	Nodes  []string // of the cluster
	// Everywhere: it belongs to every node, as the configuration of the cluster does.
	Everywhere bool
}

// Verdict is what a node does about a configuration.
type Verdict int

// The verdicts.
const (
	Keep    Verdict = iota // nothing
	Note                   // take the version, the content is here, or is none
	Fetch                  // get the content of the version from one of From
	Delete                 // the object is gone: so must be what is here
	Leave                  // it is not for this node, and those it is for have it
	Bury                   // removed by hand here, and nobody has it: it is gone
	Forget                 // what is known of it serves nobody
	Missing                // removed by hand here, and who has it did not say so yet
)

// String names the verdict.
func (v Verdict) String() string {
	return [...]string{"keep", "note", "fetch", "delete", "leave", "bury", "forget", "missing"}[v]
}

// Decision is a verdict, and what it is about.
type Decision struct {
	Verdict Verdict
	Version Version  // the one there is afterwards
	Scope   []string // of that one, as it was told
	From    []string // who has the content
	// Lost: what is here was not seen by what replaces it. It goes to the archive.
	Lost bool
	// Follows: the content of the version is older than what was here and is lost. To
	// have it is another edit.
	Follows bool
	// Overruled are the peers whose own version did not see the one that is kept here,
	// and loses.
	Overruled []string
	Wait      []string // the nodes that have not fetched what is to be left
}

// Decide tells what becomes of a configuration.
func Decide(w World) Decision {
	best, from := w.best()
	own := w.Own.Version
	d := Decision{Version: own, Scope: w.Own.Scope, Overruled: w.overruled()}
	switch {
	case best.IsZero():
		return w.alone(d)
	case own.IsZero():
		return w.first(d, best, from)
	case own.Fate == Alive && !w.Own.Has:
		return w.recover(d, best, from)
	}
	order := Compare(own.Vector, best.Vector)
	switch {
	case own.Same(best.Version):
		// The same content, by whatever way: what was seen is put together.
		d.Version = Merge(own, best.Version)
		if compare(d.Version, own) != 0 || Compare(d.Version.Vector, own.Vector) != Equal {
			d.Verdict = Note
			return d
		}
		return w.settled(d)
	case order == Before, Less(own, best.Version):
		d.Lost = order != Before && own.Fate == Alive
		return w.replace(d, best, from)
	default:
		return w.settled(d)
	}
}

// best is the greatest version that the peers tell, with all that those who have it
// saw, and who has its content.
func (w World) best() (best Told, from []string) {
	for _, node := range slices.Sorted(maps.Keys(w.Peers)) {
		t := w.Peers[node]
		if w.Everywhere && t.Fate != Alive {
			continue
		}
		order := compare(t.Version, best.Version)
		if order > 0 || order == 0 && node == t.Writer { // who wrote it knows best what it is for
			t.Vector, best = Join(t.Vector, nil), t
		}
	}
	for _, node := range slices.Sorted(maps.Keys(w.Peers)) {
		t := w.Peers[node]
		if best.IsZero() || !t.Same(best.Version) {
			continue
		}
		from = append(from, node)
		if compare(t.Version, best.Version) == 0 {
			best.Vector = Join(best.Vector, t.Vector)
		}
	}
	return best, from
}

// alone decides when no peer says anything.
func (w World) alone(d Decision) Decision {
	if w.Own.Version.Fate == Alive && !w.Own.Version.IsZero() && !w.Own.Has {
		return w.unheld(d)
	}
	return w.settled(d)
}

// unheld decides on what was removed by hand, and which nobody says to have.
func (w World) unheld(d Decision) Decision {
	if len(w.Silent) > 0 || w.Everywhere {
		d.Verdict, d.Wait = Missing, w.Silent
	} else {
		d.Verdict = Bury
	}
	return d
}

// first decides on what was never here.
func (w World) first(d Decision, best Told, from []string) Decision {
	switch {
	case best.IsGone():
		d.Verdict, d.Version = Note, best.Version
	case w.isFor(best.Scope):
		d.Verdict, d.Version, d.Scope, d.From = Fetch, best.Version, best.Scope, from
	}
	return d
}

// recover decides on what was removed by hand.
func (w World) recover(d Decision, best Told, from []string) Decision {
	own := w.Own.Version
	isNewer := own.Same(best.Version) || !Less(best.Version, own)
	switch {
	case best.IsGone() && isNewer:
		d.Verdict, d.Version = Note, Merge(own, best.Version)
	case best.IsGone():
		return w.unheld(d)
	case !isNewer && len(w.Silent) > 0:
		d.Verdict, d.Wait = Missing, w.Silent
	case !w.isFor(best.Scope):
		d.Verdict = Forget
	default:
		d.Verdict, d.Version, d.Scope, d.From = Fetch, Merge(own, best.Version), best.Scope, from
		if !isNewer {
			d.Version, d.Follows = best.Version, true
		}
	}
	return d
}

// replace decides on what is here when there is a greater version.
func (w World) replace(d Decision, best Told, from []string) Decision {
	d.Version, d.Scope, d.From = Merge(w.Own.Version, best.Version), best.Scope, from
	switch {
	case best.IsGone() && w.Own.Version.IsGone():
		d.Verdict = Note
	case best.IsGone():
		d.Verdict = Delete
	case w.isFor(best.Scope):
		d.Verdict = Fetch
	case w.Own.Version.IsGone():
		d.Verdict = Forget
	default:
		return w.leave(d, best.Version)
	}
	return d
}

// settled decides when what is here stays as far as the peers are concerned.
func (w World) settled(d Decision) Decision {
	own := w.Own.Version
	switch {
	case own.IsZero():
		return d
	case own.IsGone():
		if len(w.Silent) == 0 && w.isGoneEverywhere() {
			d.Verdict = Forget
		}
		return d
	case !w.isFor(w.Own.Scope):
		return w.leave(d, own)
	default:
		return d
	}
}

// leave has a configuration left by a node it is not for, once those it is for have it.
func (w World) leave(d Decision, v Version) Decision {
	for _, node := range d.Scope {
		if t, ok := w.Peers[node]; !ok || Less(t.Version, v) {
			d.Wait = append(d.Wait, node)
		}
	}
	d.Verdict = Keep
	if len(d.Scope) > 0 && len(d.Wait) == 0 {
		d.Verdict = Leave
	}
	return d
}

func (w World) isFor(scope []string) bool { return w.Everywhere || slices.Contains(scope, w.Own.Node) }

func (w World) isGoneEverywhere() bool {
	for _, t := range w.Peers {
		if !t.IsGone() {
			return false
		}
	}
	return true
}

// overruled are the peers that hold what loses to what is here, unseen.
func (w World) overruled() (nodes []string) {
	own := w.Own.Version
	if own.IsZero() || own.Fate == Alive && !w.Own.Has {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(w.Peers)) {
		t := w.Peers[node]
		order := Compare(t.Vector, own.Vector)
		if t.Fate == Alive && !t.Same(own) && order != Before && order != After && Less(t.Version, own) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
