package httpd_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

func usrName() api.ObjectName {
	return api.ObjectName{Namespace: "system", Kind: "usr", Name: "usr1"}
}

// userToken is a token of a user of the cluster.
func (f *fixture) userToken(t *testing.T, name, grants string) string {
	t.Helper()
	parsed, err := rbac.Parse(grants)
	if err != nil {
		t.Fatal(err)
	}
	id, err := (&auth.Directory{Store: f.store}).ID(name)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := f.tokens.IssueUser(name, id, parsed, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

func TestATokenGivesNoMoreThanItsUserStillHas(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n")
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = admin:ns1\n")
	users := "Bearer " + f.userToken(t, "usr1", "admin:ns1")
	given := "Bearer " + f.token(t, "admin:ns1") // by root, whoever its bearer is
	usr := auth.UserPath("usr1")
	status := func(method, target string) int { return f.plain(t, method, target, users, nil).Status }
	const read, write = "/api/object/path/ns1/svc/web1", "/api/object/path/ns1/svc/web1/config?set=comment=x"

	if got := []int{status("GET", read), status("PATCH", write)}; got[0] != 200 || got[1] != 200 {
		t.Fatal(got)
	}
	do(t, f.local(t), api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: usrName(), ConfigChange: api.ConfigChange{Set: []string{"grant=guest:ns*"}}})
	if got := []int{status("GET", read), status("PATCH", write)}; got[0] != 200 || got[1] != 403 {
		t.Errorf("narrowed to guest: %v", got)
	}
	do(t, f.local(t), api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: usrName(), ConfigChange: api.ConfigChange{Set: []string{"grant=root"}}})
	if got := []int{status("GET", read), status("PATCH", write), status("GET", "/api/cluster/config")}; got[0] != 200 || got[1] != 200 || got[2] != 403 {
		t.Errorf("widened to root: %v", got)
	}
	if err := f.store.Delete(t.Context(), usr); err != nil {
		t.Fatal(err)
	}
	if got := status("GET", read); got != http.StatusUnauthorized {
		t.Errorf("deleted: %d", got)
	}
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = admin:ns1\n")
	if got := status("GET", read); got != http.StatusUnauthorized {
		t.Errorf("another of the name is made: %d", got)
	}
	if got := f.plain(t, "GET", read, given, nil); got.Status != http.StatusOK {
		t.Errorf("a token that root gave: %+v", got)
	}
}

func TestAStreamEndsWithTheAccessOfItsReader(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(t *testing.T, f *fixture) string{
		"the user usr1 is gone": func(t *testing.T, f *fixture) string {
			t.Helper()
			if err := f.store.Delete(t.Context(), auth.UserPath("usr1")); err != nil {
				t.Fatal(err)
			}
			return "ConfigFileRemoved"
		},
		"the grants of usr1 are others now": func(t *testing.T, f *fixture) string {
			t.Helper()
			do(t, f.local(t), api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: usrName(), ConfigChange: api.ConfigChange{Set: []string{"grant=guest:ns2"}}})
			return "ConfigFileUpdated"
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create(t, "ns1/svc/web1", "[DEFAULT]\n")
			f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = guest:ns1\n")
			c := newClient(t, client.Options{Server: f.address, CA: f.ca, Token: secret.New(f.userToken(t, "usr1", "guest:ns1"))})
			ended := make(chan error, 2)
			go func() {
				var last error
				for _, err := range client.Events(t.Context(), c, api.EventQuery{}) {
					last = err
				}
				ended <- last
			}()
			go func() {
				var last error
				q := api.InstanceLogQuery{InstanceName: api.InstanceName{NodeName: api.NodeName{Node: api.Localhost}, ObjectName: api.ObjectName{Namespace: "ns1", Kind: "svc", Name: "web1"}}, LogSelection: api.LogSelection{Follow: true}}
				for _, err := range client.InstanceLogs(t.Context(), c, q) {
					last = err
				}
				ended <- last
			}()
			eventually(t, func() bool {
				return strings.Count(strings.Join(f.bus.Readers(), ","), "access of usr1") == 2
			})

			if take(t, f) == "ConfigFileRemoved" {
				f.bus.Publish(event.ConfigFileRemoved{Path: auth.UserPath("usr1")})
			} else {
				f.bus.Publish(event.ConfigFileUpdated{Path: auth.UserPath("usr1")})
			}

			for range 2 {
				if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended: "+what) {
					t.Errorf("the last word is %v", err)
				}
			}
			eventually(t, func() bool { return len(f.bus.Readers()) == 0 })
		})
	}
}
