package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestTheListsOfRevokedCertificatesAreThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	paths := host.Paths{Root: t.TempDir()}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cluster, standard := filepath.Join(paths.Etc(), "cluster.conf"), filepath.Join(paths.Var(), "certs/ca_crl")
	named := func(want ...string) {
		t.Helper()
		configs := store.New(host.Host{Paths: paths, Hostname: "node1"}, nil)
		got, err := revocationLists(paths, configs)()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	named()
	put(cluster, "[cluster]\ncrl = http://crl.mycorp\n")
	named("http://crl.mycorp")
	put(standard, "")
	named("http://crl.mycorp", standard)
	put(cluster, "[listener]\ncrl = /nowhere\n")
	named("/nowhere")
}
