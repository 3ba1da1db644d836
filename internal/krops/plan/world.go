package plan

import (
	"maps"
	"slices"
	"strings"
)

// Fact names something that is there, is gone, or is not known. Its first part
// says where: host, source (the kind cluster), target (the management cluster),
// controller (where a teardown finds the controllers), cluster, aws, or run for
// what holds for one run only.
type Fact string

// Host is where the controllers run that a teardown talks to.
type Host int

// The hosts of controllers.
const (
	HostUnknown     Host = iota // nobody looked
	HostKind                    // the kind cluster
	HostSelfManaged             // the management cluster itself
	HostUnreachable             // neither answers
	HostRemoved                 // a step of this run removed it
)

// String names the host.
func (h Host) String() string {
	switch h {
	case HostUnknown:
		return "unknown"
	case HostKind:
		return "kind"
	case HostSelfManaged:
		return "self-managed"
	case HostUnreachable:
		return "unreachable"
	case HostRemoved:
		return "removed"
	}
	return "?"
}

// World is what was observed. The zero World is one nobody looked at. Worlds are
// values: With returns another one.
type World struct {
	Host      Host
	Clusters  Listing // namespace/name of every Cluster on the host
	Providers Listing // kind/namespace/name of every provider on the host

	facts map[Fact]Presence
	// made lists the clusters that steps of a plan make: what is not known of
	// them is not there yet.
	made map[string]bool
	// waived lists the steps that failed in this run and may.
	waived map[string]string
}

// Facts whose answer is in a listing.
const (
	clusterFact  = "cluster/"           // with namespace/name
	allClusters  = Fact("clusters/all") // any Cluster
	workloads    = "clusters/but/"      // any Cluster but namespace/name
	allProviders = Fact("providers/all")
	listed       = Fact("clusters/listed")
	hostFound    = Fact("controller/host")
)

// String names the fact in a message.
func (f Fact) String() string {
	switch f { //nolint:exhaustive // the others name themselves
	case allClusters:
		return "every Cluster"
	case listed:
		return "the list of Clusters"
	case allProviders:
		return "every provider"
	case hostFound:
		return "the controller host"
	}
	if but, ok := strings.CutPrefix(string(f), workloads); ok {
		return "every Cluster but " + but
	}
	if one, ok := strings.CutPrefix(string(f), clusterFact); ok {
		return "Cluster " + one
	}
	where, what, ok := strings.Cut(string(f), "/")
	if !ok {
		return string(f)
	}
	what = strings.ReplaceAll(what, "-", " ")
	switch where {
	case "host":
		return what + " of this host"
	case "source":
		return what + " of the kind cluster"
	case "target":
		return what + " of the management cluster"
	case "controller":
		return what + " of the controller host"
	case "aws":
		return what + " in AWS"
	case "run":
		return what
	}
	return string(f)
}

// Of returns what is known of a fact.
func (w World) Of(f Fact) Presence {
	switch f { //nolint:exhaustive // the others are kept by name
	case hostFound:
		if w.Host == HostUnknown {
			return w.facts[f] // nobody looked, or looked in vain
		}
		return Present()
	case listed:
		return w.Clusters.Known()
	case allProviders:
		return w.Providers.Any(func(string) bool { return true })
	default:
		if keep := clusters(f); keep != nil {
			return w.Clusters.Any(keep)
		}
		return w.named(f)
	}
}

func (w World) named(f Fact) Presence {
	p := w.facts[f]
	where, _, _ := strings.Cut(string(f), "/")
	on, ok := homes[where]
	if !ok || p.state != unasked {
		return p
	}
	if w.made[where] {
		return Absent("the cluster is new")
	}
	if w.facts[on].Gone() {
		return Absent(string(on) + " does not exist")
	}
	return p
}

// homes are the facts without which nothing is on a cluster.
var homes = map[string]Fact{"source": kindCluster, "target": mgmtKubeconfig}

// clusters returns which names of the listing a fact is about, nil for none.
func clusters(f Fact) func(string) bool {
	if f == allClusters {
		return func(string) bool { return true }
	}
	if but, ok := strings.CutPrefix(string(f), workloads); ok {
		return func(name string) bool { return name != but }
	}
	if one, ok := strings.CutPrefix(string(f), clusterFact); ok {
		return func(name string) bool { return name == one }
	}
	return nil
}

