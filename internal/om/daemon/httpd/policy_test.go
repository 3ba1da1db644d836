package httpd_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
)

func TestAnAdminWritesItsNamespaceAndNothingOfTheNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n[env]\ncmd = /bin/good\n[app#1]\ntype = simple\nstart = /bin/true\npre_start = {env.cmd}\n")
	f.create(t, "ns1/usr/usr1", "[DEFAULT]\n")
	f.create(t, "ns1/vol/vol1", "[DEFAULT]\nsize = 1g\n")
	f.create(t, "system/sec/pw1", "[DEFAULT]\n")
	f.create(t, "system/cfg/cfg1", "[DEFAULT]\n")
	const ok, denied = http.StatusOK, http.StatusForbidden
	for _, c := range []struct {
		grants, path, op string
		status           int
	}{
		{"admin:ns1", "ns1/svc/web1", "comment=hello", ok},
		{"admin:ns1", "ns1/svc/web1", "env.other=1", ok},
		{"admin:ns1", "ns1/svc/web1", "fs#1.type=flag", ok},
		{"admin:ns1", "ns1/svc/web1", "app#1.restart=2", ok},
		{"operator:ns1", "ns1/svc/web1", "comment=hello", denied},
		{"admin:ns2", "ns1/svc/web1", "comment=hello", denied},
		{"squatter", "ns1/svc/web1", "comment=hello", denied},
		{"admin:ns1", "ns1/svc/web1", "app#1.start=/bin/evil", denied},
		{"admin:ns1", "ns1/svc/web1", "app#1.post_start=/bin/evil", denied},
		{"admin:ns1", "ns1/svc/web1", "env.cmd=/bin/evil", denied}, // the trick of the manual
		{"admin:ns1", "ns1/svc/web1", "env.cmd@node9=/bin/evil", denied},
		{"admin:ns1", "ns1/svc/web1", "priority=1", denied},
		{"admin:ns1 prioritizer", "ns1/svc/web1", "priority=1", ok},
		{"admin", "ns1/usr/usr1", "grant=root", denied},
		{"admin", "ns1/usr/usr1", "uxuser=alice", denied},
		{"admin:ns1", "ns1/vol/vol1", "size=2g", ok},
		{"admin:ns1", "ns1/vol/vol1", "pool=fast", denied},
		{"admin", "system/sec/pw1", "comment=x", denied},
		{"admin", "system/cfg/cfg1", "comment=x", ok},
		{"admin", "root/ccfg/cluster", "uxgroup#ops.grant=root", denied},
		{"root", "ns1/svc/web1", "env.cmd=/bin/other", ok},
	} {
		if got := f.write(t, c.grants, c.path, c.op); got.Status != c.status {
			t.Errorf("%s sets %s of %s: status %d, want %d: %s", c.grants, c.op, c.path, got.Status, c.status, got.Body)
		}
	}
	got := f.write(t, "admin:ns1", "ns1/svc/web1", "env.cmd=/bin/evil")
	if !strings.Contains(got.Body, "app#1.pre_start asks for the root grant, and refers to what the write changes on node1") {
		t.Errorf("the refusal says %s", got.Body)
	}
	unset := f.plain(t, "PATCH", "/api/object/path/ns1/svc/web1/config?unset=app%231.pre_start", "Bearer "+f.token(t, "admin:ns1"), nil)
	if unset.Status != denied {
		t.Errorf("an admin unsets a trigger: %d", unset.Status)
	}
}

func TestAnAdminReplacesAndCreatesWithinTheSameRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const config = "[DEFAULT]\nid = 0e745444-6724-48f9-8167-e865b4f9ec94\n[app#1]\ntype = simple\nstart = /bin/true\n"
	f.create(t, "ns1/svc/web1", "[app#1]\ntype = simple\nstart = /bin/true\n")
	file := do(t, f.local(t), api.GetObjectConfigFile, api.ObjectName{Namespace: "ns1", Kind: "svc", Name: "web1"})
	admin := "Bearer " + f.token(t, "admin:ns1")
	const one, two = "/api/object/path/ns1/svc/web1/config/file", "/api/object/path/ns1/svc/web2/config/file"
	for _, c := range []struct {
		name, method, target, body string
		status                     int
	}{
		{"the same, with a comment", "PUT", one, strings.Replace(string(file.RawBody), "[app#1]", "# hello\n[app#1]", 1), http.StatusNoContent},
		{"another command", "PUT", one, strings.Replace(string(file.RawBody), "/bin/true", "/bin/evil", 1), http.StatusForbidden},
		{"without the application", "PUT", one, "[DEFAULT]\n", http.StatusForbidden},
		{"a new one with a command", "POST", two, config, http.StatusForbidden},
		{"in place of another", "POST", one + "?force=true", strings.Replace(config, "true", "evil", 1), http.StatusForbidden},
		{"a new one", "POST", two, "[fs#1]\ntype = flag\n", http.StatusNoContent},
		{"a volume", "POST", "/api/object/path/ns1/vol/vol1/config/file", "[fs#1]\ntype = flag\n", http.StatusForbidden},
		{"a user of the cluster", "POST", "/api/object/path/system/usr/usr1/config/file", "[DEFAULT]\n", http.StatusForbidden},
		{"in a namespace to be", "POST", "/api/object/path/ns2/svc/web1/config/file", "[DEFAULT]\n", http.StatusForbidden},
	} {
		if got := f.plain(t, c.method, c.target, admin, strings.NewReader(c.body)); got.Status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, got.Status, c.status, got.Body)
		}
	}
}

