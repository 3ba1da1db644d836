package rbac_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

func TestGrantsReadWhatTheyPrint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		grants := rapid.SliceOf(grant()).Draw(t, "grants")

		got, err := rbac.Parse(rbac.Grants(grants).String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(grants, []rbac.Grant(got)); len(grants) > 0 && diff != "" {
			t.Fatal(diff)
		}
	})
}

func grant() *rapid.Generator[rbac.Grant] {
	return rapid.Custom(func(t *rapid.T) rbac.Grant {
		g := rbac.Grant{Role: rapid.SampledFrom(rbac.Roles()).Draw(t, "role")}
		if slices.Contains([]rbac.Role{rbac.Guest, rbac.Operator, rbac.Admin}, g.Role) {
			g.Namespaces = rapid.SampledFrom([]string{"", "ns1", "prod*", "*", "n?"}).Draw(t, "namespaces")
		}
		return g
	})
}

func TestBadGrantsAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"emperor", "guest:", "guest:[", "root:ns1", "squatter:ns1", ":ns1"} {
		if g, err := rbac.Parse(s); err == nil {
			t.Errorf("%q was read as %v", s, g)
		}
	}
}

// The table of the manual: what each grant opens, need by need.
func TestNeeds(t *testing.T) {
	t.Parallel()
	none, all := []rbac.Need{rbac.Public}, rbac.Needs()
	inNamespace := map[string][]rbac.Need{
		"guest":    {rbac.Public, rbac.Known, rbac.AnyRole, rbac.NeedGuest},
		"operator": {rbac.Public, rbac.Known, rbac.AnyRole, rbac.NeedGuest, rbac.NeedOperator},
		"admin":    {rbac.Public, rbac.Known, rbac.AnyRole, rbac.NeedGuest, rbac.NeedOperator, rbac.NeedAdmin},
	}
	known := []rbac.Need{rbac.Public, rbac.Known}
	for _, c := range []struct {
		caller, namespace string
		socket            bool
		want              []rbac.Need
	}{
		{"guest:ns1", "ns1", false, inNamespace["guest"]},
		{"guest:ns*", "ns1", false, inNamespace["guest"]},
		{"operator:ns1", "ns1", false, inNamespace["operator"]},
		{"admin:ns1", "ns1", false, inNamespace["admin"]},
		{"admin", "ns1", false, inNamespace["admin"]},
		{"guest:ns2", "ns1", false, append(known, rbac.AnyRole)},
		{"admin:prod*", "ns1", false, append(known, rbac.AnyRole)},
		{"admin:ns1", "", false, append(known, rbac.AnyRole)},
		{"join", "ns1", false, append(known, rbac.AnyRole)},
		{"squatter prioritizer blacklistadmin heartbeat", "ns1", false, known},
		{"", "ns1", false, known},
		{"root", "ns1", false, without(all, rbac.ThroughSocket, rbac.NeedCredential)},
		{"root", "ns1", true, all},
	} {
		grants, err := rbac.Parse(c.caller)
		if err != nil {
			t.Fatal(err)
		}
		caller := rbac.Caller{Known: true, Socket: c.socket, Grants: grants}
		if diff := cmp.Diff(c.want, allowed(caller, c.namespace)); diff != "" {
			t.Errorf("%q on %q: %s", c.caller, c.namespace, diff)
		}
		caller.Known = false
		if diff := cmp.Diff(none, allowed(caller, c.namespace)); diff != "" {
			t.Errorf("%q unauthenticated: %s", c.caller, diff)
		}
	}
}

func allowed(c rbac.Caller, namespace string) []rbac.Need {
	var needs []rbac.Need
	for _, n := range rbac.Needs() {
		if c.Allows(n, namespace) {
			needs = append(needs, n)
		}
	}
	return needs
}

func without(needs []rbac.Need, drop ...rbac.Need) []rbac.Need {
	return slices.DeleteFunc(slices.Clone(needs), func(n rbac.Need) bool { return slices.Contains(drop, n) })
}

func TestAnUndeclaredNeedIsRefusedToEverybody(t *testing.T) {
	t.Parallel()
	root := rbac.Caller{Known: true, Socket: true, Grants: rbac.Grants{{Role: rbac.Root}}}
	if root.Allows(rbac.Undeclared, "root") {
		t.Error("root may call an operation without a need")
	}
}
