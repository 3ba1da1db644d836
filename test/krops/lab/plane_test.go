//go:build lab_kube

package lab_test

import (
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

func TestControlPlanesWork(t *testing.T) {
	t.Parallel()
	began := time.Now()
	planes := lab.Planes(t, 2)
	t.Logf("2 control planes after %s", time.Since(began).Round(time.Millisecond))

	ctx := t.Context()
	for _, p := range planes {
		began := time.Now()
		if err := p.Install(ctx, lab.CAPICore, lab.CAPIKubeadm, lab.CAPIDev, lab.Clusterctl, lab.CAPIOperator, lab.CertManager, lab.Flux, lab.FluxOperator); err != nil {
			t.Fatal(err)
		}
		t.Logf("the definitions of all sets after %s", time.Since(began).Round(time.Millisecond))
		objects, err := lab.Objects(`
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: a}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: c, image: none}]}
`)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(ctx, objects...); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		deployed := func() error {
			d, err := p.Get(ctx, lab.Kind("apps", "Deployment"), "a", "d")
			if err == nil && lab.Condition(d, "Available") != "True" {
				err = lab.ErrNotYet
			}
			return err
		}
		if err := lab.Poll(ctx, time.Minute, 50*time.Millisecond, deployed); err != nil {
			t.Fatal(err, p.Logs(10))
		}
		t.Logf("a Deployment is available after %s", time.Since(began).Round(time.Millisecond))
	}
}
