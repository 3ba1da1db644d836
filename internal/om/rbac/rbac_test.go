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
		"admin":    {rbac.Public, rbac.Known, rbac.AnyRole, rbac.NeedGuest, rbac.NeedOperator, rbac.NeedAdmin, rbac.NeedWriter},
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
		{"join", "ns1", false, append(known, rbac.AnyRole, rbac.NeedJoin)},
		{"leave", "ns1", false, append(known, rbac.AnyRole, rbac.NeedLeave)},
		{"squatter", "ns1", false, append(known, rbac.NeedWriter, rbac.NeedSquatter)},
		{"prioritizer blacklistadmin", "ns1", false, known},
		{"heartbeat", "ns1", false, append(known, rbac.NeedHeartbeat)},
		{"", "ns1", false, known},
		{"root", "ns1", false, without(all, rbac.ThroughSocket, rbac.NeedCredential, rbac.NeedRefresh)},
		{"root", "ns1", true, without(all, rbac.NeedRefresh)},
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

// Some objects are more than the namespace they are filed under.
func TestWhatANeedIsOnAnObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		need            rbac.Need
		kind, namespace string
		want            rbac.Need
	}{
		{rbac.NeedWriter, "svc", "ns1", rbac.NeedAdmin},
		{rbac.NeedWriter, "usr", "ns1", rbac.NeedAdmin},
		{rbac.NeedWriter, "usr", "system", rbac.NeedRoot},
		{rbac.NeedWriter, "sec", "system", rbac.NeedRoot},
		{rbac.NeedWriter, "cfg", "system", rbac.NeedAdmin},
		{rbac.NeedWriter, "nscfg", "ns1", rbac.NeedSquatter},
		{rbac.NeedWriter, "ccfg", "root", rbac.NeedRoot},
		{rbac.NeedAdmin, "nscfg", "ns1", rbac.NeedSquatter},
		{rbac.NeedAdmin, "usr", "system", rbac.NeedRoot},
		{rbac.NeedAdmin, "", "ns1", rbac.NeedAdmin},
		{rbac.NeedGuest, "usr", "system", rbac.NeedGuest},
		{rbac.NeedRoot, "svc", "ns1", rbac.NeedRoot},
	} {
		if got := c.need.On(c.kind, c.namespace); got != c.want {
			t.Errorf("%s on %s/%s: %s, want %s", c.need, c.namespace, c.kind, got, c.want)
		}
	}
}

func TestGrantsAreLimitedToARole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grants string
		role   rbac.Role
		want   string
	}{
		{"admin:ns1 guest:ns2", rbac.Guest, "guest:ns1 guest:ns2"},
		{"admin:ns1 guest:ns2", rbac.Admin, "admin:ns1"},
		{"guest", rbac.Admin, ""},
		{"root", rbac.Squatter, "squatter"},
		{"root", rbac.Operator, "operator"},
		{"squatter admin", rbac.Squatter, "squatter"},
		{"admin", rbac.Join, ""},
	} {
		grants, err := rbac.Parse(c.grants)
		if err != nil {
			t.Fatal(err)
		}
		if got := grants.As(c.role).String(); got != c.want {
			t.Errorf("%s as %s: %q, want %q", c.grants, c.role, got, c.want)
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