func TestWhatCannotBeReadIsReplacedByRootOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.create(t, "ns1/svc/web1", "[app#1]\ntype = simple\nstart = /bin/true\n")
	overwrite(t, f.store.FileName(p), "[app#1\n")
	const target = "/api/object/path/ns1/svc/web1/config/file"
	if got := f.plain(t, "PUT", target, "Bearer "+f.token(t, "admin:ns1"), strings.NewReader("[DEFAULT]\n")); got.Status != http.StatusForbidden {
		t.Errorf("by an admin: %d %s", got.Status, got.Body)
	}
	if got := f.plain(t, "PUT", target, "Bearer "+f.token(t, "root"), strings.NewReader("[DEFAULT]\n")); got.Status != http.StatusNoContent {
		t.Errorf("by root: %d %s", got.Status, got.Body)
	}
}

func TestASquatterMakesNamespacesAndAdministersThem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "squatter")
	as := basic("usr1", "hunter2")
	const namespace, object = "/api/object/path/ns1/nscfg/namespace/config", "/api/object/path/ns1/svc/web1/config/file"
	if got := f.plain(t, "POST", object, as, strings.NewReader("[DEFAULT]\n")); got.Status != http.StatusForbidden {
		t.Errorf("an object before the namespace: %d %s", got.Status, got.Body)
	}
	if got := f.plain(t, "POST", namespace+"/file", as, strings.NewReader("[DEFAULT]\n")); got.Status != http.StatusNoContent {
		t.Fatalf("the namespace: %d %s", got.Status, got.Body)
	}
	if who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", as, nil)); who.RawGrant != "squatter admin:ns1" || who.Auth != auth.MethodBasic {
		t.Errorf("the squatter is %+v", who)
	}
	if got := f.plain(t, "POST", object, as, strings.NewReader("[DEFAULT]\n")); got.Status != http.StatusNoContent {
		t.Errorf("an object of the namespace: %d %s", got.Status, got.Body)
	}
	if got := f.plain(t, "PATCH", namespace+"?set=pg_cpu_quota%3D50%25", as, nil); got.Status != http.StatusOK {
		t.Errorf("a limit of the namespace: %d %s", got.Status, got.Body)
	}
	got := f.plain(t, "PATCH", namespace+"?set=pg_cpu_quota%3D50%25", "Bearer "+f.token(t, "admin admin:ns1"), nil)
	if got.Status != http.StatusForbidden || !strings.Contains(got.Body, "need one of [squatter root] grant") {
		t.Errorf("a limit lifted by an admin: %d %s", got.Status, got.Body)
	}
	if got := f.plain(t, "POST", "/api/object/path/ns1/nscfg/namespace/action/delete", "Bearer "+f.token(t, "admin"), nil); got.Status != http.StatusForbidden {
		t.Errorf("limits deleted by an admin: %d %s", got.Status, got.Body)
	}
}

func TestASquatterGetsNoNamespaceThatExists(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "squatter")
	f.create(t, "ns1/svc/web", app)
	as := basic("usr1", "hunter2")
	for _, namespace := range []string{"ns1", "root", "system"} {
		got := f.plain(t, "POST", "/api/object/path/"+namespace+"/nscfg/namespace/config/file", as, strings.NewReader("[DEFAULT]\n"))
		if got.Status != http.StatusNoContent {
			t.Errorf("limits of %s: %d %s", namespace, got.Status, got.Body)
		}
	}
	if who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", as, nil)); who.RawGrant != "squatter" {
		t.Errorf("the squatter became %q", who.RawGrant)
	}
}

func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
