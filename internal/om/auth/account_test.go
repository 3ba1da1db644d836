package auth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// given is what a cluster gives accounts.
type given struct{}

func (given) GroupGrants(groups []string) (rbac.Grants, error) {
	if slices.Contains(groups, "ops") {
		return rbac.Grants{{Role: rbac.Operator, Namespaces: "ns1"}}, nil
	}
	return nil, nil
}

func (given) AccountGrants(names ...string) (rbac.Grants, bool, error) {
	var grants rbac.Grants
	for _, name := range names {
		switch name {
		case "alice":
			grants = append(grants, rbac.Grant{Role: rbac.Admin, Namespaces: "ns2"})
		case "1001":
			grants = append(grants, rbac.Grant{Role: rbac.Guest})
		}
	}
	return grants, len(grants) > 0, nil
}

// nss is a name service: getent and id.
type nss struct {
	mu    sync.Mutex
	asked []string
	hang  bool
	now   atomic.Int32 // commands that run
	most  atomic.Int32
}

func (n *nss) Run(ctx context.Context, c host.Cmd) (host.Output, error) {
	n.mu.Lock()
	n.asked = append(n.asked, strings.Join(c.Argv, " "))
	n.mu.Unlock()
	if running := n.now.Add(1); running > n.most.Load() {
		n.most.Store(running)
	}
	defer n.now.Add(-1)
	if n.hang {
		<-ctx.Done()
		return host.Output{}, ctx.Err()
	}
	answers := map[string]string{
		"getent passwd 1000": "alice:x:1000:1000::/home/alice:/bin/sh\n", "id -G -n -z alice": "alice\x00ops\x00domain users\x00",
		"getent passwd 1001": "bob:x:1001:1001::/home/bob:/bin/sh\n", "id -G -n -z bob": "bob\x00",
		"getent passwd 0": "root:x:0:0::/root:/bin/sh\n", "id -G -n -z root": "root\x00",
		"getent passwd 1003": "-x:x:1003:1003::/:/bin/sh\n",
	}
	if text, ok := answers[strings.Join(c.Argv, " ")]; ok {
		return host.Output{Stdout: []byte(text)}, nil
	}
	return host.Output{}, &host.ExitError{Argv: c.Argv, Code: 2}
}

func (*nss) Start(host.Cmd) (host.Process, error) { return nil, errors.ErrUnsupported }

func TestALocalAccountHasWhatItsGroupsAndUsersAreGiven(t *testing.T) {
	t.Parallel()
	accounts := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{}}
	for _, c := range []struct {
		uid          int
		group        string
		name, grants string
		known        bool
	}{
		{1000, "/user.slice", "alice", "operator:ns1 admin:ns2", true},
		{1001, "/", "bob", "guest", true},
		{1002, "/", "1002", "", true}, // no such account: known, and given nothing
		{1003, "/", "", "", false},
		{0, "/", "root", "", true}, // root is not root on the user socket
		{1000, "/opensvc.slice/opensvc-svc.app.slice/opensvc-svc.app-app.1.slice", "alice", "operator:ns1 admin:ns2", true},
	} {
		got, err := accounts.Verify(t.Context(), auth.Caller{UID: c.uid, Groups: []string{c.group}}, now())
		if (err == nil) != c.known || got.Name != c.name || got.Grants.String() != c.grants {
			t.Errorf("uid %d in %q: %+v, %v", c.uid, c.group, got, err)
		}
		if err == nil && (got.Method != auth.MethodAccount || got.Caller().Socket || got.Caller().Password || got.Caller().Allows(rbac.NeedRoot, "")) {
			t.Errorf("uid %d is taken for more than a local account: %+v", c.uid, got)
		}
	}
}

func TestTheNameServiceIsAskedOnceAMinute(t *testing.T) {
	t.Parallel()
	service := &nss{}
	names := auth.NewNames(service)
	want := auth.Account{Login: "alice", Groups: []string{"alice", "ops", "domain users"}}
	for i := range 10 {
		got, err := names.Lookup(t.Context(), 1000, now().Add(time.Duration(i)*time.Second))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	}
	if len(service.asked) != 2 {
		t.Errorf("asked %v", service.asked)
	}
	if _, err := names.Lookup(t.Context(), 1000, now().Add(2*time.Minute)); err != nil || len(service.asked) != 4 {
		t.Errorf("later: asked %v, %v", service.asked, err)
	}
}

// A directory that does not answer costs those it is asked about three seconds,
// and keeps nobody else out.
func TestANameServiceThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &nss{hang: true}
		accounts := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(service), Residents: residents{}}
		start := time.Now()
		var group sync.WaitGroup
		for uid := 2000; uid < 2050; uid++ {
			group.Go(func() {
				if p, err := accounts.Verify(t.Context(), auth.Caller{UID: uid, Groups: []string{"/"}}, start); err == nil {
					t.Errorf("%d is %+v", uid, p)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
		if most := service.most.Load(); most > 8 {
			t.Errorf("%d lookups at once", most)
		}
		got, err := accounts.Verify(t.Context(), auth.Caller{UID: 1001, Groups: []string{"/"}}, time.Now())
		if err != nil || got.Grants.String() != "guest" || got.Name != "1001" {
			t.Errorf("a user that names the uid: %+v, %v", got, err)
		}
	})
}

func TestManyAccountsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	names := auth.NewNames(&nss{})
	for uid := range 5000 {
		if _, err := names.Lookup(t.Context(), 100_000+uid, now()); err != nil {
			t.Fatal(fmt.Errorf("uid %d: %w", uid, err))
		}
	}
}
