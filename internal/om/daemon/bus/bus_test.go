package bus_test

import (
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func created(i int) event.ObjectCreated {
	return event.ObjectCreated{Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "s" + strconv.Itoa(i)}, Node: "n1"}
}

func TestEventsArriveInOrderAndNumbered(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	s := b.Subscribe("reader", nil)

	for i := range 100 {
		b.Publish(created(i))
	}
	s.Close()

	var seq uint64
	for e := range s.C() {
		if e.Seq <= seq {
			t.Fatalf("event %d came after event %d", e.Seq, seq)
		}
		seq = e.Seq
	}
	if seq != 100 {
		t.Errorf("read up to event %d, want 100", seq)
	}
}

func TestAMatchChoosesEvents(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	f, err := event.ParseFilter("ObjectDeleted,path=a")
	if err != nil {
		t.Fatal(err)
	}
	s := b.Subscribe("reader", f.Match)

	b.Publish(event.ObjectDeleted{Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "b"}})
	b.Publish(event.ObjectDeleted{Path: object.Path{Namespace: "root", Kind: object.KindSvc, Name: "a"}})
	s.Close()

	var got []string
	for e := range s.C() {
		got = append(got, e.Labels["path"])
	}
	if !slices.Equal(got, []string{"a"}) {
		t.Errorf("matched %q", got)
	}
}

func TestAStuckReaderCostsNobodyElse(t *testing.T) {
	t.Parallel()
	const events = 100_000
	b := bus.New("n1")
	stuck := b.Subscribe("stuck", nil)
	good := b.Subscribe("good", nil)
	seen := 0
	before := heap()

	var wg sync.WaitGroup
	wg.Go(func() {
		for range good.C() {
			seen++
		}
	})
	for i := range events {
		b.Publish(created(i))
		for len(good.C()) > 100 {
			runtime.Gosched()
		}
	}
	good.Close()
	wg.Wait()

	if seen != events || good.Lost() != 0 {
		t.Errorf("the good reader saw %d events of %d and lost %d", seen, events, good.Lost())
	}
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	n := len(stuck.C())
	var last *event.Envelope
	for range n {
		last = <-stuck.C()
	}
	if _, ok := last.Event.(event.Gap); !ok || stuck.Lost() != uint64(events-(n-1)) {
		t.Errorf("the stuck reader ends with %v having lost %d of %d with %d queued", last.Kind, stuck.Lost(), events, n)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestNothingIsQueuedBehindAGapUntilItIsRead(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	s := b.Subscribe("slow", nil)
	for i := 0; s.Lost() == 0; i++ {
		b.Publish(created(i))
	}

	for len(s.C()) > 1 { // all but the gap
		<-s.C()
		b.Publish(created(0)) // lost: the reader has not seen the gap yet
	}
	gap := <-s.C()
	b.Publish(created(42))
	next := <-s.C()

	if _, ok := gap.Event.(event.Gap); !ok {
		t.Errorf("the last thing queued is a %s, not a gap", gap.Kind)
	}
	if next.Labels["path"] != "s42" {
		t.Errorf("after the gap comes %s %s", next.Kind, next.Labels["path"])
	}
}

func TestLatestKeepsTheNewestOfEachKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus.New("n1")
		l := b.Latest("monitor", func(e *event.Envelope) (string, bool) { p, ok := e.Labels["path"]; return p, ok })
		for i := range 10_000 {
			b.Publish(created(i % 3))
		}
		b.Publish(event.NodeFrozenFileRemoved{}) // no key

		<-l.C()
		got := l.Take()

		if len(got) != 3 || got[0].Seq != 9998 || got[2].Seq != 10_000 {
			t.Errorf("took %d events", len(got))
		}
		select {
		case <-l.C():
			t.Error("signalled with nothing to take")
		default:
		}
		l.Close()
		if len(b.Readers()) != 0 {
			t.Errorf("still reading: %q", b.Readers())
		}
	})
}

func TestAnEventIsEncodedOnceForAllReaders(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	one, two := b.Subscribe("one", nil), b.Subscribe("two", nil)

	b.Publish(created(1))
	first, second := (<-one.C()).Data(), (<-two.C()).Data()

	if &first[0] != &second[0] {
		t.Error("each reader has an encoding of its own")
	}
	if want := `{"labels":{"namespace":"root","node":"n1","path":"s1"},"path":"s1","node":"n1"}`; string(first) != want {
		t.Errorf("encoded\n%s\nwant\n%s", first, want)
	}
}

func TestClosingTwiceIsFine(t *testing.T) {
	t.Parallel()
	b := bus.New("n1")
	s := b.Subscribe("reader", nil)
	s.Close()
	s.Close()
	b.Publish(created(1))
}
