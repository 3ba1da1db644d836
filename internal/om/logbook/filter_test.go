package logbook_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/logbook"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	const raw = `{"at":"2026-11-30T10:00:00Z","level":"warn","node":"n1","path":"ns1/svc/web","rid":"app#1","sid":"s1","oid":"o1","message":"stop","err":"exit code 3","action":"stop","pid":12}`
	l, err := logbook.ParseLine([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query logbook.Query
		want  bool
	}{
		{logbook.Query{}, true},
		{logbook.Query{Level: "warn"}, true},
		{logbook.Query{Level: "error"}, false},
		{logbook.Query{Grep: "exit code [1-3]"}, true},
		{logbook.Query{Grep: "^stop: exit"}, true},
		{logbook.Query{Grep: "start"}, false},
		{logbook.Query{Paths: []string{"other", "ns1/svc/web"}}, true},
		{logbook.Query{Paths: []string{"other"}}, false},
		{logbook.Query{Filter: []string{"SID=s1", "ORCHESTRATION_ID=o1", "OBJ_PATH=ns1/svc/web", "NODE=n1"}}, true},
		{logbook.Query{Filter: []string{"SID=s2"}}, false},
		{logbook.Query{Filter: []string{"SID=s2", "SID=s1"}}, true},
		{logbook.Query{Filter: []string{"RID=app#*"}}, true},
		{logbook.Query{Filter: []string{"RID=fs*"}}, false},
		{logbook.Query{Filter: []string{"ACTION=stop", "PID=12"}}, true},
		{logbook.Query{Filter: []string{"action=start"}}, false},
		{logbook.Query{Filter: []string{"NOSUCH=1"}}, false},
		{logbook.Query{Filter: []string{"EID="}}, true},
		{logbook.Query{Filter: []string{"LEVEL=warn"}}, true},
	} {
		f, err := c.query.Parse()
		if err != nil {
			t.Errorf("%+v: %v", c.query, err)
			continue
		}
		if got := f.Match(l); got != c.want {
			t.Errorf("%+v selects %v, want %v", c.query, got, c.want)
		}
	}
}

func TestBadQueriesAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query logbook.Query
		want  string
	}{
		{logbook.Query{Level: "loud"}, `level "loud": use one of debug, info, warn, error`},
		{logbook.Query{Grep: "("}, `grep "(" is no regular expression`},
		{logbook.Query{Filter: []string{"SID"}}, `filter "SID": write a field and its value`},
		{logbook.Query{Filter: []string{"=x"}}, `write a field and its value`},
		{logbook.Query{Filter: []string{"RID=["}}, `filter "RID=["`},
		{logbook.Query{Filter: []string{"OBJ_PATH=b"}, Paths: []string{"a"}}, `the lines are those of a`},
	} {
		if _, err := c.query.Parse(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.query, err, c.want)
		}
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("SID=s1", "exit", "warn", "web")
	f.Add("RID=[a", "(", "", "")
	l, err := logbook.ParseLine([]byte(`{"level":"warn","path":"web","sid":"s1","message":"exit"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, filter, grep, level, path string) {
		q := logbook.Query{Filter: []string{filter}, Grep: grep, Level: level}
		if path != "" {
			q.Paths = []string{path}
		}
		parsed, err := q.Parse()
		if err != nil {
			return
		}
		parsed.Match(l)
		field, value, err := logbook.ParseField(filter)
		if err != nil || field == "" {
			t.Errorf("%q was taken, and is %q and %q: %v", filter, field, value, err)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"at":"20{"at":"2026-11-30T10:00:00Z","message":"x"}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := logbook.ParseLine(data)
		if err != nil {
			return
		}
		again, err := logbook.ParseLine(l.Raw)
		if err != nil || !again.At.Equal(l.At) || again.Message != l.Message {
			t.Errorf("%q reads %+v then %+v, %v", data, l, again, err)
		}
	})
}
