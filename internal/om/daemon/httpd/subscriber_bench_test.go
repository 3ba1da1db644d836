package httpd_test

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/event"
)

// BenchmarkSubscribers has 100 readers of events, one of them stuck, and measures how
// long it takes until an event has reached all others, and what the daemon holds for
// the one that takes nothing.
func BenchmarkSubscribers(b *testing.B) {
	const readers = 100
	f := newFixture(b)
	arrived := make(chan struct{}, readers)
	for i := range readers {
		conn, err := socket.Dial(b.Context(), f.socket)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET /api/node/name/localhost/daemon/event HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		if i == 0 {
			continue // the stuck one
		}
		go func() {
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "event: ") {
					arrived <- struct{}{}
				}
			}
		}()
	}
	for len(f.bus.Readers()) < readers {
		runtime.Gosched()
	}
	reason := strings.Repeat("x", 4096)
	publish := func(i int) time.Duration {
		began := time.Now()
		f.bus.Publish(event.ObjectOrchestrationRefused{Path: svc(fmt.Sprintf("svc%d", i)), Node: node1, Reason: reason})
		for range readers - 1 {
			<-arrived
		}
		return time.Since(began)
	}
	for i := range 1000 { // until the stuck one is full
		publish(i)
	}
	before := held()

	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		took = append(took, publish(i))
	}

	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(held()-before)/1024, "grown-KiB")
}

func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
