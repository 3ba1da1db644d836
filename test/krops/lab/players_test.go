//go:build lab_kube

package lab_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

func TestAClusterIsPlayed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := lab.Planes(t, 1, func(o *lab.Options) { o.NoManager = true })[0]
	if err := p.Install(ctx, lab.CAPIOperator); err != nil {
		t.Fatal(err)
	}
	hear := func(who lab.Player, err error) { t.Logf("%T: %v", who, err) }
	players := lab.Play(ctx, hear, &lab.ProviderPlayer{Client: p.Client}, &lab.ClusterPlayer{Client: p.Client, Lead: func(string) ([]byte, error) { return p.Kubeconfig, nil }})
	defer players.Stop()
	objects, err := lab.Objects(lab.Providers("v1.14.2") + lab.Cluster("default", "mgmt"))
	if err != nil {
		t.Fatal(err)
	}

	if err := p.Apply(ctx, objects...); err != nil {
		t.Fatal(err)
	}

	cluster := func(want string) {
		t.Helper()
		began := time.Now()
		ask := func() error {
			o, err := p.Get(ctx, lab.Kind(lab.CAPI, "Cluster"), "default", "mgmt")
			if want == "gone" {
				if err == nil {
					return lab.ErrNotYet
				}
				return nil
			}
			if err == nil && lab.Condition(o, "Available") != "True" {
				err = lab.ErrNotYet
			}
			return err
		}
		if err := lab.Poll(ctx, time.Minute, 50*time.Millisecond, ask); err != nil {
			t.Fatal(err, p.Logs(5))
		}
		t.Logf("%s after %s", want, time.Since(began).Round(time.Millisecond))
	}
	cluster("available")
	if err := p.Delete(ctx, lab.Kind(lab.CAPI, "Cluster"), "default", "mgmt"); err != nil {
		t.Fatal(err)
	}
	cluster("gone")
	machines, err := p.List(ctx, lab.Kind(lab.CAPI, "Machine"), "default")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(0, len(machines)); diff != "" {
		t.Errorf("machines that are left (-want +got):\n%s", diff)
	}
}
