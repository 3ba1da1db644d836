package auth_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// openid is a provider reached at one address that says it is another.
type openid struct {
	*httptest.Server

	key   *ecdsa.PrivateKey
	asked atomic.Int32 // for its keys
	found atomic.Int32 // asked about itself
	down  atomic.Bool
}

const advertised = "https://login.example.com"

func newOpenID(t *testing.T) *openid {
	t.Helper()
	o := &openid{key: newKey(t)}
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, v any) {
		if o.down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /realm/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		o.found.Add(1)
		write(w, map[string]any{"issuer": advertised, "jwks_uri": o.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		o.asked.Add(1)
		write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: o.key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *openid) settings() auth.OpenIDSettings {
	return auth.OpenIDSettings{Issuer: o.URL + "/realm/", ClientID: "om3"}
}

func (o *openid) claims() map[string]any {
	return map[string]any{
		"iss": advertised, "aud": []string{"other", "om3"}, "sub": "alice", "exp": time.Now().Add(time.Minute).Unix(),
		"entitlements": []string{"admin:ns1", "wiki-editor", "guest"},
	}
}

func (o *openid) sign(t *testing.T, key any, alg jose.SignatureAlgorithm, kid string, claims map[string]any) string {
	t.Helper()
	return sign(t, alg, jose.JSONWebKey{Key: key, KeyID: kid}, claims)
}

func TestATokenOfTheProviderIsItsUser(t *testing.T) {
	t.Parallel()
	o := newOpenID(t)
	users := auth.NewOpenID(o.settings)

	got, err := users.Verify(t.Context(), o.sign(t, o.key, jose.ES256, "k1", o.claims()), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got.Expires.Before(time.Now()) {
		t.Errorf("it expires at %s", got.Expires)
	}
	want := auth.Principal{
		Name: "alice", Namespace: "system", Method: auth.MethodOpenID, Expires: got.Expires,
		Grants: rbac.Grants{{Role: rbac.Admin, Namespaces: "ns1"}, {Role: rbac.Guest}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	spaced := o.claims()
	spaced["entitlements"] = "operator:ns2 guest"
	if got, err := users.Verify(t.Context(), o.sign(t, o.key, jose.ES256, "k1", spaced), time.Now()); err != nil || got.Grants.String() != "operator:ns2 guest" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestForgedTokensOfTheProviderAreRefused(t *testing.T) {
	t.Parallel()
	o := newOpenID(t)
	users := auth.NewOpenID(o.settings)
	public, err := x509.MarshalPKIXPublicKey(o.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) map[string]any {
		c := maps.Clone(o.claims())
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	good := o.claims()
	for name, token := range map[string]string{
		"no signature":                      unsigned(t, good),
		"the public key as a shared secret": o.sign(t, public, jose.HS256, "k1", good),
		"another key of that name":          o.sign(t, newKey(t), jose.ES256, "k1", good),
		"a key that is not named":           o.sign(t, o.key, jose.ES256, "", good),
		"a key nobody knows":                o.sign(t, o.key, jose.ES256, "k2", good),
		"the address of the provider":       o.sign(t, o.key, jose.ES256, "k1", with("iss", o.URL+"/realm/")),
		"another issuer":                    o.sign(t, o.key, jose.ES256, "k1", with("iss", "https://evil.example.com")),
		"another audience":                  o.sign(t, o.key, jose.ES256, "k1", with("aud", "other")),
		"no audience":                       o.sign(t, o.key, jose.ES256, "k1", with("aud", nil)),
		"expired":                           o.sign(t, o.key, jose.ES256, "k1", with("exp", time.Now().Add(-time.Minute).Unix())),
		"no expiry":                         o.sign(t, o.key, jose.ES256, "k1", with("exp", nil)),
		"no subject":                        o.sign(t, o.key, jose.ES256, "k1", with("sub", nil)),
		"entitlements of another shape":     o.sign(t, o.key, jose.ES256, "k1", with("entitlements", map[string]any{"a": 1})),
		"empty":                             "",
		"very long":                         strings.Repeat("a", 1<<20),
	} {
		if p, err := users.Verify(t.Context(), token, time.Now()); err == nil {
			t.Errorf("%s: accepted as %+v", name, p)
		}
	}
	if n := o.asked.Load(); n > 2 {
		t.Errorf("the provider was asked %d times for its keys", n)
	}
	grant := with("entitlements", nil)
	grant["grant"] = []string{"root"}
	if got, err := users.Verify(t.Context(), o.sign(t, o.key, jose.ES256, "k1", grant), time.Now()); err != nil || len(got.Grants) > 0 {
		t.Errorf("the claim of the tokens of the cluster counts: %+v, %v", got, err)
	}
}

func TestAProviderThatIsDownIsNotAskedAtEachRequest(t *testing.T) {
	t.Parallel()
	o := newOpenID(t)
	o.down.Store(true)
	users := auth.NewOpenID(o.settings)
	token := o.sign(t, o.key, jose.ES256, "k1", o.claims())
	start := time.Now()
	for range 100 {
		if _, err := users.Verify(t.Context(), token, start); err == nil {
			t.Fatal("accepted")
		}
	}
	if n := o.found.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestAProviderIsReachedInPrivate(t *testing.T) {
	t.Parallel()
	o := newOpenID(t)
	for _, issuer := range []string{"http://login.example.com", "ftp://localhost", "login.example.com", "http://192.0.2.1/x"} {
		users := auth.NewOpenID(func() auth.OpenIDSettings { return auth.OpenIDSettings{Issuer: issuer, ClientID: "om3"} })
		if _, err := users.Verify(t.Context(), o.sign(t, o.key, jose.ES256, "k1", o.claims()), time.Now()); err == nil || !strings.Contains(err.Error(), "https") {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	none := auth.NewOpenID(func() auth.OpenIDSettings { return auth.OpenIDSettings{} })
	if _, err := none.Verify(t.Context(), o.sign(t, o.key, jose.ES256, "k1", o.claims()), time.Now()); err == nil {
		t.Error("accepted without a provider")
	}
}
