package httpd_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// everywhere is a node whose every instance has files made of keys.
type everywhere struct{ httpd.Informer }

func (everywhere) Installs(object.Path, object.Path, string) ([]string, error) {
	return []string{"fs#1"}, nil
}

func TestAnInstallTellsOfTheInstancesTheCallerMayRead(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, t.TempDir(), func(f *fixture) {
		f.change = func(o *httpd.Options) { o.Instances = everywhere{o.Instances} }
	})
	for _, name := range []string{"ns1/svc/web", "ns2/svc/hidden"} {
		f.create(t, name, app)
	}
	from := f.create(t, "ns1/cfg/app", "[DEFAULT]\nshare = ns2\n")
	in := api.KeyInstall{InstanceName: api.InstanceOf(node1, from)}

	told := do(t, f.remote(t, "admin:ns1"), api.PostInstanceActionKeyInstall, in)
	if len(told.Items) != 1 || told.Items[0].Meta.Object != "ns1/svc/web" {
		t.Errorf("told of %+v", told.Items)
	}
	if len(f.deeds.jobs) != 2 {
		t.Errorf("installed: %+v", f.deeds.jobs)
	}
	if told := do(t, f.remote(t, "root"), api.PostInstanceActionKeyInstall, in); len(told.Items) != 2 {
		t.Errorf("root is told of %+v", told.Items)
	}
}
