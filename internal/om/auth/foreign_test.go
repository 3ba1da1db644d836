package auth_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// The node that is asked to join trusts the authority the token names, and nothing else.
func TestATokenThatLetsANodeJoinNamesTheAuthority(t *testing.T) {
	t.Parallel()
	ca := []byte("-----BEGIN CERTIFICATE-----\n")
	tokens := newTokens(t, newKey(t)).Naming(ca)
	for grants, want := range map[string][]byte{"join": ca, "join leave": ca, "root": nil, "guest": nil, "leave": nil} {
		given, err := rbac.Parse(grants)
		if err != nil {
			t.Fatal(err)
		}
		token, expires, err := tokens.Issue("node2", given, time.Hour, now())
		if err != nil {
			t.Fatal(err)
		}
		got, err := auth.ReadForeign(token.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		want := auth.Foreign{Cluster: issuer, Subject: "node2", Grants: given, Expires: expires, Authority: want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", grants, diff)
		}
		if _, err := tokens.Verify(token.Reveal(), now()); err != nil {
			t.Errorf("%s: %v", grants, err)
		}
	}
}

func TestWhatIsNoTokenIsNotRepeated(t *testing.T) {
	t.Parallel()
	refresh, _, err := newTokens(t, newKey(t)).IssueRefresh(auth.Session{Subject: "usr1"}, 0, now())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "s3cret", "a.b.c", refresh.Reveal(), strings.Repeat("x", auth.MaxToken+1)} {
		_, err := auth.ReadForeign(text)
		if err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// A token of another cluster comes from whoever has it: reading it never fails badly.
func FuzzReadForeign(f *testing.F) {
	tokens := fuzzTokens(f).Naming([]byte("ca"))
	good, _, err := tokens.Issue("usr1", rbac.Grants{{Role: rbac.Join}}, 0, now())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Reveal())
	f.Add("")
	f.Add("eyJhbGciOiJFUzI1NiJ9.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		got, err := auth.ReadForeign(token)
		if err == nil && got.Expires.IsZero() && bytes.Contains(got.Authority, []byte("\x00")) {
			t.Errorf("%q: %+v", token, got)
		}
	})
}
