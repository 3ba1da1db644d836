package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// Nothing but what the key signed is a token.
func FuzzVerify(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	tokens, err := auth.NewTokens(key, issuer)
	if err != nil {
		f.Fatal(err)
	}
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
	})
}
