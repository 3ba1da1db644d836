package httpd_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
)

// accounts are those of a node, by uid.
type accounts map[int]auth.Account

func (a accounts) Lookup(_ context.Context, uid int, _ time.Time) (auth.Account, error) {
	known, ok := a[uid]
	if !ok {
		return auth.Account{}, errors.New("the name service does not answer")
	}
	return known, nil
}

// userSocket serves the user socket of a fixture to the group of this process.
func (f *fixture) userSocket(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ux", "http.sock")
	l, err := httpd.ListenUserSocket(path, os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	serve(t, f.server, l)
	return path
}

// ask sends a request through a unix socket.
func ask(t *testing.T, conn net.Conn, method, target string) (int, string) {
	t.Helper()
	request := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(data), "\r\n\r\n")
	for status, line := range map[int]string{200: "HTTP/1.1 200 ", 401: "HTTP/1.1 401 ", 403: "HTTP/1.1 403 ", 404: "HTTP/1.1 404 "} {
		if strings.HasPrefix(head, line) {
			return status, body
		}
	}
	t.Fatalf("answer %s", head)
	return 0, ""
}

func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func localAccounts(known accounts) func(*httpd.Options) {
	return func(o *httpd.Options) {
		o.Credentials.Accounts = &auth.Accounts{Grantor: o.Credentials.Users, Names: known, Residents: o.Credentials.Users}
	}
}

func TestTheUserSocketKnowsWhoConnects(t *testing.T) {
	t.Parallel()
	me := os.Geteuid()
	f := changedFixture(t, localAccounts(accounts{me: {Login: "alice", Groups: []string{"staff", "ops"}}}))
	f.create(t, "system/usr/people", "[DEFAULT]\ngrant = guest:ns2\nuxuser = alice\n")
	f.create(t, "system/usr/alice", "[DEFAULT]\ngrant = root\n") // names no account: it is none
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n")
	do(t, f.local(t), api.PatchClusterConfig, api.ConfigChange{Set: []string{"uxgroup#ops.grant=operator:ns1", "uxgroup#wheel.grant=root"}})
	path := f.userSocket(t)

	status, body := ask(t, dial(t, path), "GET", "/api/auth/whoami")
	var who api.UserIdentity
	if err := json.Unmarshal([]byte(body), &who); err != nil || status != http.StatusOK {
		t.Fatal(status, body, err)
	}
	if who.Name != "alice" || who.Auth != auth.MethodAccount || who.RawGrant != "operator:ns1 guest:ns2" {
		t.Errorf("%+v", who)
	}
	for target, want := range map[string]int{
		"/api/object/path/ns1/svc/web1": http.StatusOK, "/api/cluster/config": http.StatusForbidden,
	} {
		if status, body := ask(t, dial(t, path), "GET", target); status != want {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	if status, body := ask(t, dial(t, path), "POST", "/api/auth/token"); status != http.StatusForbidden {
		t.Errorf("a token: %d %s", status, body)
	}
	for name, mode := range map[string]os.FileMode{path: 0o660, filepath.Dir(path): 0o750} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

// The attack of the issue: the socket is within reach of somebody it is not for,
// through a mount or otherwise. The kernel says who connects.
func TestTheUserSocketWithinReachOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to connect as another user")
	}
	const nobody, alice = 65534, 1000
	f := changedFixture(t, localAccounts(accounts{alice: {Login: "alice", Groups: []string{"ops"}}, nobody: {Login: "nobody"}, 0: {Login: "root"}}))
	do(t, f.local(t), api.PatchClusterConfig, api.ConfigChange{Set: []string{"uxgroup#ops.grant=operator:ns1"}})
	path := f.userSocket(t)
	for name := path; name != os.TempDir() && len(name) > 1; name = filepath.Dir(name) {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for uid, want := range map[int]string{alice: `"raw_grant":"operator:ns1"`, nobody: `"raw_grant":""`, 0: `"raw_grant":""`} {
		conn := dialAs(t, path, uid)
		status, body := ask(t, conn, "GET", "/api/auth/whoami")
		_ = conn.Close()
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("uid %d: %d %s", uid, status, body)
		}
	}
	conn := dialAs(t, path, 4242)
	defer func() { _ = conn.Close() }()
	if status, body := ask(t, conn, "GET", "/api/auth/whoami"); status != http.StatusUnauthorized {
		t.Errorf("an account nobody answers for: %d %s", status, body)
	}
}

func TestTheDirectoryOfTheUserSocketIsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(dir, "ux")); err != nil {
		t.Fatal(err)
	}
	if l, err := httpd.ListenUserSocket(filepath.Join(dir, "ux", "http.sock"), os.Getegid()); err == nil {
		_ = l.Close()
		t.Error("the directory behind a link is opened to the group")
	}
}