// unasked returns those of the facts that nobody asked about, but first those
// without which the question makes no sense. What holds for one run is not asked.
func (w World) unasked(facts ...Fact) []Fact {
	var list []Fact
	for _, f := range facts {
		where, _, _ := strings.Cut(string(f), "/")
		if w.Of(f).state != unasked || where == "run" {
			continue
		}
		if on, ok := homes[where]; ok && w.Of(on).state == unasked {
			f = on
		}
		onHost := where == "controller" || where == "cluster" || where == "clusters" || where == "providers" || where == "deleting"
		if onHost && w.Of(hostFound).state == unasked {
			f = hostFound
		}
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// Askable tells whether a question makes sense: not about a cluster that is
// confirmed to be absent.
func (w World) Askable(f Fact) bool {
	where, _, _ := strings.Cut(string(f), "/")
	on, ok := homes[where]
	return !ok || !w.facts[on].Gone()
}

// own returns a copy that can be changed in place.
func (w World) own() World {
	w.facts, w.made = maps.Clone(w.facts), maps.Clone(w.made)
	if w.facts == nil {
		w.facts = map[Fact]Presence{}
	}
	if w.made == nil {
		w.made = map[string]bool{}
	}
	return w
}

// remains says that a fact still holds, with the names it is about.
func (w World) remains(f Fact) string {
	names, known := w.Clusters.Names()
	keep := clusters(f)
	if !known || keep == nil {
		return f.String() + " is still there"
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !keep(name) })
	if len(names) == 1 {
		return "Cluster " + names[0] + " is still there"
	}
	return "Clusters " + strings.Join(names, ", ") + " are still there"
}

// With returns the world in which a fact is known. What is known of a cluster ends
// when the cluster itself comes or goes.
func (w World) With(f Fact, p Presence) World {
	before := w.facts[f].state
	w = w.own()
	w.facts[f] = p
	if before == p.state || before == unasked {
		return w
	}
	for where, on := range homes {
		if f == on {
			w.forget(where)
		}
	}
	if f == exported && p.There() {
		// The file names another cluster than it did.
		w.forget("target")
	}
	if p.Gone() && (f == kindCluster && w.Host == HostKind || f == containers && w.Host == HostSelfManaged) {
		w.Host, w.Clusters, w.Providers = HostRemoved, Listing{}, Listing{}
		w.forget("controller")
		w.forget("deleting")
	}
	return w
}

// forget drops what is known of a place.
func (w *World) forget(where string) {
	maps.DeleteFunc(w.facts, func(f Fact, _ Presence) bool { return strings.HasPrefix(string(f), where+"/") })
	delete(w.made, where)
}

// Waive returns the world in which a step that failed is not tried again.
func (w World) Waive(id, why string) World {
	w.waived = maps.Clone(w.waived)
	if w.waived == nil {
		w.waived = map[string]string{}
	}
	w.waived[id] = why
	return w
}

// acted holds in a run that has done something.
const acted = Fact("run/acted")

// After returns the world a step leads to.
func (w World) After(s Step) World {
	w = w.own()
	w.apply(s)
	return w
}

// apply is After in place.
func (w *World) apply(s Step) {
	w.facts[acted] = Present()
	for _, f := range s.Gives {
		if f == hostFound || f == listed {
			continue
		}
		for where, on := range homes {
			if f == on && w.Of(on).Gone() {
				w.made[where] = true
			}
		}
		if f == exported {
			w.forget("target")
			w.made["target"] = true
		}
		w.facts[f] = Present()
	}
	for _, f := range s.Takes {
		w.take(f)
	}
}

func (w *World) take(f Fact) {
	const done = "a step removed it"
	switch keep := clusters(f); {
	case keep != nil:
		w.Clusters = w.Clusters.without(keep)
	case f == allProviders:
		w.Providers = w.Providers.without(func(string) bool { return true })
	case f == hostFound:
		w.Host = HostRemoved
	default:
		w.facts[f] = Absent(done)
	}
	if f == kindCluster {
		// What was on the cluster went with it.
		for on := range w.facts {
			if strings.HasPrefix(string(on), "source/") {
				w.facts[on] = Absent("the kind cluster is gone")
			}
		}
		delete(w.made, "source")
		if w.Host == HostKind {
			w.Host = HostRemoved
		}
	}
	if f == containers && w.Host == HostSelfManaged {
		w.Host = HostRemoved
	}
}

// Facts are those the world knows by name, sorted.
func (w World) Facts() []Fact { return slices.Sorted(maps.Keys(w.facts)) }

// Forget returns the world as the next run finds it: what held for one run is
// not known any more.
func (w World) Forget() World {
	if w.Host == HostRemoved {
		w.Host = HostUnreachable
	}
	facts := maps.Clone(w.facts)
	maps.DeleteFunc(facts, func(f Fact, _ Presence) bool { return strings.HasPrefix(string(f), "run/") })
	w.facts, w.waived = facts, nil
	return w
}
