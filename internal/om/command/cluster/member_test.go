package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// daemon tells events once it was given an order, then nothing more; or ends.
type daemon struct {
	told    []string
	refusal error
	ends    bool
	ordered chan struct{}
	enroll  api.EnrollOrder
	evict   api.EvictOrder
}

func (*daemon) Select(context.Context, string) ([]object.Path, error) { return nil, nil }

func (d *daemon) EnrollNode(_ context.Context, in api.EnrollOrder) (api.Enrolled, error) {
	d.enroll = in
	close(d.ordered)
	return api.Enrolled{Node: "node2"}, d.refusal
}

func (d *daemon) EvictNode(_ context.Context, in api.EvictOrder) error {
	d.evict = in
	close(d.ordered)
	return d.refusal
}

func (d *daemon) EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		opened()
		select {
		case <-d.ordered:
		case <-ctx.Done():
			yield(api.Event{}, ctx.Err())
			return
		}
		for _, text := range d.told {
			kind, data, _ := strings.Cut(text, " ")
			if kind != api.Resync && !slices.Contains(q.Filter, kind) {
				continue
			}
			if !yield(api.Event{Kind: kind, Data: []byte(data)}, nil) {
				return
			}
		}
		if !d.ends {
			<-ctx.Done()
			yield(api.Event{}, ctx.Err())
		}
	}
}

// do runs a command on the nodes of the cluster.
func (d *daemon) do(ctx context.Context, t *testing.T, env map[string]string, line ...string) (out, said string, err error) {
	t.Helper()
	d.ordered = make(chan struct{})
	verbs := cluster.Verbs()
	i := slices.IndexFunc(verbs, func(v verb.Verb) bool { return v.Path == line[0] })
	runner := verbs[i].New(d)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	runner.Flags(flags)
	if err := flags.Parse(line[1:]); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	err = runner.Run(ctx, &verb.Call{
		Streams: &iostreams.Streams{Out: &stdout, Err: &stderr}, Backend: d, Env: func(name string) string { return env[name] },
	})
	return stdout.String(), stderr.String(), err
}

