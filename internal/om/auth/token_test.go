package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const issuer = "2f6a0f3c-0a9e-4a3c-9c59-0d1f4f9a3c11"

func now() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newTokens(t *testing.T, key *ecdsa.PrivateKey) *auth.Tokens {
	t.Helper()
	tokens, err := auth.NewTokens(key, issuer)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestATokenSaysWhatItWasIssuedFor(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	grants := rbac.Grants{{Role: rbac.Admin, Namespaces: "ns1"}, {Role: rbac.Guest}}

	token, expires, err := tokens.Issue("usr1", grants, 0, now())
	if err != nil {
		t.Fatal(err)
	}
	if want := now().Add(auth.DefaultLife); !expires.Equal(want) {
		t.Errorf("expires at %s, want %s", expires, want)
	}
	got, err := tokens.Verify(token.Reveal(), now().Add(9*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	want := auth.Principal{Name: "usr1", Namespace: "system", Method: auth.MethodToken, Grants: grants, Expires: expires.Add(5 * time.Second)} // what clocks may differ
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Caller().Socket {
		t.Error("a token must not count as the root socket")
	}
}

func TestARefreshTokenRenewsAndNothingElse(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	session := auth.Session{Subject: "usr1", User: true, Roles: []string{"guest"}, Scope: "ns1", Stamp: "0123"}

	token, expires, err := tokens.IssueRefresh(session, 0, now())
	if err != nil {
		t.Fatal(err)
	}
	if want := now().Add(auth.DefaultRefreshLife); !expires.Equal(want) {
		t.Errorf("expires at %s, want %s", expires, want)
	}
	got, err := tokens.VerifyRefresh(token.Reveal(), now())
	if err != nil {
		t.Fatal(err)
	}
	want := auth.Principal{Name: "usr1", Namespace: "system", Method: auth.MethodRefresh, Session: &session}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, need := range rbac.Needs() {
		if allowed := got.Caller().Allows(need, "ns1"); allowed != (need == rbac.Public || need == rbac.NeedRefresh) {
			t.Errorf("%s: allowed %t", need, allowed)
		}
	}
	if p, err := tokens.Verify(token.Reveal(), now()); err == nil {
		t.Errorf("it calls operations as %+v", p)
	}
	access, _, err := tokens.Issue("usr1", rbac.Grants{{Role: rbac.Root}}, 0, now())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := tokens.VerifyRefresh(access.Reveal(), now()); err == nil {
		t.Errorf("an access token renews as %+v", p)
	}
	for _, life := range []time.Duration{-time.Hour, time.Millisecond, auth.MaxRefreshLife + time.Second} {
		if _, _, err := tokens.IssueRefresh(session, life, now()); err == nil {
			t.Errorf("a refresh token of %s was made", life)
		}
	}
}

func TestASessionOfRootKeepsTheGrantsItWasGiven(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	session := auth.Session{Subject: "ci", Grants: rbac.Grants{{Role: rbac.Guest, Namespaces: "ns1"}}}

	token, _, err := tokens.IssueRefresh(session, 0, now())
	if err != nil {
		t.Fatal(err)
	}
	got, err := tokens.VerifyRefresh(token.Reveal(), now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&session, got.Session); diff != "" {
		t.Error(diff)
	}
}

func TestAProxyTokenIsNeitherTheSocketNorAPassword(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	for _, method := range []string{auth.MethodSocket, auth.MethodBasic, auth.MethodToken, auth.MethodNode} {
		token, err := tokens.IssueProxy(auth.Principal{Name: "root", Method: method, Grants: rbac.Grants{{Role: rbac.Root}}}, now())
		if err != nil {
			t.Fatal(err)
		}
		got, err := tokens.Verify(token.Reveal(), now())
		if err != nil {
			t.Fatal(err)
		}
		if got.Method != method || !got.Proxied || got.Caller().Socket || got.Caller().Password || !got.Caller().Allows(rbac.NeedRoot, "") {
			t.Errorf("%s: %+v", method, got)
		}
		if p, err := tokens.VerifyRefresh(token.Reveal(), now()); err == nil {
			t.Errorf("a proxy token renews as %+v", p)
		}
	}
	if _, err := tokens.IssueProxy(auth.Principal{}, now()); err == nil {
		t.Error("a token for nobody")
	}
}

func TestTheLifeOfATokenIsBounded(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	for _, life := range []time.Duration{-time.Hour, time.Millisecond, auth.MaxLife + time.Second} {
		if _, _, err := tokens.Issue("usr1", nil, life, now()); err == nil {
			t.Errorf("a token of %s was made", life)
		}
	}
}

// A forger knows everything but the private key.
func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	tokens := newTokens(t, key)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]any{
		"iss": issuer, "sub": "usr1", "token_use": "access", "grant": []string{"root"},
		"iat": now().Unix(), "nbf": now().Unix(), "exp": now().Add(time.Minute).Unix(),
	}
	with := func(name string, value any) map[string]any {
		c := maps.Clone(good)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	if _, err := tokens.Verify(sign(t, jose.ES256, key, good), now()); err != nil {
		t.Fatalf("the specimen the forgeries start from is refused: %v", err)
	}
	for name, token := range map[string]string{
		"no signature":                      unsigned(t, good),
		"the public key as a shared secret": sign(t, jose.HS256, der, good),
		"another key":                       sign(t, jose.ES256, newKey(t), good),
		"another issuer":                    sign(t, jose.ES256, key, with("iss", "another-cluster")),
		"no issuer":                         sign(t, jose.ES256, key, with("iss", nil)),
		"expired":                           sign(t, jose.ES256, key, with("exp", now().Add(-time.Minute).Unix())),
		"no expiry":                         sign(t, jose.ES256, key, with("exp", nil)),
		"not valid yet":                     sign(t, jose.ES256, key, with("nbf", now().Add(time.Minute).Unix())),
		"a refresh token":                   sign(t, jose.ES256, key, with("token_use", "refresh")),
		"no use":                            sign(t, jose.ES256, key, with("token_use", nil)),
		"no subject":                        sign(t, jose.ES256, key, with("sub", nil)),
		"an unknown role":                   sign(t, jose.ES256, key, with("grant", []string{"emperor"})),
		"the claims of another token":       spliced(t, key, good, with("sub", "usr2")),
		"empty":                             "",
		"not a token":                       "a.b.c",
		"very long":                         strings.Repeat("a", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p, err := tokens.Verify(token, now()); err == nil {
				t.Errorf("accepted as %+v", p)
			}
		})
	}
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(payload) + "."
}

func spliced(t *testing.T, key *ecdsa.PrivateKey, signed, carried map[string]any) string {
	t.Helper()
	a, b := strings.Split(sign(t, jose.ES256, key, signed), "."), strings.Split(sign(t, jose.ES256, key, carried), ".")
	return a[0] + "." + b[1] + "." + a[2]
}

func TestOnlyRootAndTheOwnerAreRecognisedOnTheRootSocket(t *testing.T) {
	t.Parallel()
	const owner = 1000
	for _, c := range []struct {
		uid   int
		known bool
	}{{0, true}, {owner, true}, {1001, false}, {65534, false}} {
		p, err := auth.FromPeer(socket.Peer{Pid: 1, UID: c.uid}, owner)
		if (err == nil) != c.known {
			t.Errorf("uid %d: %v", c.uid, err)
		}
		if p.Caller().Allows(rbac.NeedRoot, "") != c.known {
			t.Errorf("uid %d has root rights: %t", c.uid, !c.known)
		}
	}
}

func TestATokenSaysWhetherItFollowsAUser(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newKey(t))
	grants := rbac.Grants{{Role: rbac.Guest, Namespaces: "ns1"}}
	of := func(issue func(string, rbac.Grants, time.Duration, time.Time) (secret.String, time.Time, error)) auth.Principal {
		token, _, err := issue("usr1", grants, time.Hour, now())
		if err != nil {
			t.Fatal(err)
		}
		p, err := tokens.Verify(token.Reveal(), now())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	given, user := of(tokens.Issue), of(func(name string, grants rbac.Grants, life time.Duration, now time.Time) (secret.String, time.Time, error) {
		return tokens.IssueUser(name, "0e745444", grants, life, now)
	})
	if given.User || !user.User || given.UserID != "" || user.UserID != "0e745444" {
		t.Errorf("%+v, %+v", given, user)
	}
	if early := now().Add(time.Hour); user.Expires.Before(early) || user.Expires.After(early.Add(10*time.Second)) {
		t.Errorf("it expires at %s", user.Expires)
	}
	proxy, err := tokens.IssueProxy(user, now())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := tokens.Verify(proxy.Reveal(), now()); err != nil || !p.User || p.UserID != user.UserID || !p.Expires.Equal(user.Expires) {
		t.Errorf("passed on: %+v, %v", p, err)
	}
}
