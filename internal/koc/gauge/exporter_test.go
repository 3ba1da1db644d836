package gauge_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/gauge"
)

// answers is a node_exporter: one answer after the other.
type answers []string

// RoundTrip implements [http.RoundTripper].
func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.String() != "http://cmp1:9100/metrics" {
		return nil, errors.New(r.URL.String())
	}
	text := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	status := http.StatusOK
	switch text {
	case "refused":
		return nil, errors.New("connection refused")
	case "silence":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "away":
		status = http.StatusNotFound
	}
	return &http.Response{Status: http.StatusText(status), StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func measure(t *testing.T, texts ...string) *gauge.Actual {
	t.Helper()
	var got *gauge.Actual
	synctest.Test(t, func(t *testing.T) {
		a := answers(texts)
		e := gauge.NewExporter(true, time.Second, 5*time.Second)
		e.Client = &http.Client{Transport: &a}
		began := time.Now()
		got = e.Measure(t.Context(), "http://cmp1:9100/metrics")
		if got.Err == nil && time.Since(began) != time.Second {
			t.Errorf("took %s", time.Since(began))
		}
	})
	return got
}

const (
	early = `# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
node_cpu_seconds_total{cpu="0",mode="idle"} 100
node_cpu_seconds_total{cpu="0",mode="user"} 50
node_cpu_seconds_total{cpu="1",mode="idle"} 1e2
node_memory_MemTotal_bytes 4.294967296e+09
node_memory_MemAvailable_bytes 1.073741824e+09
node_memory_MemFree_bytes 7
`
	later = `node_cpu_seconds_total{cpu="0",mode="idle"} 100.5 1700000000000
node_cpu_seconds_total{cpu="0",mode="user"} 50.5
node_cpu_seconds_total{cpu="1",mode="idle"} 101
node_memory_MemTotal_bytes 4.294967296e+09
node_memory_MemAvailable_bytes 2.147483648e+09
`
)

func TestAHostIsMeasured(t *testing.T) {
	t.Parallel()
	got := measure(t, early, later)
	if got.Err != nil || got.CPU < 24.9 || got.CPU > 25.1 || got.RAM.Used != 2048 || got.RAM.Total != 4096 {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		texts []string
		want  string
	}{
		{[]string{"refused"}, "connection refused"},
		{[]string{"silence"}, "deadline exceeded"},
		{[]string{"away"}, "node_exporter answers Not Found"},
		{[]string{"# a page\n"}, "is this node_exporter?"},
		{[]string{early, early}, "did not advance"},
		{[]string{early, "refused"}, "connection refused"},
		{[]string{early + strings.Repeat("#"+strings.Repeat(" ", 999)+"\n", 9000)}, "longer than"},
	} {
		got := measure(t, c.texts...)
		if got.Err == nil || !strings.Contains(got.Err.Error(), c.want) {
			t.Errorf("error %v, want %q", got.Err, c.want)
		} else if strings.Contains(got.Err.Error(), "cmp1") {
			t.Errorf("the address is in %q", got.Err)
		}
	}
}

func TestAMeasurementIsInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		a := answers{early}
		e := gauge.NewExporter(false, time.Second, 5*time.Second)
		e.Client = &http.Client{Transport: &a}
		if got := e.Measure(ctx, "http://cmp1:9100/metrics"); !errors.Is(got.Err, context.Canceled) {
			t.Errorf("%v", got.Err)
		}
	})
}
