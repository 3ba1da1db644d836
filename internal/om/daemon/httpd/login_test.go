package httpd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// cheap is a hash of "hunter2" that costs next to nothing to compare.
const cheap = "$argon2id$v=19$m=8,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$X2GowFcIBjqaOkT9YxifAWkwSk5c0dvtvKHLkcfTBJQ"

// user makes usr1, whose password is hunter2.
func (f *fixture) user(t *testing.T, grants string) {
	t.Helper()
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = "+grants+"\n")
	f.password(t, "hunter2")
}

func basic(name, plain string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+plain))
}

func whoami(t *testing.T, a answer) api.UserIdentity {
	t.Helper()
	var who api.UserIdentity
	if a.Status != http.StatusOK {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), &who); err != nil {
		t.Fatal(err)
	}
	return who
}

func TestAPasswordIsExchangedForTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "admin:ns1 guest:ns2")

	who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", basic("usr1", "hunter2"), nil))
	want := api.UserIdentity{
		Name: "usr1", Namespace: "system", Auth: auth.MethodBasic, RawGrant: "admin:ns1 guest:ns2",
		Grant: map[string][]string{"admin": {"ns1"}, "guest": {"ns2"}},
	}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Error(diff)
	}

	tokens := f.tokensOf(t, "/api/auth/token?access_duration=5m&refresh_duration=1h", basic("usr1", "hunter2"))
	if left := time.Until(tokens.AccessExpiredAt); left > 5*time.Minute || left < time.Minute {
		t.Errorf("the token lives %s", left)
	}
	if left := time.Until(tokens.RefreshExpiredAt); left > time.Hour || left < 50*time.Minute {
		t.Errorf("the refresh token lives %s", left)
	}
	if who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", "Bearer "+tokens.AccessToken, nil)); who.RawGrant != want.RawGrant || who.Auth != auth.MethodToken {
		t.Errorf("the token is %+v", who)
	}
	if alone := f.tokensOf(t, "/api/auth/token?refresh=false", basic("usr1", "hunter2")); alone.RefreshToken != "" || !alone.RefreshExpiredAt.IsZero() {
		t.Errorf("a refresh token nobody asked: %+v", alone)
	}
	if got := f.plain(t, "POST", "/api/auth/token?subject=usr2", basic("usr1", "hunter2"), nil); got.Status != http.StatusForbidden {
		t.Errorf("a token for another user: %d %s", got.Status, got.Body)
	}
	if got := f.plain(t, "POST", "/api/auth/token", "Bearer "+tokens.AccessToken, nil); got.Status != http.StatusForbidden || !strings.Contains(got.Body, "not allowed to create token") {
		t.Errorf("a token makes a token: %d %s", got.Status, got.Body)
	}
}

func (f *fixture) tokensOf(t *testing.T, target, authorization string) api.AuthToken {
	t.Helper()
	got := f.plain(t, "POST", target, authorization, nil)
	if got.Status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", target, got.Status, got.Body)
	}
	var tokens api.AuthToken
	if err := json.Unmarshal([]byte(got.Body), &tokens); err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestARefreshTokenFollowsItsUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "admin:ns1")
	session := "Bearer " + f.tokensOf(t, "/api/auth/token?role=guest&role=admin&scope=ns1", basic("usr1", "hunter2")).RefreshToken
	renewed := func(target string) string {
		t.Helper()
		return whoami(t, f.plain(t, "GET", "/api/auth/whoami", "Bearer "+f.tokensOf(t, target, session).AccessToken, nil)).RawGrant
	}

	if got := renewed("/api/auth/refresh"); got != "admin:ns1" {
		t.Errorf("renewed as %q", got)
	}
	if got := renewed("/api/auth/refresh?role=guest"); got != "guest:ns1" {
		t.Errorf("limited to guest: %q", got)
	}
	for _, target := range []string{"/api/auth/whoami", "/api/object", "/api/nope"} {
		if got := f.plain(t, "GET", target, session, nil); got.Status != http.StatusUnauthorized {
			t.Errorf("%s with a refresh token: %d", target, got.Status)
		}
	}
	usr1 := api.ObjectName{Namespace: "system", Kind: "usr", Name: "usr1"}
	set := func(op string) {
		t.Helper()
		do(t, f.local(t), api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: usr1, ConfigChange: api.ConfigChange{Set: []string{op}}})
	}
	set("grant=root guest:ns2")
	if got := renewed("/api/auth/refresh"); got != "admin:ns1" {
		t.Errorf("of a user made root, scoped to ns1: %q", got)
	}
	set("grant=guest:ns1")
	if got := renewed("/api/auth/refresh"); got != "guest:ns1" {
		t.Errorf("of a user who lost a grant: %q", got)
	}
	if got := f.plain(t, "POST", "/api/auth/refresh", "Bearer "+f.token(t, "root"), nil); got.Status != http.StatusUnauthorized {
		t.Errorf("an access token renews: %d %s", got.Status, got.Body)
	}

	f.password(t, "hunter3")
	if got := f.plain(t, "POST", "/api/auth/refresh", session, nil); got.Status != http.StatusUnauthorized {
		t.Errorf("after another password: %d %s", got.Status, got.Body)
	}
}

