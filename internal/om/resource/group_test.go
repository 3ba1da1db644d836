package resource_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func TestTheResourceOfAControlGroup(t *testing.T) {
	t.Parallel()
	const (
		app  = "/opensvc.slice/opensvc-ns.ns1.slice/opensvc-ns.ns1-svc.app.slice"
		side = app + "/opensvc-ns.ns1-svc.app-container.side.slice"
		root = "/opensvc.slice/opensvc-svc.app.slice/opensvc-svc.app-container.1.slice"
	)
	for group, want := range map[string]string{
		"/":                              "",
		"/user.slice/user-1000.slice":    "",
		"/system.slice/docker.service/x": "",
		side:                             "ns1/svc/app container#side",
		side + "/libpod-0123.scope":      "ns1/svc/app container#side",
		side + "/a/b/opensvc.slice/opensvc-svc.root.slice/opensvc-svc.root-container.1.slice": "ns1/svc/app container#side", // made inside
		root: "app container#1",
		"/opensvc.slice/opensvc-svc.a-b.c.slice/opensvc-svc.a-b.c-subset.x-y.slice/opensvc-svc.a-b.c-subset.x-y-app.1.2.slice": "a-b.c app#1.2",
		"/opensvc.slice/opensvc-vol.v.slice/opensvc-vol.v-fs.1.slice/x":                                                        "vol/v fs#1",

		"":                    "out of sight",
		"app":                 "out of sight",
		"/../other":           "out of sight",
		"/..":                 "out of sight",
		"/a/../opensvc.slice": "out of sight",
		side + "/..":          "out of sight",
		side + "/../../x":     "out of sight",
		side + "/":            "out of sight",
		"/" + side:            "out of sight",
		strings.ReplaceAll(side, "/opensvc-ns", "/./opensvc-ns"): "out of sight",
		side + " (deleted)":    "is gone",
		"/x (deleted)":         "is gone",
		"/docker/abc" + side:   "in another place",
		"/x/opensvc-a-b.slice": "in another place",
		"/opensvc.slice":       "of no object",
		"/opensvc.slice/x":     "of no object",
		"/opensvc.slice/opensvc-root.0a1b2c3d.slice/opensvc-root.0a1b2c3d-svc.a.slice/opensvc-root.0a1b2c3d-svc.a-container.1.slice": "of no object",
		"/opensvc.slice/opensvc-ns.root.slice/opensvc-ns.root-svc.app.slice/opensvc-ns.root-svc.app-container.1.slice":               "of no resource",
		"/opensvc.slice/opensvc-sec.app.slice/opensvc-sec.app-container.1.slice":                                                     "of no object",
		"/opensvc.slice/opensvc-svc.APP.slice/opensvc-svc.APP-container.1.slice":                                                     "of no object",
		app: "of no resource",
		app + "/opensvc-ns.ns1-svc.app-subset.s.slice":      "of no resource",
		app + "/opensvc-ns.ns1-svc.other-container.1.slice": "of no resource",
		app + "/opensvc-ns.ns1-svc.app-container.slice":     "of no resource",
		app + "/opensvc-ns.ns1-svc.app-what.1.slice":        "of no resource",
		app + "/opensvc-ns.ns1-svc.app-container.1":         "of no resource",

		// Where names nest at each dash: what is below one object is another one.
		"/opensvc.slice/opensvc-svc.a.slice/opensvc-svc.a-subset.s.slice/opensvc-svc.a-subset.s-container.1.slice/docker-0123.scope": "more than one",
		side + "/opensvc-ns.ns1-svc.app-container.side-x.slice/opensvc-ns.ns1-svc.app-container.side-x-container.1.slice":            "more than one",
	} {
		m, err := resource.MemberOf("", group)
		switch {
		case err != nil && (want == "" || !strings.Contains(err.Error(), want) || !m.IsZero()):
			t.Errorf("%s: %v, want %q", group, err, want)
		case err == nil && m.IsZero() && want != "", err == nil && !m.IsZero() && m.String() != want:
			t.Errorf("%s is of %q, want %q", group, m, want)
		}
	}
}

