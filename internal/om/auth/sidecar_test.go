package auth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// residents is a node with a few resources, as a member says them.
type residents struct{ none bool }

func (residents) Resident(m resource.Member) (bool, rbac.Grants, error) {
	switch m.String() {
	case "app container#root":
		return true, rbac.Grants{{Role: rbac.Root}}, nil
	case "ns1/svc/app container#side":
		return true, rbac.Grants{{Role: rbac.Operator, Namespaces: "ns1"}}, nil
	case "app container#plain":
		return true, nil, nil
	case "app app#1":
		return false, nil, nil
	}
	return false, nil, errors.New("no such resource")
}

func (r residents) HasContainers() (bool, error) { return !r.none, nil }

func groupOf(namespace, rid string) string {
	return resource.GroupOf("", object.Path{Namespace: namespace, Kind: object.KindSvc, Name: "app"}, "", rid)
}

func TestAProcessOfAContainerHasWhatItsContainerIsGiven(t *testing.T) {
	t.Parallel()
	accounts := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{}}
	side, root, plain := groupOf("ns1", "container#side")+"/libpod-1", groupOf("root", "container#root")+"/libpod-2", groupOf("root", "container#plain")+"/libpod-3"
	for name, c := range map[string]struct {
		caller       auth.Caller
		name, grants string // empty: refused
	}{
		"a sidecar":                           {auth.Caller{UID: 0, Groups: []string{side}}, "ns1/svc/app/container#side", "operator:ns1"},
		"whatever its number":                 {auth.Caller{UID: 1000, Groups: []string{side}}, "ns1/svc/app/container#side", "operator:ns1"},
		"one that is root":                    {auth.Caller{UID: 4242, Groups: []string{root}}, "app/container#root", "root"},
		"in every hierarchy that groups":      {auth.Caller{Groups: []string{"/", side}}, "ns1/svc/app/container#side", "operator:ns1"},
		"a group made inside":                 {auth.Caller{Groups: []string{plain + groupOf("root", "container#root")}}, "", ""},
		"root of a container that has none":   {auth.Caller{UID: 0, Groups: []string{plain}}, "", ""},
		"alice of a container that has none":  {auth.Caller{UID: 1000, Groups: []string{plain}}, "", ""},
		"moved in one hierarchy":              {auth.Caller{UID: 1000, Groups: []string{"/user.slice", root}}, "", ""},
		"of two resources":                    {auth.Caller{Groups: []string{plain, root}}, "", ""},
		"of a resource that is gone":          {auth.Caller{UID: 1000, Groups: []string{groupOf("root", "container#gone")}}, "", ""},
		"of a filesystem":                     {auth.Caller{UID: 1000, Groups: []string{groupOf("root", "fs#1")}}, "", ""},
		"of an object, and no resource of it": {auth.Caller{UID: 1000, Groups: []string{strings.TrimSuffix(groupOf("root", "fs#1"), "/opensvc-svc.app-fs.1.slice")}}, "", ""},
		"of a group that is gone":             {auth.Caller{UID: 1000, Groups: []string{root + " (deleted)"}}, "", ""},
		"in another view of the groups":       {auth.Caller{UID: 1000, Groups: []string{"/.."}}, "", ""},
		"of nothing that is known":            {auth.Caller{UID: 1000}, "", ""},
		"an app":                              {auth.Caller{UID: 1000, Groups: []string{groupOf("root", "app#1")}}, "alice", "operator:ns1 admin:ns2"},
		"a shell":                             {auth.Caller{UID: 1000, Groups: []string{"/", "/user.slice/user-1000.slice"}}, "alice", "operator:ns1 admin:ns2"},
		"an old kernel":                       {auth.Caller{UID: 1000, Unseen: true}, "", ""},
	} {
		p, err := accounts.Verify(t.Context(), c.caller, now())
		if (err == nil) != (c.name != "") || p.Name != c.name || p.Grants.String() != c.grants {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if err == nil && (p.Caller().Socket || p.Caller().Password || (p.Method == auth.MethodSidecar) == (p.Name == "alice")) {
			t.Errorf("%s is taken for %+v", name, p)
		}
	}
}

func TestWithoutAKernelThatTellsOnlyANodeWithoutContainersKnowsItsAccounts(t *testing.T) {
	t.Parallel()
	alice := auth.Caller{UID: 1000, Unseen: true}
	bare := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{none: true}}
	if p, err := bare.Verify(t.Context(), alice, now()); err != nil || p.Name != "alice" {
		t.Error(p, err)
	}
	full := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{}}
	if p, err := full.Verify(t.Context(), alice, now()); err == nil || !strings.Contains(err.Error(), "Linux 6.5 is needed") {
		t.Error(p, err)
	}
}

// law: whoever has a group of a container has its grants or none, never those of an
// account, and never those of another container.
func law(verify func(auth.Caller) (auth.Principal, error)) func(*rapid.T) {
	return func(t *rapid.T) {
		containers := map[string]string{
			groupOf("root", "container#root"): "root", groupOf("ns1", "container#side"): "operator:ns1", groupOf("root", "container#plain"): "",
		}
		own := rapid.SampledFrom([]string{groupOf("root", "container#root"), groupOf("ns1", "container#side"), groupOf("root", "container#plain")}).Draw(t, "own")
		below := rapid.SampledFrom([]string{"", "/x", "/x" + groupOf("root", "container#root"), " (deleted)", "/..", "/../opensvc-svc.app-container.root.slice"})
		groups := []string{own + below.Draw(t, "below")}
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			groups = append(groups, rapid.SampledFrom([]string{"/", "/user.slice", groupOf("root", "app#1"), groupOf("root", "container#root"), "/.."}).Draw(t, "group"))
		}
		p, err := verify(auth.Caller{UID: rapid.SampledFrom([]int{0, 1000, 1001}).Draw(t, "uid"), Groups: groups})
		if err == nil && (p.Method != auth.MethodSidecar || p.Grants.String() != containers[own] || containers[own] == "") {
			t.Fatalf("%q is %+v", groups, p)
		}
	}
}

func TestNoGroupOfAContainerIsWorthMoreThanTheContainer(t *testing.T) {
	t.Parallel()
	accounts := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{}}
	rapid.Check(t, law(func(c auth.Caller) (auth.Principal, error) { return accounts.Verify(t.Context(), c, now()) }))
}

// The mutants look at one hierarchy, or at the last resource that is named: both
// are found out by a caller the right answer refuses.
func TestLookingAtLessIsFoundOut(t *testing.T) {
	t.Parallel()
	accounts := &auth.Accounts{Grantor: given{}, Names: auth.NewNames(&nss{}), Residents: residents{}}
	for name, mutate := range map[string]func(groups []string) []string{
		"the first hierarchy alone": func(groups []string) []string { return groups[:1] },
		"the last hierarchy alone":  func(groups []string) []string { return groups[len(groups)-1:] },
		"the groups of agents alone": func(groups []string) []string {
			return slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return !strings.HasPrefix(g, "/opensvc.slice/") })
		},
	} {
		found := false
		for _, groups := range [][]string{
			{groupOf("root", "container#root"), "/user.slice"},
			{"/user.slice", groupOf("root", "container#root")},
			{groupOf("root", "container#plain"), groupOf("root", "container#root")},
		} {
			_, right := accounts.Verify(t.Context(), auth.Caller{UID: 1000, Groups: groups}, now())
			_, wrong := accounts.Verify(t.Context(), auth.Caller{UID: 1000, Groups: mutate(groups)}, now())
			found = found || right != nil && wrong == nil
		}
		if !found {
			t.Errorf("%s does as well", name)
		}
	}
}
