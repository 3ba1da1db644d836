package heartbeat

import (
	"maps"
	"slices"
)

// Exchange decides, for one node, whom to believe, what to take of what they say and
// what to tell them. It moves nothing and knows no time.
//
// A node is believed from when it answers the challenge it was given, and from then
// on for messages whose counter rises, per heartbeat. Its next life, after a restart
// of its daemon, is another incarnation: it gets a challenge of its own, and takes
// the place of the former one by answering. So what was recorded of a node, in this
// life of it or in another, is never believed again, whoever restarted since.
//
// It is not safe for concurrent use.
type Exchange struct {
	self        string
	incarnation Incarnation
	random      func() string // challenges

	peers map[string]*peer
}

type peer struct {
	incarnation Incarnation // believed; empty: none yet
	counters    map[string]uint64
	part        Part

	candidates []candidate            // lives that were not believed yet, the newest last
	answers    map[Incarnation]string // challenges to send back, by the life that gave them
	asked      []Incarnation          // of answers, the newest last

	head    uint64 // its own generation, as it said last
	marks   []Mark // what it said last of the others
	beat    uint64 // the newest that was received
	acked   uint64 // how far it knows our part
	sure    uint64 // the same, by a message that was taken to its end
	keys    []string
	heardUs bool // it said once that it hears this node
}

type candidate struct {
	incarnation Incarnation
	challenge   string
	beat        uint64 // the newest that was received
}

// maxCandidates bounds the lives of a peer that wait to be believed.
const maxCandidates = 4

// NewExchange returns the exchange of a node in one life of its daemon. Random
// returns a text that nobody can guess, another one each time.
func NewExchange(self string, i Incarnation, random func() string) *Exchange {
	return &Exchange{self: self, incarnation: i, random: random, peers: map[string]*peer{}}
}

// SetPeers says who the other nodes are, and returns those that no longer are.
func (x *Exchange) SetPeers(nodes []string) (gone []string) {
	for _, node := range nodes {
		if x.peers[node] == nil && node != x.self {
			x.peers[node] = &peer{counters: map[string]uint64{}, answers: map[Incarnation]string{}}
		}
	}
	for node := range x.peers {
		if !slices.Contains(nodes, node) {
			gone = append(gone, node)
			delete(x.peers, node)
		}
	}
	slices.Sort(gone)
	return gone
}

// Check tells of a frame, before it is opened, whether it is worth it: false is one
// that was taken before. A sender that is no node of the cluster is a [RefusedError].
func (x *Exchange) Check(h Header) (fresh bool, err error) {
	p := x.peers[h.Sender]
	if p == nil {
		if h.Sender == x.self {
			return false, nil // our own, heard on a shared medium
		}
		return false, refusal(UnknownSender, h.Sender, "no node of the cluster has that name")
	}
	return h.Incarnation != p.incarnation || h.Counter > p.counters[h.Heartbeat], nil
}

// Verdict is what comes of a message.
type Verdict struct {
	Beat    bool    // the node is alive
	Adopted bool    // it began another life, or is heard for the first time
	News    []Entry // of its part
	Reset   bool    // what it told before does not count: it tells all of it again
	Missed  bool    // it builds on what is not known here: it must begin again
	Leaving bool    // it ends on purpose
	Echo    uint64  // the newest beat of this node that it received; 0: none
	Deaf    bool    // it heard this node once, and says that it does not any more

	Reply bool // it waits for an answer, or for more
	Ack   bool // it can forget what it told once it knows that it is known
}

// Take judges a message that came in the frame of h; head is the generation of our
// own part.
func (x *Exchange) Take(h Header, m *Message, head uint64) (v Verdict, err error) {
	fresh, err := x.Check(h)
	if err != nil || !fresh {
		return Verdict{}, err
	}
	p := x.peers[h.Sender]
	mark, told := x.markOf(m)
	if told && mark.Gen > head {
		return Verdict{}, refusal(Lie, h.Sender, "it knows this node up to generation %d, which is at %d", mark.Gen, head)
	}
	if told && mark.Challenge != "" {
		v.Reply = p.challenged(m.Incarnation, mark.Challenge)
	} else if told {
		p.forgetAnswer(m.Incarnation) // it believes this node
	}
	if m.Incarnation != p.incarnation {
		if !told || !p.answered(m.Incarnation, mark.Answer) {
			if p.challenge(m.Incarnation, m.Beat, x.random) {
				v.Reply = true
			}
			return v, nil
		}
		v.Adopted, v.Reply = true, true
		v.Reset = p.incarnation != ""
		p.adopt(m.Incarnation)
	}
	p.counters[h.Heartbeat] = h.Counter
	v.Beat, v.Leaving = true, m.Leaving
	p.beat = max(p.beat, m.Beat)
	p.head, p.marks = m.Head, m.Marks
	if told {
		v.Echo = mark.Beat
	}
	p.keys = m.Keys
	p.heardUs = p.heardUs || told && mark.Hears
	v.Deaf = p.heardUs && !(told && mark.Hears)
	p.forgetCandidates(m.Incarnation)
	was := p.acked
	p.acked = 0
	if told {
		p.acked = mark.Gen
	}
	before := p.part.Gen
	news, known := p.part.Take(m)
	v.News, v.Missed, v.Ack = news, !known, p.part.Gen > before
	p.sure = min(p.sure, p.acked)
	if known && p.part.Gen >= m.Head {
		p.sure = p.acked
	}
	v.Reply = v.Reply || p.acked != was && p.acked < head || v.Missed || v.Ack && m.To < m.Head
	return v, nil
}

