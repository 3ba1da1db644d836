package httpd

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// bounds are those of the buckets of the durations of requests, in seconds.
var bounds = [...]float64{.001, .005, .025, .1, .5, 2.5}

// measures counts the requests of each operation. Its keys are fixed once the
// routes are.
type measures map[string]*measure

// measure counts the requests of one operation.
type measure struct {
	classes [6]atomic.Uint64 // by the hundreds of the status
	buckets [len(bounds) + 1]atomic.Uint64
	nanos   atomic.Int64
}

// count is the middleware that counts the requests of each operation. How long an
// answer takes is of interest when it is not the reader who decides.
func (s *Server) count(c huma.Context, next func(huma.Context)) {
	d, _ := c.Operation().Metadata[descriptionKey].(api.Description)
	began := time.Now()
	next(c)
	m := s.measures[d.ID]
	if m == nil {
		return
	}
	m.classes[min(max(c.Status()/100, 0), 5)].Add(1)
	if d.Out == reflect.TypeFor[api.EventStream]() || c.Query("wait") != "" {
		return
	}
	took := time.Since(began)
	m.nanos.Add(int64(took))
	m.buckets[bucket(took)].Add(1)
}

// bucket is the index of the first bound that is not below a duration.
func bucket(took time.Duration) int {
	for i, bound := range bounds {
		if took.Seconds() <= bound {
			return i
		}
	}
	return len(bounds)
}

// exposition writes measures in the text format of Prometheus.
type exposition struct{ text []byte }

// family begins the measures of one name.
func (e *exposition) family(name, kind, help string) {
	e.text = fmt.Appendf(e.text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// value writes one measure; labels are names and values in turn.
func (e *exposition) value(name string, v float64, labels ...string) {
	e.text = append(e.text, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		separator := "{"
		if i > 0 {
			separator = ","
		}
		e.text = append(e.text, separator+labels[i]+`="`+escapeLabel(labels[i+1])+`"`...)
	}
	if len(labels) > 0 {
		e.text = append(e.text, '}')
	}
	e.text = append(e.text, ' ')
	e.text = append(strconv.AppendFloat(e.text, v, 'g', -1, 64), '\n')
}

// one writes a family of one measure.
func (e *exposition) one(name, kind, help string, v float64, labels ...string) {
	e.family(name, kind, help)
	e.value(name, v, labels...)
}

func escapeLabel(v string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(v)
}

func (s *Server) getNodeMetrics(ctx context.Context, _ *api.NodeName) (api.Metrics, error) {
	v := s.o.State.View()
	e := &exposition{}
	s.exposeDaemon(e, v)
	if n := v.Nodes[s.o.Node]; n != nil {
		exposeNode(e, n)
	}
	s.exposeInstances(ctx, e, v)
	s.exposeRequests(e)
	return api.Metrics{RawBody: e.text}, nil
}

func (s *Server) exposeDaemon(e *exposition, v *cluster.View) {
	version := ""
	if n := v.Nodes[s.o.Node]; n != nil {
		version = n.Status.Agent
	}
	e.one("om_agent_info", "gauge", "The agent, by its labels.", 1, "node", s.o.Node, "version", version, "cluster", v.Config.Name)
	e.one("om_daemon_start_time_seconds", "gauge", "When the daemon started, since the epoch.", float64(s.o.Started.UnixMilli())/1000)
	e.one("om_daemon_goroutines", "gauge", "Goroutines of the daemon.", float64(runtime.NumGoroutine()))
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	e.family("om_daemon_memory_bytes", "gauge", "Memory of the daemon.")
	for i, of := range []string{"objects", "total"} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			e.value("om_daemon_memory_bytes", float64(samples[i].Value.Uint64()), "of", of)
		}
	}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		e.one("om_daemon_cpu_seconds_total", "counter", "Processor time of the daemon.", seconds(usage.Utime)+seconds(usage.Stime))
	}
	states := map[string]int{}
	for _, r := range s.o.Executor.Records(nil) {
		states[string(r.State)]++
	}
	e.family("om_execs", "gauge", "Commands the daemon runs, or remembers to have run.")
	for _, state := range slices.Sorted(maps.Keys(states)) {
		e.value("om_execs", float64(states[state]), "state", state)
	}
}