// The lines of the manual, and the end of the wait.
func TestWhatIsSaidOfANodeThatComesOrGoes(t *testing.T) {
	t.Parallel()
	token, credential := map[string]string{"OSVC_JOIN_TOKEN": "t0ken\n"}, map[string]string{"OSVC_CREDENTIAL": "admin:s3cret\n"}
	for name, c := range map[string]struct {
		env  map[string]string
		line []string
		told []string
		ends bool
		want string // on the standard output
		err  string
	}{
		"enrolled": {
			token,
			[]string{"enroll", "--node", "node2", "--wait"},
			[]string{
				`JoinRequest {"candidate_node":"node2"}`, `NodeAlive {"node":"node9"}`, `JoinError {"candidate_node":"node9","reason":"no"}`,
				`JoinSuccess {"added_node":"node2"}`, `NodeAlive {"node":"node2"}`, `JoinError {"candidate_node":"node2","reason":"late"}`,
			},
			false, "Node node2 accepted the join order\nCluster nodes updated\nWaiting for node2 to beat\nNode node2 is alive\n", "",
		},
		"enrolled again": {
			token,
			[]string{"enroll", "--node", "node2", "--wait"},
			[]string{`JoinIgnored {"candidate_node":"node2"}`, `NodeAlive {"node":"node2"}`},
			false, "Node node2 accepted the join order\nNode node2 is among the cluster nodes already\nWaiting for node2 to beat\nNode node2 is alive\n", "",
		},
		"given up": {
			token,
			[]string{"enroll", "--node", "node2", "--wait"},
			[]string{`JoinSuccess {"added_node":"node2"}`, `JoinError {"candidate_node":"node2","reason":"drain the node: web does not shut down"}`},
			false, "Node node2 accepted the join order\nCluster nodes updated\nWaiting for node2 to beat\n", "node node2 does not join: drain the node: web does not shut down",
		},
		"unseen": {
			token,
			[]string{"enroll", "--node", "node2", "--wait"},
			nil, true,
			"Node node2 accepted the join order\n", "the join of node2 (see om daemon events --filter 'NodeAlive,.node=node2') goes on unseen: the daemon ended the stream of events",
		},
		"lost": {
			token,
			[]string{"enroll", "--node", "node2", "--wait"},
			[]string{api.Resync + ` {"lost":3}`},
			false,
			"Node node2 accepted the join order\n", "goes on unseen: events were lost",
		},
		"ordered": {token, []string{"enroll", "--node", "node2"}, nil, false, "Node node2 accepted the join order\n", ""},
		"evicted": {
			credential,
			[]string{"evict", "--node", "node2", "--wait"},
			[]string{`LeaveSuccess {"removed_node":"node9"}`, `LeaveSuccess {"removed_node":"node2"}`},
			false,
			"Node node2 accepted the leave order\nCluster nodes updated\nNode node2 is restarting alone, its instances stay down\n", "",
		},
		"evicted before": {
			nil,
			[]string{"evict", "--node", "node2", "--wait"},
			[]string{`LeaveIgnored {"candidate_node":"node2"}`},
			false,
			"Node node2 accepted the leave order\nNode node2 is not among the cluster nodes\nNode node2 is restarting alone, its instances stay down\n", "",
		},
		"kept": {
			nil,
			[]string{"evict", "--node", "node2", "--wait"},
			[]string{`LeaveError {"candidate_node":"node2","reason":"the disk is full"}`},
			false,
			"Node node2 accepted the leave order\n", "node node2 does not leave: the disk is full",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &daemon{told: c.told, ends: c.ends}
			out, _, err := d.do(t.Context(), t, c.env, c.line...)
			if diff := cmp.Diff(c.want, out); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

func TestAnOrderCarriesWhatWasAsked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("in-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &daemon{}
	if _, _, err := d.do(t.Context(), t, map[string]string{"OSVC_JOIN_TOKEN": "x"}, "enroll", "--node", "https://n:1", "--token", file, "--join-addr", "m:2", "--timeout", "10m"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.EnrollOrder{Node: "https://n:1", Token: "in-a-file", JoinAddr: "m:2", Timeout: "10m0s"}, d.enroll, cmp.AllowUnexported(api.EnrollOrder{})); diff != "" {
		t.Error(diff)
	}
	if _, _, err := d.do(t.Context(), t, map[string]string{"OSVC_CREDENTIAL": "admin:x"}, "evict", "--node", "n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.EvictOrder{Node: "n", Credential: "admin:x", Timeout: "1h0m0s"}, d.evict, cmp.AllowUnexported(api.EvictOrder{})); diff != "" {
		t.Error(diff)
	}
}

// What is secret is never an argument; what is refused says what to do, and the
// daemon is not asked.
func TestSecretsAreInFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"enroll --token x", "--node"},
		{"enroll --node n", "om daemon auth --role join"},
		{"enroll --node n --token eyJh.eyJi.c2ln", "seen by everybody on the host"},
		{"enroll --node n --token nosuch", "no such file"},
		{"evict", "--node"},
		{"evict --node n --credential admin:s3cret", "OSVC_CREDENTIAL"},
	} {
		d := &daemon{}
		_, _, err := d.do(t.Context(), t, nil, strings.Fields(c.line)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "eyJh") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", c.line, err)
		}
		if d.enroll.Node+d.evict.Node != "" {
			t.Errorf("%s: the daemon was asked", c.line)
		}
	}
}

// A wait ends at its limit, and when it is interrupted: the join goes on, and the
// command says how to follow it.
func TestAWaitThatEndsSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{}
		env := map[string]string{"OSVC_JOIN_TOKEN": "x"}
		began := time.Now()
		_, _, err := d.do(t.Context(), t, env, "enroll", "--node", "node2", "--wait", "--timeout", "1m")
		if waited := time.Since(began); err == nil || !strings.Contains(err.Error(), "NodeAlive,.node=node2") || waited != time.Minute {
			t.Errorf("after %s: %v", waited, err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		_, said, err := d.do(ctx, t, env, "enroll", "--node", "node2", "--wait")
		if !errors.Is(err, context.Canceled) || !strings.Contains(said, "NodeAlive,.node=node2") {
			t.Errorf("%v, said %q", err, said)
		}
	})
}
