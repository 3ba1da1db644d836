package httpd_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// heartbeatDisks records what is done to devices; that of hb#2 holds something.
type heartbeatDisks struct{ deeds *deeds }

func (d heartbeatDisks) Sign(_ context.Context, name string) error { return d.do("sign", name) }
func (d heartbeatDisks) Wipe(_ context.Context, name string) error { return d.do("wipe", name) }

func (d heartbeatDisks) do(deed, name string) error {
	if name == "hb#2" {
		return &httpd.RefusedDiskError{Err: errors.New("/dev/x holds ext4")}
	}
	d.deeds.add(deed + " " + name)
	return nil
}

func otherRelays(context.Context) []api.RelayStatus {
	return []api.RelayStatus{{RelaySlot: api.RelaySlot{Relay: "relay.example.com", Node: "n9"}, Status: "ok"}}
}

func post(text string) api.RelayMessagePost {
	return api.RelayMessagePost{Body: api.RelayPost{ClusterID: "c1", ClusterName: "east", Node: "n1", Message: text}}
}

func isProblem(t *testing.T, err error, status int, words string) {
	t.Helper()
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Status != status || !strings.Contains(p.Detail, words) {
		t.Errorf("%v, want %d %q", err, status, words)
	}
}

func TestAMessageIsReadByTheUserThatLeftIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user, guest, root := f.remote(t, "heartbeat"), f.remote(t, "guest"), f.local(t)

	_, err := client.Do(t.Context(), user, api.PostRelayMessage, post("one"))
	if err == nil {
		_, err = client.Do(t.Context(), user, api.PostRelayMessage, post("two"))
	}
	if err != nil {
		t.Fatal(err)
	}

	m, err := client.Do(t.Context(), user, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n1"})
	if err != nil || m.Message != "two" || m.NodeAddr != "127.0.0.1" || m.User != "usr1" || m.Relay != node1 || m.ClusterName != "east" {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = client.Do(t.Context(), user, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n2"})
	isProblem(t, err, http.StatusNotFound, "user usr1 left no message of node n2 of cluster c1 here")
	_, err = client.Do(t.Context(), user, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n1", User: "other"})
	isProblem(t, err, http.StatusForbidden, "by that user, and by root")
	for _, c := range []*client.Client{guest, f.remote(t, "operator:ns1 admin:ns2")} {
		_, err = client.Do(t.Context(), c, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n1"})
		isProblem(t, err, http.StatusForbidden, "")
		_, err = client.Do(t.Context(), c, api.PostRelayMessage, post("three"))
		isProblem(t, err, http.StatusForbidden, "")
	}
	_, err = client.Do(t.Context(), root, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n1"})
	isProblem(t, err, http.StatusNotFound, "")
	m, err = client.Do(t.Context(), root, api.GetRelayMessage, api.RelayMessageQuery{ClusterID: "c1", Node: "n1", User: "usr1"})
	if err != nil || m.Message != "two" {
		t.Errorf("root: %+v, %v", m, err)
	}
}

func TestTheStatusOfARelay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user, root := f.remote(t, "heartbeat"), f.local(t)
	for _, c := range []*client.Client{user, root} {
		if _, err := client.Do(t.Context(), c, api.PostRelayMessage, post("hello")); err != nil {
			t.Fatal(err)
		}
	}
	list := func(c *client.Client, q api.RelayStatusQuery) string {
		t.Helper()
		all, err := client.Do(t.Context(), c, api.GetRelayStatus, q)
		if err != nil {
			t.Fatal(err)
		}
		users := make([]string, 0, len(all.Items))
		for _, s := range all.Items {
			users = append(users, s.User+"@"+s.Relay)
			if s.User != "" && s.Length != 5 {
				t.Errorf("%+v", s)
			}
		}
		return strings.Join(users, " ")
	}
	if got := list(user, api.RelayStatusQuery{}); got != "usr1@"+node1 {
		t.Errorf("the user sees %q", got)
	}
	if got := list(root, api.RelayStatusQuery{}); !strings.Contains(got, "usr1@"+node1) || strings.Count(got, "@") != 2 {
		t.Errorf("root sees %q", got)
	}
	if got := list(root, api.RelayStatusQuery{Remote: true}); got != "@relay.example.com" {
		t.Errorf("root sees %q at the relays", got)
	}
	if got := list(root, api.RelayStatusQuery{Relay: []string{"elsewhere"}}); got != "" {
		t.Errorf("root sees %q elsewhere", got)
	}
	_, err := client.Do(t.Context(), user, api.GetRelayStatus, api.RelayStatusQuery{Remote: true})
	isProblem(t, err, http.StatusForbidden, "for root only")
}

func TestTheDeviceOfAHeartbeatIsPreparedForRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for word, op := range map[string]api.Operation[api.HeartbeatName, api.Problem]{"sign": api.PostDaemonHeartbeatSign, "wipe": api.PostDaemonHeartbeatWipe} {
		in := api.HeartbeatName{NodeName: api.NodeName{Node: node1}, Name: "hb#1"}
		if _, err := client.Do(t.Context(), f.local(t), op, in); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		in.Name = "hb#2"
		_, err := client.Do(t.Context(), f.local(t), op, in)
		isProblem(t, err, http.StatusConflict, "/dev/x holds ext4")
		_, err = client.Do(t.Context(), f.remote(t, "heartbeat admin:"+object.RootNamespace), op, in)
		isProblem(t, err, http.StatusForbidden, "")
	}
	if got := len(f.deeds.all()); got != 2 {
		t.Errorf("%v", f.deeds.all())
	}
}
