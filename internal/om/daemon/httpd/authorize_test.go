package httpd_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// answer is what a plain HTTP client sees.
type answer struct {
	Status int
	Proto  string
	Header http.Header
	Body   string
}

// plain sends a request to the listener with no help from our own client.
func (f *fixture) plain(t *testing.T, method, target, authorization string, body io.Reader) answer {
	t.Helper()
	return f.request(t, method, target, http.Header{"Authorization": {authorization}}, body)
}

// conditional asks for what is not what the caller holds already.
func (f *fixture) conditional(t *testing.T, target, authorization, tag string) answer {
	t.Helper()
	return f.request(t, http.MethodGet, target, http.Header{"Authorization": {authorization}, "If-None-Match": {tag}}, nil)
}

func (f *fixture) request(t *testing.T, method, target string, header http.Header, body io.Reader) answer {
	t.Helper()
	transport := f.transport()
	defer transport.CloseIdleConnections()
	return f.through(t, transport, method, target, header, body)
}

// transport makes connections to the listener.
func (f *fixture) transport() *http.Transport {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.ca)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}, ForceAttemptHTTP2: true}
}

func (f *fixture) through(t *testing.T, transport *http.Transport, method, target string, header http.Header, body io.Reader) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+f.address+target, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Status: response.StatusCode, Proto: response.Proto, Header: response.Header, Body: string(data)}
}

func (f *fixture) token(t *testing.T, grants string) string {
	t.Helper()
	parsed, err := rbac.Parse(grants)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := f.tokens.Issue("usr1", parsed, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

// The matrix is the table a reviewer reads: one line an operation, one column a
// caller, acting on an object of namespace ns1. It is generated out of the
// declarations, and each cell is tried.
func TestMatrix(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n")
	f.create(t, "ns1/sec/pw1", "[DEFAULT]\n")
	f.create(t, "ns1/nscfg/namespace", "[DEFAULT]\n")
	callers := []string{"", "guest:ns2", "guest:ns1", "operator:ns1", "admin:ns1"}
	for _, role := range rbac.Roles() {
		callers = append(callers, string(role))
	}
	tokens := map[string]string{}
	for _, grants := range callers[1:] {
		tokens[grants] = "Bearer " + f.token(t, grants)
	}

	type row struct {
		api.Description
		kind, name, title string
	}
	var rows []row
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		need := d.Need
		d.Need = need.On("svc", "ns1")
		rows = append(rows, row{d, "svc", "web1", d.ID})
		if d.ID == api.GetObjectConfig.ID || d.ID == api.GetObjectConfigFile.ID || d.ID == api.GetInstanceConfigFile.ID {
			d.Need = rbac.NeedAdmin
			rows = append(rows, row{d, "sec", "pw1", d.ID + " of a sec"})
		}
		if need == rbac.NeedWriter {
			d.Need = need.On("nscfg", "ns1")
			rows = append(rows, row{d, "nscfg", "namespace", d.ID + " of a nscfg"})
		}
	}

	transport := f.transport()
	defer transport.CloseIdleConnections()
	var matrix strings.Builder
	fmt.Fprintf(&matrix, "%-36s %s socket\n", "", strings.Join(append([]string{"nobody"}, callers[1:]...), " "))
	for _, d := range rows {
		fmt.Fprintf(&matrix, "%-36s", d.title)
		for i, grants := range callers {
			known := i > 0
			parsed, err := rbac.Parse(grants)
			if err != nil {
				t.Fatal(err)
			}
			allowed := rbac.Caller{Known: known, Grants: parsed}.Allows(d.Need, "ns1")
			header := http.Header{"Authorization": {tokens[grants]}}
			got := f.through(t, transport, d.Method, target(d.Description, d.kind, d.name), header, strings.NewReader("{}"))
			refusal := http.StatusForbidden
			if !known || d.Need == rbac.NeedRefresh { // an access token is nobody where tokens are renewed
				refusal = http.StatusUnauthorized
			}
			isRefused := got.Status == http.StatusUnauthorized || got.Status == http.StatusForbidden
			if isRefused == allowed || isRefused && got.Status != refusal {
				t.Errorf("%s by %q: allowed %t, status %d: %s", d.title, grants, allowed, got.Status, got.Body)
			}
			fmt.Fprintf(&matrix, " %s", mark(allowed))
		}
		fmt.Fprintf(&matrix, " %s\n", mark(rbac.Caller{Known: true, Socket: true, Grants: rbac.Grants{{Role: rbac.Root}}}.Allows(d.Need, "ns1")))
	}

	golden := filepath.Join("testdata", "matrix.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(matrix.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), matrix.String()); diff != "" {
		t.Error(diff)
	}
}

func mark(allowed bool) string {
	if allowed {
		return "yes"
	}
	return "-"
}

// target is a request line for the operation, on an object of ns1 of this node. A
// wrong parameter makes those that would act or wait end at once.
func target(d api.Description, kind, name string) string {
	p := strings.NewReplacer("{nodename}", "localhost", "{namespace}", "ns1", "{kind}", kind, "{name}", name, "{id}", knownID).Replace(d.Path)
	if d.ID == api.GetDaemonEvents.ID {
		p += "?limit=1&replay=true&duration=1ms"
	}
	if d.ID == api.PostDaemonAudit.ID {
		p += "?sub=nosuch"
	}
	return p
}

func TestAStrangerLearnsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.token(t, "root")
	parts := strings.Split(good, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims) + "."

	first := f.plain(t, "GET", "/api/object", "", nil)
	if first.Status != http.StatusUnauthorized {
		t.Fatalf("status %d", first.Status)
	}
	var problem api.Problem
	if err := json.Unmarshal([]byte(first.Body), &problem); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Problem{Title: "Unauthorized", Detail: "authentication required", Status: 401}, problem); diff != "" {
		t.Error(diff)
	}
	if got := first.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}

	for name, request := range map[string][2]string{
		"a token that is none":           {"/api/object", "Bearer hello"},
		"a token without a signature":    {"/api/object", "Bearer " + none},
		"a token cut short":              {"/api/object", "Bearer " + good[:len(good)-10]},
		"a password":                     {"/api/object", "Basic " + base64.StdEncoding.EncodeToString([]byte("root:root"))},
		"a token under another scheme":   {"/api/object", "Token " + good},
		"an object that does not exist":  {"/api/object/path/root/svc/nope", ""},
		"another node":                   {"/api/node/name/node9/ping", ""},
		"a path that is none":            {"/api/nope", ""},
		"a path that could be shorter":   {"//api/object", ""},
		"another one, that is none":      {"//nope", ""},
		"a path with dots":               {"/api/../api/object", ""},
		"a wrong parameter":              {"/api/object?nope=1", ""},
		"the token of another authority": {"/api/object", "Bearer " + otherToken(t)},
	} {
		got := f.plain(t, "GET", request[0], request[1], nil)
		if got.Status != first.Status || got.Body != first.Body {
			t.Errorf("%s: status %d, %s", name, got.Status, got.Body)
		}
	}
}

