package httpd_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/policy"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// The rules are about the keywords there are: each of a container is for those who
// write the object, or for root, for a reason.
func TestEachKeywordOfAContainerIsForItsObjectOrForRoot(t *testing.T) {
	t.Parallel()
	want := strings.Fields("devices encap init name privileged run_args sysctl user uxgrant") // of the node, or a right on it
	byValue := strings.Fields("ipcns netns pidns type userns utsns volume_mounts")
	f := newFixture(t)
	for _, typ := range []string{"podman", "docker", "oci"} {
		doc, err := config.Parse([]byte("[container#1]\ntype = " + typ + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		driver, keywords, err := f.store.Schema(path(t, "ns1/svc/web1")).Declarer(doc)("container#1")
		if err != nil {
			t.Fatal(err)
		}
		var got, excepted []string
		for _, k := range keywords {
			rule := policy.For(object.KindSvc, driver, k.Name)
			switch {
			case policy.IsTrigger(k.Name):
				if rule.Needs("ns1", "x") != rbac.Root {
					t.Errorf("%s.%s is no keyword of root", driver, k.Name)
				}
			case rule.Unless != nil:
				excepted = append(excepted, k.Name)
			case !rule.IsOpen():
				got = append(got, k.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(excepted)
		if diff := cmp.Diff(want, got) + cmp.Diff(byValue, excepted); diff != "" {
			t.Errorf("%s: %s", driver, diff)
		}
	}
}

func TestRootAloneGivesAContainerARight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.create(t, "ns1/svc/web1", "[DEFAULT]\n[env]\ngrant = guest:ns1\n[container#1]\ntype = podman\nimage = localhost/a:1\nuxgrant = {env.grant}\n"+
		"[container#2]\ntype = docker\nimage = localhost/a:1\n[container#3]\nimage = localhost/a:1\nvolume_mounts = /run/opensvc-ux:/run/opensvc-ux:ro\n")
	const ok, denied = http.StatusOK, http.StatusForbidden
	for op, want := range map[string]int{
		"container#2.uxgrant=root":                                  denied,
		"container#2.uxgrant=guest:ns1":                             denied, // whatever it gives
		"container#2.uxgrant@node1=root":                            denied,
		"container#2.uxgrant@node9=root":                            denied,
		"container#2.uxgrant@nodes=root":                            denied,
		"container#3.uxgrant=root":                                  denied, // of the default driver
		"container#9.uxgrant=root":                                  denied, // of a section that is not there yet
		"DEFAULT.uxgrant=root":                                      denied,
		"uxgrant=root":                                              denied,
		"env.grant=root":                                            denied, // moves what root wrote
		"env.grant@node9=root":                                      denied,
		"container#2.volume_mounts=/run/opensvc-ux:/run/opensvc-ux": denied,
		"container#2.privileged=true":                               denied,
		"container#2.run_args=--pid host":                           denied,
		"container#2.netns=host":                                    denied,
		"container#2.pre_start=/bin/evil":                           denied,
		"container#2.netns=container#1":                             ok,
		"container#2.netns=none":                                    ok,
		"container#2.image=localhost/a:2":                           ok,
		"container#2.type=podman":                                   ok,
		"env.other=1":                                               ok,
	} {
		got := f.write(t, "admin:ns1", "ns1/svc/web1", op)
		if got.Status != want {
			t.Errorf("%s: status %d, want %d: %s", op, got.Status, want, got.Body)
		}
	}
	for _, op := range []string{"unset=container%231.uxgrant", "delete=container%231"} {
		if got := f.plain(t, "PATCH", "/api/object/path/ns1/svc/web1/config?"+op, "Bearer "+f.token(t, "admin:ns1"), nil); got.Status != denied {
			t.Errorf("%s: status %d: %s", op, got.Status, got.Body)
		}
	}
	if got := f.write(t, "root", "ns1/svc/web1", "container#2.uxgrant=operator:ns1"); got.Status != ok {
		t.Errorf("root: %+v", got)
	}
}
