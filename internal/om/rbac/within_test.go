package rbac_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func TestGrantsWithinOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ grants, others, want string }{
		{"admin:ns1", "admin:ns1", "admin:ns1"},
		{"admin:ns1", "guest:ns*", "guest:ns1"},
		{"admin:ns1", "root", "admin:ns1"},
		{"root", "admin:ns1 squatter", "admin:ns1 squatter"},
		{"admin", "operator:a guest", "operator:a guest"},
		{"guest:a*", "admin", "guest:a*"},
		{"guest:a*", "admin:ab", "guest:ab"},
		{"guest:a*", "admin:*b", ""}, // ab is in both, no pattern says so
		{"guest:a*", "guest:a*", "guest:a*"},
		{"squatter join", "join prioritizer", "join"},
		{"admin:ns1 squatter", "admin:ns2", ""},
		{"admin", "", ""},
	} {
		grants, err := rbac.Parse(c.grants)
		if err != nil {
			t.Fatal(err)
		}
		others, err := rbac.Parse(c.others)
		if err != nil {
			t.Fatal(err)
		}
		if got := grants.Within(others).String(); got != c.want {
			t.Errorf("%q within %q is %q, want %q", c.grants, c.others, got, c.want)
		}
	}
}

func grants() *rapid.Generator[[]rbac.Grant] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rbac.Grant {
		g := rbac.Grant{Role: rapid.SampledFrom(rbac.Roles()).Draw(t, "role")}
		if g.Role == rbac.Guest || g.Role == rbac.Operator || g.Role == rbac.Admin {
			g.Namespaces = rapid.SampledFrom([]string{"", "a", "ab", "a*", "*b", "?b", "[ab]b", `\*`, "*"}).Draw(t, "namespaces")
		}
		return g
	}), 0, 4)
}

// never is the law of a limit: nothing is allowed that either of the two refuses,
// and grants within themselves lose nothing.
func never(within func(a, b rbac.Grants) rbac.Grants) func(*rapid.T) {
	return func(t *rapid.T) {
		a, b := rbac.Grants(grants().Draw(t, "a")), rbac.Grants(grants().Draw(t, "b"))
		allows := func(gs rbac.Grants, n rbac.Need, namespace string) bool {
			return rbac.Caller{Known: true, Grants: gs}.Allows(n, namespace)
		}
		for _, n := range rbac.Needs() {
			for _, namespace := range []string{"", "a", "b", "ab", "bb", "*", "abc"} {
				if allows(within(a, b), n, namespace) && (!allows(a, n, namespace) || !allows(b, n, namespace)) {
					t.Fatalf("%q within %q allows %s in %q", a, b, n, namespace)
				}
				if allows(within(a, a), n, namespace) != allows(a, n, namespace) {
					t.Fatalf("%q within itself: %s in %q", a, n, namespace)
				}
			}
		}
	}
}

func TestALimitNeverGives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, never(rbac.Grants.Within))
}

// A mutant that compares roles and forgets namespaces is found out by one pair.
func TestALimitThatForgetsNamespacesGives(t *testing.T) {
	t.Parallel()
	a, b := rbac.Grants{{Role: rbac.Admin}}, rbac.Grants{{Role: rbac.Admin, Namespaces: "a"}}
	mutant := func(a, _ rbac.Grants) rbac.Grants { return a }
	for name, within := range map[string]func(a, b rbac.Grants) rbac.Grants{"right": rbac.Grants.Within, "mutant": mutant} {
		gives := rbac.Caller{Known: true, Grants: within(a, b)}.Allows(rbac.NeedAdmin, "b")
		if gives != (name == "mutant") {
			t.Errorf("%s: admin in b: %t", name, gives)
		}
	}
}