func otherToken(t *testing.T) string {
	t.Helper()
	return newFixture(t).token(t, "root")
}

func TestATokenMakesNoToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)

	token := do(t, f.local(t), api.PostAuthToken, api.TokenQuery{Subject: "usr9", Role: []string{"guest", "operator"}, Scope: "ns1", AccessDuration: "5m"})

	if left := time.Until(token.AccessExpiredAt); left > 5*time.Minute || left < time.Minute {
		t.Errorf("the token lives %s", left)
	}
	remote := newClient(t, client.Options{Server: f.address, CA: f.ca, Token: secret.New(token.AccessToken)})
	who := do(t, remote, api.GetAuthWhoAmI, api.None{})
	want := api.UserIdentity{
		Name: "usr9", Namespace: "system", Auth: auth.MethodToken, RawGrant: "operator:ns1",
		Grant: map[string][]string{"operator": {"ns1"}},
	}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Error(diff)
	}
	refused(t, remote, api.PostAuthToken, api.TokenQuery{}, http.StatusForbidden)
	refused(t, f.remote(t, "root"), api.PostAuthToken, api.TokenQuery{}, http.StatusForbidden)
}

func TestATokenForAUserHasTheGrantsOfTheUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = admin:ns1 guest:ns2\n")

	token := do(t, f.local(t), api.PostAuthToken, api.TokenQuery{Subject: "usr1"})

	remote := newClient(t, client.Options{Server: f.address, CA: f.ca, Token: secret.New(token.AccessToken)})
	if got := do(t, remote, api.GetAuthWhoAmI, api.None{}).RawGrant; got != "admin:ns1 guest:ns2" {
		t.Errorf("grants %q", got)
	}
	refused(t, f.local(t), api.PostAuthToken, api.TokenQuery{Subject: "nobody"}, http.StatusNotFound)
	refused(t, f.local(t), api.PostAuthToken, api.TokenQuery{AccessDuration: "30d"}, http.StatusBadRequest)
	refused(t, f.local(t), api.PostAuthToken, api.TokenQuery{AccessDuration: "0s"}, http.StatusBadRequest)
	refused(t, f.local(t), api.PostAuthToken, api.TokenQuery{Role: []string{"emperor"}}, http.StatusBadRequest)
}

func TestTheSchemeHasNoCase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, scheme := range []string{"bearer ", "BEARER ", "Bearer  "} {
		if got := f.plain(t, "GET", "/api/auth/whoami", scheme+f.token(t, "guest"), nil); got.Status != http.StatusOK {
			t.Errorf("%q: status %d", scheme, got.Status)
		}
	}
}

func TestTheKeysOfTheNodesAreForRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.state.SetNodeConfig(node1, cluster.NodeConfig{Env: "PRD", PRKey: "0xsesame", SSHKey: "open-sesame"})
	published := event.NodeConfigUpdated{Node: node1, Config: cluster.NodeConfig{PRKey: "0xsesame", SSHKey: "open-sesame"}}
	for grants, sees := range map[string]bool{"guest": false, "admin": false, "root": true} {
		c := f.remote(t, grants)
		if n := do(t, c, api.GetClusterStatus, api.ClusterStatusQuery{}).Cluster.Node[node1].Config; (n.PRKey+n.SSHKey != "") != sees || n.Env != "PRD" {
			t.Errorf("%s: status %+v", grants, n)
		}
		replayed := f.listen(t, c, api.EventQuery{Replay: true, Limit: 1, Filter: []string{"NodeConfigUpdated"}})
		if e := next(t, replayed); strings.Contains(string(e.Data), "sesame") != sees || !strings.Contains(string(e.Data), "PRD") {
			t.Errorf("%s: replay %s", grants, e.Data)
		}
		live := f.listen(t, c, api.EventQuery{Filter: []string{"NodeConfigUpdated"}})
		f.bus.Publish(published)
		if e := next(t, live); strings.Contains(string(e.Data), "sesame") != sees || !strings.Contains(string(e.Data), `"node":"node1"`) {
			t.Errorf("%s: live %s", grants, e.Data)
		}
	}
}

func TestTheSocketIsForRootAndTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := do(t, f.local(t), api.GetAuthWhoAmI, api.None{}); got.Auth != auth.MethodSocket || got.RawGrant != "root" {
		t.Errorf("the owner is %+v", got)
	}
	for _, name := range []string{f.socket, filepath.Dir(f.socket)} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
}

// The modes of the directories already keep others out: here they do not.
func TestAnotherUserOnTheSocketIsNobody(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to connect as another user")
	}
	f := newFixture(t)
	for name := f.socket; name != os.TempDir() && len(name) > 1; name = filepath.Dir(name) {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}

	conn := dialAs(t, f.socket, 65534)
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /api/object HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(got), "HTTP/1.1 401 ") || !strings.Contains(string(got), "authentication required") {
		t.Errorf("got %s", got)
	}
}

// dialAs connects from a thread that has become another user, and ends with it.
func dialAs(t *testing.T, socket string, uid int) net.Conn {
	t.Helper()
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			done <- result{err: errno}
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
		}
		if err != nil {
			done <- result{err: err}
			return
		}
		file := os.NewFile(uintptr(fd), "socket")
		conn, err := net.FileConn(file)
		_ = file.Close()
		done <- result{conn, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.conn
}

func TestListsOnlyShowWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n")
	f.create(t, "ns2/svc/web2", "[DEFAULT]\n")
	guest := f.remote(t, "guest:ns1")

	if diff := cmp.Diff(api.ObjectPaths{"ns1/svc/web1"}, do(t, guest, api.GetObjectPaths, api.ObjectPathQuery{Path: "**"})); diff != "" {
		t.Error(diff)
	}
	if items := do(t, guest, api.GetObjects, api.ObjectQuery{}).Items; len(items) != 1 || items[0].Meta.Object != "ns1/svc/web1" {
		t.Errorf("objects: %+v", items)
	}
	if items := do(t, guest, api.GetInstances, api.InstanceQuery{}).Items; len(items) != 1 {
		t.Errorf("instances: %+v", items)
	}
	if objects := do(t, guest, api.GetClusterStatus, api.ClusterStatusQuery{}).Cluster.Object; len(objects) != 1 {
		t.Errorf("cluster status: %+v", objects)
	}
	refused(t, guest, api.GetObjectPaths, api.ObjectPathQuery{Path: "ns2/svc/web2"}, http.StatusNotFound)
	refused(t, guest, api.GetObject, api.ObjectName{Namespace: "ns2", Kind: "svc", Name: "web2"}, http.StatusForbidden)
}

func TestTheSecretOfTheClusterIsForRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	name := api.ObjectName{Namespace: "root", Kind: "ccfg", Name: "cluster"}
	admin := f.remote(t, "admin")
	refused(t, admin, api.GetObjectConfigFile, name, http.StatusForbidden)
	refused(t, admin, api.GetObjectConfig, api.ObjectConfigQuery{ObjectName: name}, http.StatusForbidden)
	refused(t, admin, api.GetInstanceConfigFile, api.InstanceName{ObjectName: name}, http.StatusForbidden)
	refused(t, admin, api.GetClusterConfigFile, api.None{}, http.StatusForbidden)
	do(t, f.remote(t, "root"), api.GetObjectConfigFile, name)
}

func TestAnEnvironmentIsForRoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	in := api.InstanceAction{InstanceName: api.InstanceOf("", f.create(t, "svc1", app)), Env: []string{"LD_PRELOAD=/tmp/x.so"}}
	refused(t, f.remote(t, "operator"), api.PostInstanceActionRun, in, http.StatusForbidden)
	do(t, f.remote(t, "root"), api.PostInstanceActionRun, in)
}

func TestEscapedPathsAreNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := "Bearer " + f.token(t, "guest:ns1")
	for _, name := range []string{"..%2f..%2fns2", "%2e%2e", "a%00b", "A", "x%20y", url.PathEscape("ns2/svc/web2")} {
		got := f.plain(t, "GET", "/api/object/path/ns1/svc/"+name+"/config/file", token, nil)
		if got.Status != http.StatusBadRequest && got.Status != http.StatusNotFound {
			t.Errorf("%s: status %d: %s", name, got.Status, got.Body)
		}
	}
}
