package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Nothing but what the key signed is a token, and a token is of one use.
func FuzzVerify(f *testing.F) {
	tokens := fuzzTokens(f)
	good, _, err := tokens.Issue("usr1", rbac.Grants{{Role: rbac.Root}}, 0, now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Reveal())
	f.Add("")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := tokens.Verify(token, now())
		if err == nil && p.Name != "usr1" {
			t.Errorf("%q is a token of %q", token, p.Name)
		}
		if p, err := tokens.VerifyRefresh(token, now()); err == nil {
			t.Errorf("%q renews as %+v", token, p)
		}
	})
}

// Whatever a header says, the claims and the signature of a good token under
// another header are no token.
func FuzzHeader(f *testing.F) {
	tokens := fuzzTokens(f)
	good, _, err := tokens.Issue("usr1", rbac.Grants{{Role: rbac.Root}}, 0, now())
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(good.Reveal(), ".")
	own, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err != nil {
		f.Fatal(err)
	}
	for _, header := range []string{
		string(own), `{"alg":"none"}`, `{"alg":"HS256"}`, `{"alg":"ES256","kid":"../../etc/passwd"}`, `{"alg":"ES256","crit":["exp"],"exp":1}`,
		`{"alg":"ES256","jwk":{"kty":"EC"}}`, `{"alg":"ES256","b64":false,"crit":["b64"]}`, `{"alg":["ES256"]}`, `{"alg":"es256"}`, `[]`, `null`, "",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if header == string(own) {
			return
		}
		token := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "." + parts[2]
		if p, err := tokens.Verify(token, now()); err == nil {
			t.Errorf("header %q: a token of %q", header, p.Name)
		}
	})
}

func fuzzTokens(f *testing.F) *auth.Tokens {
	f.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	tokens, err := auth.NewTokens(key, issuer)
	if err != nil {
		f.Fatal(err)
	}
	return tokens
}