// markOf returns what a message says of this node in this life.
func (x *Exchange) markOf(m *Message) (Mark, bool) {
	for _, mark := range m.Marks {
		if mark.Node == x.self && mark.Incarnation == x.incarnation {
			return mark, true
		}
	}
	return Mark{}, false
}

// challenged keeps a challenge to be sent back; it reports whether it is another one.
func (p *peer) challenged(by Incarnation, challenge string) bool {
	if len(challenge) > maxName || p.answers[by] == challenge {
		return false
	}
	if _, known := p.answers[by]; !known {
		p.asked = append(p.asked, by)
	}
	p.answers[by] = challenge
	for len(p.asked) > maxCandidates {
		delete(p.answers, p.asked[0])
		p.asked = p.asked[1:]
	}
	return true
}

func (p *peer) forgetAnswer(by Incarnation) {
	if _, known := p.answers[by]; known {
		delete(p.answers, by)
		p.asked = slices.DeleteFunc(p.asked, func(i Incarnation) bool { return i == by })
	}
}

func (p *peer) answered(by Incarnation, answer string) bool {
	return answer != "" && slices.ContainsFunc(p.candidates, func(c candidate) bool { return c.incarnation == by && c.challenge == answer })
}

// challenge gives a life that is not known a challenge; it reports whether it is new.
func (p *peer) challenge(who Incarnation, beat uint64, random func() string) bool {
	for i := range p.candidates {
		if c := &p.candidates[i]; c.incarnation == who {
			c.beat = max(c.beat, beat)
			return false
		}
	}
	p.candidates = append(p.candidates, candidate{who, random(), beat})
	if len(p.candidates) > maxCandidates {
		p.candidates = p.candidates[1:]
	}
	return true
}

func (p *peer) forgetCandidates(believed Incarnation) {
	p.candidates = slices.DeleteFunc(p.candidates, func(c candidate) bool { return c.incarnation == believed })
}

func (p *peer) adopt(i Incarnation) {
	p.incarnation, p.acked, p.sure, p.beat, p.heardUs, p.head, p.marks = i, 0, 0, 0, false, 0, nil
	clear(p.counters)
	p.part.Begin(i)
}

// Lost is for a node that is not heard any more: it returns the keys of what it
// told, which do not hold any longer. When it is heard again it tells all of it.
func (x *Exchange) Lost(node string) []string {
	p := x.peers[node]
	if p == nil {
		return nil
	}
	return p.part.Forget()
}

// Marks are what to tell of what is known of the nodes, and which are heard.
func (x *Exchange) Marks(heard func(node string) bool) []Mark {
	var marks []Mark
	for _, node := range slices.Sorted(maps.Keys(x.peers)) {
		p := x.peers[node]
		if p.incarnation != "" {
			marks = append(marks, Mark{Node: node, Incarnation: p.incarnation, Gen: p.part.Gen, Hears: heard(node), Beat: p.beat, Answer: p.answers[p.incarnation]})
		}
		for _, c := range p.candidates {
			marks = append(marks, Mark{Node: node, Incarnation: c.incarnation, Challenge: c.challenge, Beat: c.beat, Answer: p.answers[c.incarnation]})
		}
	}
	return marks
}

// Base is where to begin telling, for every one of the nodes that are heard: the
// least that one of them knows. It is false when none is.
func (x *Exchange) Base(heard func(node string) bool) (base uint64, ok bool) {
	for node, p := range x.peers {
		if p.incarnation == "" || !heard(node) {
			continue
		}
		if !ok || p.acked < base {
			base = p.acked
		}
		ok = true
	}
	return base, ok
}

// Acked is what every node that was ever believed knows of our part. A node that
// was never believed knows nothing of it, and begins at the beginning.
func (x *Exchange) Acked() uint64 {
	acked, _ := x.Base(func(string) bool { return true })
	return acked
}

// Keys are the versions of the keys that each of the nodes which are heard can open.
func (x *Exchange) Keys(heard func(node string) bool) [][]string {
	var all [][]string
	for _, node := range slices.Sorted(maps.Keys(x.peers)) {
		if p := x.peers[node]; p.incarnation != "" && heard(node) {
			all = append(all, p.keys)
		}
	}
	return all
}

// Synced tells whether all of the part of a node was told once since it is heard.
func (x *Exchange) Synced(node string) bool {
	p := x.peers[node]
	return p != nil && p.part.Synced()
}

// Gens are the generations up to which the nodes that are known know the others, by
// node, then by the node that is known. Head is that of this one.
func (x *Exchange) Gens(head uint64) map[string]map[string]uint64 {
	own := map[string]uint64{x.self: head}
	all := map[string]map[string]uint64{x.self: own}
	for node, p := range x.peers {
		own[node] = p.part.Gen
		theirs := map[string]uint64{}
		if p.incarnation != "" {
			theirs[node] = p.head
		}
		for _, mark := range p.marks {
			if mark.Challenge == "" {
				theirs[mark.Node] = mark.Gen
			}
		}
		all[node] = theirs
	}
	return all
}

// AckedBy is how far a node knows the part of this one, when everything is known here
// that it had to say of itself then.
func (x *Exchange) AckedBy(node string) uint64 {
	if p := x.peers[node]; p != nil {
		return p.sure
	}
	return 0
}

// Know tells whether every node has been told of a key and can open it, and which one
// is first not to.
func (x *Exchange) Know(key string, heard func(node string) bool) (all bool, missing string) {
	for _, node := range slices.Sorted(maps.Keys(x.peers)) {
		if !heard(node) || !slices.Contains(x.peers[node].keys, key) {
			return false, node
		}
	}
	return true, ""
}
