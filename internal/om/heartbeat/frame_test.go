package heartbeat_test

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const (
	lifeA = heartbeat.Incarnation("00000000000000000000000000000001")
	lifeB = heartbeat.Incarnation("00000000000000000000000000000002")
	lifeC = heartbeat.Incarnation("00000000000000000000000000000003")
)

func ring(tb testing.TB, cluster string, secrets ...string) *heartbeat.Keyring {
	tb.Helper()
	var all []secret.String
	for _, s := range secrets {
		all = append(all, secret.New(s))
	}
	k, err := heartbeat.NewKeyring(cluster, all...)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func head(k *heartbeat.Keyring, counter uint64) heartbeat.Header {
	return heartbeat.Header{Sender: "n1", Heartbeat: "hb#1", Incarnation: lifeA, Counter: counter, Key: k.Versions()[0]}
}

func seal(tb testing.TB, k *heartbeat.Keyring, h heartbeat.Header, m *heartbeat.Message) []byte {
	tb.Helper()
	p, err := heartbeat.Encode(m)
	if err != nil {
		tb.Fatal(err)
	}
	frame, err := k.Seal(h, p)
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}

func open(k *heartbeat.Keyring, frame []byte) (*heartbeat.Message, error) {
	h, err := heartbeat.Parse(frame)
	if err != nil {
		return nil, err
	}
	return k.Open(h)
}

func reason(err error) heartbeat.Reason {
	if r, ok := errors.AsType[*heartbeat.RefusedError](err); ok {
		return r.Reason
	}
	return heartbeat.Reason(fmt.Sprint(err))
}

func TestAFrameOpensAsWhatWasSealed(t *testing.T) {
	t.Parallel()
	k := ring(t, "c", "secret")
	for _, n := range []int{0, 1, 1000} { // short, and long enough to be compressed
		m := &heartbeat.Message{Node: "n1", Incarnation: lifeA, Compat: 1, To: uint64(n), Head: uint64(n), Marks: []heartbeat.Mark{{Node: "n2", Incarnation: lifeB, Gen: 3}}, Keys: k.Versions()}
		for i := range n {
			m.Entries = append(m.Entries, heartbeat.Entry{Key: fmt.Sprint("k", i), Gen: uint64(i + 1), Value: json.RawMessage(`{"a":1}`)})
		}

		frame := seal(t, k, head(k, 7), m)
		got, err := open(ring(t, "c", "secret"), frame)

		if diff := cmp.Diff(m, got); diff != "" || err != nil {
			t.Fatalf("%v (-sent +got):\n%s", err, diff)
		}
		if bytes.Contains(frame, []byte("k1")) || bytes.Contains(frame, []byte(`"g"`)) {
			t.Error("the payload is in clear")
		}
	}
}

// What a peer must not be believed, and why.
func TestAFrameThatIsNotBelieved(t *testing.T) {
	t.Parallel()
	k := ring(t, "c", "secret")
	ping := &heartbeat.Message{Node: "n1", Incarnation: lifeA}
	good := seal(t, k, head(k, 1), ping)
	change := func(at int, b byte) []byte {
		f := slices.Clone(good)
		f[at] ^= b
		return f
	}
	entry := func(gens ...uint64) []heartbeat.Entry {
		var all []heartbeat.Entry
		for _, g := range gens {
			all = append(all, heartbeat.Entry{Key: "k", Gen: g})
		}
		return all
	}
	saying := func(m heartbeat.Message) []byte { return seal(t, k, head(k, 1), &m) }
	var marks []heartbeat.Mark
	for range 5000 {
		marks = append(marks, heartbeat.Mark{Node: "n"})
	}
	for name, tt := range map[string]struct {
		frame []byte
		want  heartbeat.Reason
	}{
		"nothing":                   {nil, heartbeat.Malformed},
		"something else":            {[]byte(strings.Repeat("GET / HTTP/1.1\r\n", 20)), heartbeat.Malformed},
		"too long":                  {append(slices.Clone(good), make([]byte, heartbeat.MaxFrame)...), heartbeat.Malformed},
		"cut":                       {good[:len(good)-1], heartbeat.Forged},
		"cut in the header":         {good[:40], heartbeat.Malformed},
		"another version":           {change(4, 8), heartbeat.Malformed},
		"unknown flags":             {change(5, 2), heartbeat.Malformed},
		"said to be compressed":     {change(5, 1), heartbeat.Forged},
		"another key":               {change(6, 1), heartbeat.UnknownKey},
		"another cluster":           {change(10, 1), heartbeat.Foreign},
		"another incarnation":       {change(20, 1), heartbeat.Forged},
		"another counter":           {change(41, 1), heartbeat.Forged},
		"a name beyond the frame":   {change(42, 0x80), heartbeat.Malformed},
		"another sender":            {change(43, 1), heartbeat.Forged},
		"another heartbeat":         {change(46, 1), heartbeat.Forged},
		"another payload":           {change(len(good)-20, 1), heartbeat.Forged},
		"another tag":               {change(len(good)-1, 1), heartbeat.Forged},
		"of a foreign cluster":      {seal(t, ring(t, "d", "secret"), head(ring(t, "d", "secret"), 1), ping), heartbeat.Foreign},
		"of another secret":         {seal(t, ring(t, "c", "other"), head(ring(t, "c", "other"), 1), ping), heartbeat.UnknownKey},
		"generations backwards":     {saying(heartbeat.Message{Base: 2, To: 1, Head: 2}), heartbeat.Lie},
		"ahead of itself":           {saying(heartbeat.Message{To: 3, Head: 2}), heartbeat.Lie},
		"entries of the future":     {saying(heartbeat.Message{To: 3, Head: 3, Entries: entry(4)}), heartbeat.Lie},
		"entries of before":         {saying(heartbeat.Message{Base: 2, To: 3, Head: 3, Entries: entry(2)}), heartbeat.Lie},
		"entries in disorder":       {saying(heartbeat.Message{To: 3, Head: 3, Entries: entry(2, 1)}), heartbeat.Lie},
		"two of one generation":     {saying(heartbeat.Message{To: 3, Head: 3, Entries: entry(2, 2)}), heartbeat.Lie},
		"an entry without a key":    {saying(heartbeat.Message{To: 3, Head: 3, Entries: []heartbeat.Entry{{Gen: 1}}}), heartbeat.Lie},
		"a key that does not end":   {saying(heartbeat.Message{To: 3, Head: 3, Entries: []heartbeat.Entry{{Gen: 1, Key: strings.Repeat("k", 2000)}}}), heartbeat.Lie},
		"of thousands of nodes":     {saying(heartbeat.Message{Marks: marks}), heartbeat.Lie},
		"of keys without end":       {saying(heartbeat.Message{Keys: make([]string, 100)}), heartbeat.Lie},
		"a bomb":                    {seal(t, k, head(k, 1), nil), ""},
		"a payload that is no text": {seal(t, k, head(k, 1), nil), ""},
	} {
		switch name {
		case "a bomb":
			tt.frame, tt.want = sealRaw(t, k, bomb(t), true), heartbeat.Malformed
		case "a payload that is no text":
			tt.frame, tt.want = sealRaw(t, k, []byte("{]"), false), heartbeat.Malformed
		}
		m, err := open(k, tt.frame)
		if m != nil || reason(err) != tt.want {
			t.Errorf("%s: %v, %v, want %s", name, m, err, tt.want)
		}
	}
	if _, err := open(k, good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func sealRaw(tb testing.TB, k *heartbeat.Keyring, data []byte, compressed bool) []byte {
	tb.Helper()
	frame, err := k.Seal(head(k, 1), heartbeat.RawPayload(data, compressed))
	if err != nil {
		tb.Fatal(err)
	}
	return frame
}

// bomb is a small text that expands to a gigabyte.
func bomb(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := w.Write(zeros); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestTheNewestKeyThatEveryoneHasIsUsed(t *testing.T) {
	t.Parallel()
	old, fresh := ring(t, "c", "old").Versions()[0], ring(t, "c", "new").Versions()[0]
	k := ring(t, "c", "new", "old")
	for name, tt := range map[string]struct {
		heard [][]string
		want  string
	}{
		"nobody is heard":              {nil, fresh},
		"everyone has it":              {[][]string{{fresh, old}, {fresh}}, fresh},
		"one has the former one only":  {[][]string{{fresh, old}, {old}}, old},
		"one has another one":          {[][]string{{fresh, old}, {"else"}}, fresh},
		"one comes from a future key":  {[][]string{{"newer", fresh, old}}, fresh},
		"one does not say what it has": {[][]string{nil}, fresh},
	} {
		if got := k.Choose(tt.heard); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A change of the secret goes through the nodes one by one, in any order, and at each
// instant every node opens what every other one seals.
func TestNoBeatIsLostWhileTheSecretChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := []string{"n1", "n2", "n3"}
		rings := map[string]*heartbeat.Keyring{}
		knows := map[string]map[string][]string{} // what a node heard of the keys of another
		for _, n := range nodes {
			k, _ := heartbeat.NewKeyring("c", secret.New("old"))
			rings[n] = k
			knows[n] = map[string][]string{}
			for _, o := range nodes {
				knows[n][o] = k.Versions()
			}
		}
		order := rapid.Permutation(nodes).Draw(t, "order")
		for step := 0; len(order) > 0 || step < 20; step++ {
			if len(order) > 0 && rapid.Bool().Draw(t, "changes") {
				rings[order[0]], _ = heartbeat.NewKeyring("c", secret.New("new"), secret.New("old"))
				order = order[1:]
			}
			from, to := rapid.SampledFrom(nodes).Draw(t, "from"), rapid.SampledFrom(nodes).Draw(t, "to")
			if from == to {
				continue
			}
			var heard [][]string
			for _, o := range nodes {
				if o != from {
					heard = append(heard, knows[from][o])
				}
			}
			k := rings[from]
			p, _ := heartbeat.Encode(&heartbeat.Message{Keys: k.Versions()})
			frame, err := k.Seal(heartbeat.Header{Sender: from, Incarnation: lifeA, Counter: uint64(step + 1), Key: k.Choose(heard)}, p)
			if err != nil {
				t.Fatal(err)
			}
			m, err := open(rings[to], frame)
			if err != nil {
				t.Fatalf("%s does not open what %s sealed: %v", to, from, err)
			}
			knows[to][from] = m.Keys
		}
	})
}

func FuzzParse(f *testing.F) {
	k := ring(f, "c", "secret")
	f.Add(seal(f, k, head(k, 1), &heartbeat.Message{}))
	f.Add([]byte("HFHB"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, err := heartbeat.Parse(frame)
		if err != nil {
			if reason(err) != heartbeat.Malformed {
				t.Fatal(err)
			}
			return
		}
		if len(h.Sender) > 255 || len(h.Heartbeat) > 255 || len(h.Incarnation) != 32 {
			t.Fatalf("%+v", h)
		}
		if _, err := k.Open(h); err != nil && reason(err) == heartbeat.Reason(err.Error()) {
			t.Fatalf("not a refusal: %v", err)
		}
	})
}

// Payloads come of who has the secret, and are not believed for that.
func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"base":1,"to":2,"head":3,"entries":[{"k":"a","g":2,"v":{}}],"marks":[{"n":"n2","i":"x","g":1,"c":"c","a":"a"}]}`), false)
	f.Add([]byte{}, true)
	k := ring(f, "c", "secret")
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		frame, err := k.Seal(head(k, 1), heartbeat.RawPayload(data, compressed))
		if err != nil {
			return // too long
		}
		m, err := open(k, frame)
		if err != nil {
			return
		}
		h, _ := heartbeat.Parse(frame)
		x := heartbeat.NewExchange("n2", lifeB, func() string { return "c" })
		x.SetPeers([]string{"n1", "n2"})
		v, err := x.Take(h, m, 10)
		if err == nil && v.Beat {
			t.Fatal("a stranger is believed")
		}
		x.Marks(func(string) bool { return true })
		if _, err := heartbeat.Encode(m); err != nil {
			t.Fatal(err)
		}
	})
}