func (f *fixture) password(t *testing.T, plain string) {
	t.Helper()
	if err := datastore.New(f.store).Set(t.Context(), auth.UserPath("usr1"), "password", []byte(plain)); err != nil {
		t.Fatal(err)
	}
}

func TestAScopeIsTheNameOfANamespace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "admin:n?")
	session := "Bearer " + f.tokensOf(t, "/api/auth/token", basic("usr1", "hunter2")).RefreshToken
	for _, scope := range []string{"n*", "[", "n1 n2", "n1/"} {
		query := "?scope=" + url.QueryEscape(scope)
		for target, as := range map[string]string{"/api/auth/token": basic("usr1", "hunter2"), "/api/auth/refresh": session} {
			got := f.plain(t, "POST", target+query, as, nil)
			if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, "query.scope") {
				t.Errorf("%s%s: %d %s", target, query, got.Status, got.Body)
			}
		}
	}
}

func TestASessionRootMadeKeepsItsGrants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tokens := do(t, f.local(t), api.PostAuthToken, api.TokenQuery{Subject: "ci", Role: []string{"operator"}, Scope: "ns1", Refresh: true})

	remote := newClient(t, client.Options{Server: f.address, CA: f.ca, Token: secret.New(tokens.RefreshToken)})
	fresh := do(t, remote, api.PostAuthRefresh, api.RefreshQuery{})

	who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", "Bearer "+fresh.AccessToken, nil))
	if who.Name != "ci" || who.RawGrant != "operator:ns1" {
		t.Errorf("%+v", who)
	}
}

func TestANodeIsRecognisedByTheSecretOfTheCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	shared, err := f.store.ClusterSecret()
	if err != nil {
		t.Fatal(err)
	}
	if who := whoami(t, f.plain(t, "GET", "/api/auth/whoami", basic(node1, shared.Reveal()), nil)); who.RawGrant != "root" || who.Auth != auth.MethodNode {
		t.Errorf("%+v", who)
	}
	for _, name := range []string{"node2", "root", ""} {
		if got := f.plain(t, "GET", "/api/auth/whoami", basic(name, shared.Reveal()), nil); got.Status != http.StatusUnauthorized {
			t.Errorf("%q: %d", name, got.Status)
		}
	}
}

func TestWhatFailedIsNotTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "root")
	f.create(t, "system/usr/usr2", "[DEFAULT]\ngrant = root\n")
	first := f.plain(t, "GET", "/api/object", "", nil)
	for name, authorization := range map[string]string{
		"a wrong password":              basic("usr1", "wrong"),
		"a user who does not exist":     basic("nobody", "hunter2"),
		"a user without password":       basic("usr2", ""),
		"no password":                   basic("usr1", ""),
		"a name that is no name":        basic("../../etc/passwd", "x"),
		"basic that is no base64":       "Basic ***",
		"basic without a colon":         "Basic " + base64.StdEncoding.EncodeToString([]byte("usr1")),
		"another scheme":                "Digest username=usr1",
		"a password as a token":         "Bearer hunter2",
		"a token of too many bytes":     "Bearer " + strings.Repeat("a", 20<<10),
		"a hash in place of a password": basic("usr1", cheap),
	} {
		got := f.plain(t, "GET", "/api/object", authorization, nil)
		got.Header.Del("Date")
		first.Header.Del("Date")
		if got.Status != first.Status || got.Body != first.Body || cmp.Diff(first.Header, got.Header) != "" {
			t.Errorf("%s: %d %s %v", name, got.Status, got.Body, got.Header)
		}
	}
}

func TestWhoGuessesIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user(t, "root")
	var last answer
	for range 100 { // the wait doubles: no machine is so slow that it never meets it
		last = f.plain(t, "GET", "/api/object", basic("usr1", "wrong"), nil)
		if last.Status != http.StatusUnauthorized {
			break
		}
	}
	after, err := strconv.Atoi(last.Header.Get("Retry-After"))
	if last.Status != http.StatusTooManyRequests || err != nil || after < 1 {
		t.Errorf("%d %s, Retry-After %q", last.Status, last.Body, last.Header.Get("Retry-After"))
	}
	if got := f.plain(t, "GET", "/api/auth/whoami", "Bearer "+f.token(t, "guest"), nil); got.Status != http.StatusOK {
		t.Errorf("a token of the same address: %d", got.Status)
	}
}

// certificate makes a client certificate, signed by the authority of a cluster.
func (f *fixture) certificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	data := datastore.New(f.store)
	read := func(key string) []byte {
		text, err := data.Decode(setup.Authority(), key)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		return block.Bytes
	}
	authority, err := x509.ParseCertificate(read("certificate"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := x509.ParsePKCS8PrivateKey(read("private_key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(42), Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, authority, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// with asks who a certificate is of.
func (f *fixture) with(t *testing.T, certificate tls.Certificate, authorization string) answer {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS13,
		// Whatever authorities the server asks for.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+f.address+"/api/auth/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: string(data)}
}

func TestACertificateOfTheAuthorityIsItsUser(t *testing.T) {
	t.Parallel()
	f, other := newFixture(t), newFixture(t)
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = operator:ns1\n")

	who := whoami(t, f.with(t, f.certificate(t, "usr1"), ""))
	if who.Auth != auth.MethodCertificate || who.Name != "usr1" || who.RawGrant != "operator:ns1" {
		t.Errorf("%+v", who)
	}
	for name, got := range map[string]answer{
		"a certificate of another cluster":      f.with(t, other.certificate(t, "usr1"), ""),
		"a user who does not exist":             f.with(t, f.certificate(t, "usr2"), ""),
		"no name":                               f.with(t, f.certificate(t, ""), ""),
		"a good certificate with a wrong token": f.with(t, f.certificate(t, "usr1"), "Bearer x"),
	} {
		if got.Status != http.StatusUnauthorized || !strings.Contains(got.Body, "authentication required") {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestTheClusterSaysWhichAuthoritiesSignUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "system/usr/usr1", "[DEFAULT]\ngrant = guest\n")
	f.create(t, "system/sec/empty", "[DEFAULT]\n")
	certificate := f.certificate(t, "usr1")
	for ca, status := range map[string]int{
		"system/sec/empty": http.StatusUnauthorized, "system/sec/nope": http.StatusUnauthorized, "system/sec/empty system/sec/ca": http.StatusOK,
	} {
		do(t, f.local(t), api.PatchClusterConfig, api.ConfigChange{Set: []string{"cluster.ca=" + ca}})
		if got := f.with(t, certificate, ""); got.Status != status {
			t.Errorf("cluster.ca = %s: %d %s", ca, got.Status, got.Body)
		}
	}
}

func TestTheWaysToLogInAreTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if diff := cmp.Diff([]string{"basic", "x509"}, do(t, f.nobody(t), api.GetAuthInfo, api.None{}).Methods); diff != "" {
		t.Error(diff)
	}
}

// write changes the configuration of an object as the bearer of a token.
func (f *fixture) write(t *testing.T, grants, path string, ops ...string) answer {
	t.Helper()
	var query []string
	for _, op := range ops {
		query = append(query, "set="+strings.NewReplacer("%", "%25", "#", "%23", " ", "%20", "+", "%2B", "{", "%7B", "}", "%7D").Replace(op))
	}
	return f.plain(t, "PATCH", fmt.Sprintf("/api/object/path/%s/config?%s", path, strings.Join(query, "&")), "Bearer "+f.token(t, grants), nil)
}