func TestAnAgentKnowsItsOwnControlGroupsOnly(t *testing.T) {
	t.Parallel()
	p := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "app"}
	mine := resource.GroupOf("/srv/a", p, "", "container#1")
	if m, err := resource.MemberOf("/srv/a", mine); err != nil || m.Path != p || m.RID != "container#1" {
		t.Error(m, err)
	}
	for root, group := range map[string]string{"/srv/b": mine, "": mine, "/srv/a": resource.GroupOf("", p, "", "container#1")} {
		if m, err := resource.MemberOf(root, group); err == nil {
			t.Errorf("the agent of %q takes %s for its %s", root, group, m)
		}
	}
}

// member draws a resource, with the names that look most like others.
func member() *rapid.Generator[resource.Member] {
	return rapid.Custom(func(t *rapid.T) resource.Member {
		name := rapid.StringMatching(`[a-c]([a-c.-]|-container\.1|-subset\.s|-svc\.a){0,3}[a-c1]`).Filter(func(s string) bool {
			return object.Path{Namespace: "root", Kind: object.KindSvc, Name: s}.Validate() == nil
		})
		return resource.Member{
			Path: object.Path{
				Namespace: rapid.SampledFrom([]string{"root", "a", "a-b", "svc"}).Draw(t, "namespace"),
				Kind:      rapid.SampledFrom([]object.Kind{object.KindSvc, object.KindVol}).Draw(t, "kind"), Name: name.Draw(t, "name"),
			},
			Subset: rapid.SampledFrom([]string{"", "s", "container.1", "a-container.1"}).Draw(t, "subset"),
			RID:    rapid.SampledFrom([]string{"container", "app", "task"}).Draw(t, "group") + "#" + rapid.SampledFrom([]string{"1", "a.b", "1-container.2"}).Draw(t, "index"),
		}
	})
}

// inverse is the law of the control groups: what is in the group of a resource, at
// whatever depth, is of that resource and of no other.
func inverse(memberOf func(group string) (resource.Member, error)) func(*rapid.T) {
	return func(t *rapid.T) {
		m := member().Draw(t, "member")
		below := rapid.SampledFrom([]string{"", "/x", "/opensvc.slice/opensvc-svc.a.slice/opensvc-svc.a-container.1.slice", "/opensvc-svc.a-container.1.slice"}).Draw(t, "below")
		group := resource.GroupOf("", m.Path, m.Subset, m.RID) + below
		if got, err := memberOf(group); err != nil || got != m {
			t.Fatalf("%s is of %+v, %v, want %+v", group, got, err, m)
		}
	}
}

func TestAControlGroupIsOfTheResourceItWasMadeFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, inverse(func(group string) (resource.Member, error) { return resource.MemberOf("", group) }))
}

// The law has teeth: a resolution by the innermost name breaks it.
func TestAResolutionByTheInnermostNameBreaksTheLaw(t *testing.T) {
	t.Parallel()
	broken := false
	innermost := func(group string) (resource.Member, error) {
		if i := strings.LastIndex(group, "/opensvc.slice"); i >= 0 {
			group = group[i:]
		}
		return resource.MemberOf("", group)
	}
	law := inverse(func(group string) (resource.Member, error) {
		m, err := innermost(group)
		if right, _ := resource.MemberOf("", group); right != m {
			broken = true
			return right, nil
		}
		return m, err
	})
	rapid.Check(t, law)
	if !broken {
		t.Error("no group tells the innermost name from the outermost")
	}
}

func FuzzMemberOf(f *testing.F) {
	p := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "app"}
	f.Add("", resource.GroupOf("", p, "s", "container#1")+"/x")
	f.Add("/srv/a", resource.GroupOf("/srv/a", p, "", "container#1"))
	f.Add("", "/../opensvc.slice")
	f.Fuzz(func(t *testing.T, root, group string) {
		m, err := resource.MemberOf(root, group)
		if err != nil || m.IsZero() {
			return
		}
		own := resource.GroupOf(root, m.Path, m.Subset, m.RID)
		if group != own && !strings.HasPrefix(group, own+"/") || path.Clean(group) != group {
			t.Errorf("%q is not in %q", group, own)
		}
	})
}
