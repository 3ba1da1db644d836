package gauge

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Actual is what a host really uses, or why that is not known.
type Actual struct {
	CPU float64 // in percent
	RAM Share   // in MiB
	Err error
}

// Exporter measures hosts by the node_exporter that runs on them.
type Exporter struct {
	Client   *http.Client
	Interval time.Duration // between the two looks at the processors
	Timeout  time.Duration // of one look
}

// NewExporter makes an exporter of its own connections. Insecure ones are not verified.
func NewExporter(insecure bool, interval, timeout time.Duration) *Exporter {
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout}
	if insecure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the user asked for it
	}
	return &Exporter{Client: &http.Client{Transport: transport}, Interval: interval, Timeout: timeout}
}

// sample is one look at a host.
type sample struct {
	idle, total  float64 // seconds of all processors
	memory, free float64 // bytes
}

// maxMetrics is how much of an answer is read.
const maxMetrics = 8 << 20

// Measure looks twice at a host.
func (e *Exporter) Measure(ctx context.Context, address string) *Actual {
	first, err := e.look(ctx, address)
	if err != nil {
		return &Actual{Err: err}
	}
	timer := time.NewTimer(e.Interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return &Actual{Err: ctx.Err()}
	}
	second, err := e.look(ctx, address)
	if err != nil {
		return &Actual{Err: err}
	}
	return compare(first, second)
}

func compare(first, second sample) *Actual {
	const mebi = 1 << 20
	total := second.total - first.total
	if total <= 0 {
		return &Actual{Err: errors.New("the processors did not advance between two looks: raise --ne-sample-interval")}
	}
	used := 100 * (1 - (second.idle-first.idle)/total)
	return &Actual{
		CPU: min(max(used, 0), 100),
		RAM: Share{Used: (second.memory - second.free) / mebi, Total: second.memory / mebi},
	}
}

func (e *Exporter) look(ctx context.Context, address string) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return s, errors.New("the address is not valid")
	}
	answer, err := e.Client.Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
			err = inner.Err
		}
		return s, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("node_exporter answers %s", answer.Status)
	}
	return readSample(answer.Body)
}

// readSample reads metrics in the text format of Prometheus.
func readSample(r io.Reader) (sample, error) {
	var s sample
	limited := &io.LimitedReader{R: r, N: maxMetrics}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value := metric(lines.Text())
		switch {
		case strings.HasPrefix(name, "node_cpu_seconds_total{"):
			s.total += value
			if strings.Contains(name, `mode="idle"`) {
				s.idle += value
			}
		case name == "node_memory_MemTotal_bytes":
			s.memory = value
		case name == "node_memory_MemAvailable_bytes":
			s.free = value
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return s, err
	case limited.N <= 0:
		return s, fmt.Errorf("the metrics are longer than %d bytes", maxMetrics)
	case s.total == 0 || s.memory == 0:
		return s, errors.New("the metrics of processors and memory are missing: is this node_exporter?")
	}
	return s, nil
}

// metric splits a line into the name with its labels and the value. Labels may
// have blanks; after the value there may be a time.
func metric(line string) (name string, value float64) {
	if !strings.HasPrefix(line, "node_cpu_seconds_total") && !strings.HasPrefix(line, "node_memory_Mem") {
		return "", 0
	}
	end := strings.LastIndexByte(line, '}') + 1
	if end == 0 {
		end = strings.IndexAny(line, " \t")
	}
	if end <= 0 {
		return "", 0
	}
	fields := strings.Fields(line[end:])
	if len(fields) == 0 {
		return "", 0
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return "", 0
	}
	return line[:end], v
}
