package openid_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/openid"
)

func TestTheTokenThatEntitlesIsTheOneToShow(t *testing.T) {
	t.Parallel()
	entitled := token(t, claims(map[string]any{"entitlements": []string{"guest"}}))
	plain := token(t, claims(nil))
	other := token(t, claims(map[string]any{"aud": "account", "entitlements": []string{"guest"}}))
	for name, c := range map[string]struct{ id, access, want string }{
		"of the identity":             {entitled, plain, entitled},
		"of the access":               {plain, entitled, entitled},
		"both":                        {entitled, token(t, claims(map[string]any{"entitlements": "root"})), entitled},
		"none":                        {plain, "opaque", plain},
		"for another client":          {plain, other, plain},
		"for another client only":     {"", other, ""},
		"without an end":              {token(t, map[string]any{"sub": "alice", "aud": "om3"}), "", ""},
		"without a subject":           {token(t, map[string]any{"exp": end, "aud": "om3"}), "", ""},
		"one audience":                {token(t, claims(map[string]any{"aud": "om3"})), "", token(t, claims(map[string]any{"aud": "om3"}))},
		"an audience of what is none": {token(t, claims(map[string]any{"aud": 1})), "", ""},
		"an end nobody lives to see":  {token(t, claims(map[string]any{"exp": 1e300})), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := openid.Choose("om3", c.id, c.access); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// What a provider sends is anything: it is read or refused, and an end can be kept
// in a file.
func FuzzTokens(f *testing.F) {
	f.Add("", "a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIiwiYXVkIjoib20zIiwiZXhwIjoxfQ.c2ln", ".e30.")
	f.Add("x.eyJhdWQiOjF9.y", "x.bnVsbA.y")
	f.Fuzz(func(t *testing.T, id, access string) {
		got, err := openid.Choose("om3", id, access)
		if (err == nil) != (got != "") || got != "" && got != id && got != access {
			t.Errorf("%q, %v", got, err)
		}
		if at, err := openid.End(got); err == nil {
			if _, err := json.Marshal(at); err != nil || at.Before(time.Unix(0, 0)) {
				t.Errorf("%v, %v", at, err)
			}
		}
	})
}
