package httpd_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/sse"
)

// logger writes in the log of the node, as a command would.
func (f *fixture) logger() *slog.Logger {
	root := filepath.Join(filepath.Dir(f.socket), "..", "..")
	return slog.New(logbook.Open(host.Paths{Root: root}).Handler(node1, slog.LevelDebug))
}

// said reads a stream of the log to its end.
func said(t *testing.T, stream iter.Seq2[sse.Event, error]) []string {
	t.Helper()
	var texts []string
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		l, err := logbook.ParseLine(e.Data)
		if err != nil || e.Name != api.LogLine {
			t.Fatalf("event %q %s: %v", e.Name, e.Data, err)
		}
		texts = append(texts, l.Message)
	}
	return texts
}

func TestLogsOfANode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := f.logger()
	log.Info("one", slog.String("object", "svc1"), slog.String("sid", "s1"))
	log.Warn("two", slog.String("object", "ns1/svc/svc2"), slog.String("sid", "s1"), slog.String("oid", "o1"))
	log.Debug("three", slog.String("object", "svc1"), slog.String("sid", "s2"))

	for name, c := range map[string]struct {
		query api.LogQuery
		want  []string
	}{
		"the last lines":   {api.LogQuery{}, []string{"one", "two"}},
		"how many":         {api.LogQuery{LogSelection: api.LogSelection{Lines: 1}}, []string{"two"}},
		"down to a level":  {api.LogQuery{LogSelection: api.LogSelection{Level: "debug"}}, []string{"one", "two", "three"}},
		"of a session":     {api.LogQuery{LogSelection: api.LogSelection{Filter: []string{"SID=s1"}}}, []string{"one", "two"}},
		"narrowed further": {api.LogQuery{LogSelection: api.LogSelection{Filter: []string{"SID=s1"}, Grep: "^t"}}, []string{"two"}},
		"of objects":       {api.LogQuery{Paths: []string{"ns1/svc/svc2", "other"}}, []string{"two"}},
		"of what is not":   {api.LogQuery{LogSelection: api.LogSelection{Filter: []string{"EID=x"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := said(t, client.NodeLogs(t.Context(), f.local(t), c.query)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for name, s := range map[string]api.LogSelection{
		"a filter without a value": {Filter: []string{"SID"}}, "an expression that is none": {Grep: "("}, "more lines than are sent": {Lines: 10001},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, f.local(t), api.GetNodeLogs, api.LogQuery{LogSelection: s}, http.StatusBadRequest)
		})
	}
}

func TestLogsOfAnInstanceAreForItsGuests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := f.logger()
	log.Info("mine", slog.String("object", "ns1/svc/a"))
	log.Info("not mine", slog.String("object", "ns2/svc/a"))
	guest := f.remote(t, "guest:ns1")

	got := said(t, client.InstanceLogs(t.Context(), guest, api.InstanceLogQuery{InstanceName: api.InstanceOf(node1, path(t, "ns1/svc/a"))}))
	if !slices.Equal(got, []string{"mine"}) {
		t.Errorf("%q", got)
	}
	refused(t, guest, api.GetInstanceLogs, api.InstanceLogQuery{InstanceName: api.InstanceOf(node1, path(t, "ns2/svc/a"))}, http.StatusForbidden)
	refused(t, guest, api.GetNodeLogs, api.LogQuery{Paths: []string{"ns1/svc/a"}}, http.StatusForbidden)
	// A filter narrows what may be read; it opens nothing.
	in := api.InstanceLogQuery{InstanceName: api.InstanceOf(node1, path(t, "ns1/svc/a")), LogSelection: api.LogSelection{Filter: []string{"OBJ_PATH=ns2/svc/a"}}}
	refused(t, guest, api.GetInstanceLogs, in, http.StatusBadRequest)
}

func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.logger().Info("before")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, stop := iter.Pull2(client.NodeLogs(ctx, f.local(t), api.LogQuery{LogSelection: api.LogSelection{Follow: true}}))
	defer stop()
	want := func(name, text string) {
		t.Helper()
		e, err, ok := next()
		if err != nil || !ok || e.Name != name || !strings.Contains(string(e.Data), text) {
			t.Fatalf("event %q %s, %v, want %s with %q", e.Name, e.Data, err, name, text)
		}
	}

	want(api.LogLine, "before")
	want(api.LogLive, "{}")
	f.logger().Info("after")
	want(api.LogLine, "after")
}