func seconds(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }

func exposeNode(e *exposition, n *cluster.Node) {
	frozen := 0.0
	if !n.Status.FrozenAt.IsZero() {
		frozen = 1
	}
	e.one("om_node_frozen", "gauge", "1 when the node is frozen.", frozen)
	e.one("om_node_load_15m", "gauge", "Load average of the node over 15 minutes.", n.Stats.Load15M)
	e.one("om_node_memory_available_percent", "gauge", "Memory the node has left.", float64(n.Stats.MemAvailPct))
	e.one("om_node_swap_available_percent", "gauge", "Swap the node has left.", float64(n.Stats.SwapAvailPct))
	e.one("om_node_score", "gauge", "Score of the node: the higher, the better placed to take more.", float64(n.Stats.Score))
}

// exposeInstances writes the state of the local instances the caller may read.
func (s *Server) exposeInstances(ctx context.Context, e *exposition, v *cluster.View) {
	type local struct {
		path object.Path
		i    cluster.Instance
	}
	var all []local
	for _, p := range s.index.of(v) {
		if i, ok := v.Objects[p].Instances[s.o.Node]; ok && mayRead(ctx, p.Namespace) {
			all = append(all, local{p, i})
		}
	}
	e.family("om_instance_avail", "gauge", "1 for the availability of the instance, undef when it is not known.")
	for _, l := range all {
		avail := cluster.Undef
		if l.i.Status != nil {
			avail = l.i.Status.Avail
		}
		e.value("om_instance_avail", 1, "object", l.path.String(), "avail", avail.String())
	}
	e.family("om_instance_frozen", "gauge", "1 when the instance is frozen.")
	e.each(len(all), "om_instance_frozen", func(i int) (string, bool, bool) {
		status := all[i].i.Status
		return all[i].path.String(), status != nil, status != nil && !status.FrozenAt.IsZero()
	})
	e.family("om_instance_failed", "gauge", "1 when the monitor of the instance remembers a failure.")
	e.each(len(all), "om_instance_failed", func(i int) (string, bool, bool) {
		m := all[i].i.Monitor
		return all[i].path.String(), m != nil, m != nil && strings.HasSuffix(m.State, " failed")
	})
}

// each writes what is true or not of objects, when it is known.
func (e *exposition) each(n int, name string, of func(i int) (object string, known, holds bool)) {
	for i := range n {
		object, known, holds := of(i)
		switch {
		case holds:
			e.value(name, 1, "object", object)
		case known:
			e.value(name, 0, "object", object)
		}
	}
}

func (s *Server) exposeRequests(e *exposition) {
	ids := slices.Sorted(maps.Keys(s.measures))
	e.family("om_api_requests_total", "counter", "Requests answered, by operation and by the hundreds of the status.")
	for _, id := range ids {
		for class := range s.measures[id].classes {
			if n := s.measures[id].classes[class].Load(); n > 0 {
				e.value("om_api_requests_total", float64(n), "operation", id, "code", strconv.Itoa(class)+"xx")
			}
		}
	}
	const name = "om_api_request_seconds"
	e.family(name, "histogram", "How long answers took, streams and waits left out.")
	for _, id := range ids {
		m := s.measures[id]
		total := uint64(0)
		var lines exposition
		for i, bound := range bounds {
			total += m.buckets[i].Load()
			lines.value(name+"_bucket", float64(total), "operation", id, "le", strconv.FormatFloat(bound, 'g', -1, 64))
		}
		total += m.buckets[len(bounds)].Load()
		if total == 0 {
			continue
		}
		lines.value(name+"_bucket", float64(total), "operation", id, "le", "+Inf")
		lines.value(name+"_sum", time.Duration(m.nanos.Load()).Seconds(), "operation", id)
		lines.value(name+"_count", float64(total), "operation", id)
		e.text = append(e.text, lines.text...)
	}
}
