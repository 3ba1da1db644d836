package move_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

func say(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

// refuses moves, and expects that nothing is touched on either side.
func refuses(t *testing.T, source, target *server, parts ...string) {
	t.Helper()
	l := watch(source, target)
	version := source.version
	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, parts...)
	if _, ok := errors.AsType[*move.RefusalError](err); !ok {
		t.Errorf("%T is no refusal", err)
	}
	if err := l.untouched(); err != nil {
		t.Error(err)
	}
	if source.version != version {
		t.Error("the source was written to")
	}
	_, err = move.Preflight(context.Background(), source, target, ns)
	say(t, err, parts...)
}

func TestStory1AMoveThatFailsAfterThePauseLeavesTheSourceAsItWas(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	target.admit = func(verb string, _, now *unstructured.Unstructured) error {
		if verb == "create" && now.GetKind() == "DevMachine" {
			return errors.New("admission webhook denied: not today")
		}
		return nil
	}
	l := watch(source, target)

	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, "copy the objects to the target cluster", "DevMachine fleet/mgmt-", "not today", "the source cluster is as it was")
	if err := l.untouched(); err != nil {
		t.Error(err)
	}

	target.admit = nil
	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Fatalf("the rerun: %v", err)
	}
	if err := l.moved(); err != nil {
		t.Error(err)
	}
}

func TestStory1AFeatureTheTargetLacksIsRefused(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	target.admit = func(_ string, _, now *unstructured.Unstructured) error {
		if now.GetKind() == "Cluster" {
			return errors.New("spec.topology: Forbidden: can be set only if the ClusterTopology feature flag is enabled")
		}
		return nil
	}
	refuses(t, source, target, "the target cluster does not take Cluster fleet/mgmt", "ClusterTopology feature flag")
}

// liar answers that it has made an object of a kind, and has not.
type liar struct {
	next  http.RoundTripper
	about string
}

func (l liar) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, l.about) || r.URL.Query().Has("dryRun") {
		return l.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

func TestStory2AnObjectThatDidNotArriveIsAFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"secrets", "kubeadmconfigtemplates"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			l := watch(source, target)
			lying := through{target, func(next http.RoundTripper) http.RoundTripper { return liar{next, kind} }}

			_, err := move.Move(context.Background(), options(source, lying))
			if err == nil {
				t.Fatal("the move succeeded")
			}
			if err := l.untouched(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStory2NoClusterToMoveIsAFailure(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	for _, id := range source.ids() {
		if strings.HasPrefix(id, clusters) {
			delete(source.objects, id)
		}
	}
	refuses(t, source, target, "no Cluster is found in namespace fleet")
}

func TestStory3AClusterItsOperatorPausedIsStillPausedAfter(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"spec", "annotation"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			plant(source, "quiet")
			source.change(clusters+"quiet", func(u *unstructured.Unstructured) {
				if how == "spec" {
					_ = unstructured.SetNestedField(u.Object, true, "spec", "paused")
				} else {
					u.SetAnnotations(map[string]string{"cluster.x-k8s.io/paused": ""})
				}
			})
			l := watch(source, target)

			result, err := move.Move(context.Background(), options(source, target))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.moved("quiet"); err != nil {
				t.Error(err)
			}
			if fmt.Sprint(result.Operator) != "[Cluster fleet/quiet]" {
				t.Errorf("stays paused: %v", result.Operator)
			}
			left, err := move.Paused(context.Background(), target, ns)
			if err != nil || len(left) > 0 {
				t.Errorf("paused by a move: %v, %v", left, err)
			}
			if err := move.Unpause(context.Background(), target, ns); err != nil || l.moved("quiet") != nil {
				t.Errorf("unpausing once more: %v, %v", err, l.moved("quiet"))
			}
		})
	}
}

// rested sets what the controller of a machine says of its pause.
func rested(status string) func(u *unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"type": "Paused", "status": status, "observedGeneration": u.GetGeneration()}}, "status", "conditions")
	}
}

func TestStory4NothingIsCopiedBeforeASlowControllerRests(t *testing.T) {
	t.Parallel()
	const machine = "cluster.x-k8s.io/machines/" + ns + "/mgmt-a"
	source, target := pair(t)
	source.change(machine, rested("False"))
	l := watch(source, target)
	var slow atomic.Bool
	slow.Store(true)
	arrived := target.wrote
	target.wrote = func(verb string, old, now *unstructured.Unstructured) {
		if slow.Load() && now.GetKind() != "ConfigMap" {
			l.fault("%s is copied while a controller works", called(now))
		}
		arrived(verb, old, now)
	}
	o := options(source, target)
	o.Say = func(format string, a ...any) {
		if text := fmt.Sprintf(format, a...); strings.HasPrefix(text, "Pausing") {
			go func() {
				for range 20 {
					source.change(machine, func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"working": "hard"}) })
				}
				slow.Store(false)
				source.change(machine, rested("True"))
			}()
		}
	}
	if _, err := move.Move(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if len(l.broken) > 0 {
		t.Error(l.broken[0])
	}
}

func TestStory4AControllerThatNeverRestsFailsTheMove(t *testing.T) {
	t.Parallel()
	for what, busy := range map[string]struct {
		edit func(*unstructured.Unstructured)
		says string
	}{
		"not paused": {rested("False"), "Machine fleet/mgmt-a is not paused yet"},
		"asks to wait": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{"clusterctl.cluster.x-k8s.io/block-move": ""})
		}, "Machine fleet/mgmt-a asks moves to wait"},
		"older state": {func(u *unstructured.Unstructured) { rested("True")(u); u.SetGeneration(u.GetGeneration() + 1) }, "Machine fleet/mgmt-a is paused in an older state"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			source.change("cluster.x-k8s.io/machines/"+ns+"/mgmt-a", busy.edit)
			l := watch(source, target)
			o := options(source, target)
			o.IdleBudget = 2 * time.Second // it does not come to rest

			_, err := move.Move(context.Background(), o)
			say(t, err, "did not come to rest", busy.says, "the source cluster is as it was")
			if err := l.untouched(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStory4ControllersThatWereStoppedAreAtRest(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	source.types = append(source.types, &served{"apps", "v1", "deployments", "Deployment", true})
	controller := object("apps/v1", "Deployment", "capd-system", "manager", "spec.replicas", int64(0), "status.replicas", int64(1))
	controller.SetLabels(map[string]string{"cluster.x-k8s.io/provider": "infrastructure-docker"})
	source.put(controller)
	source.change("cluster.x-k8s.io/machines/"+ns+"/mgmt-a", rested("False"))
	l := watch(source, target)
	o := options(source, target)
	o.IdleBudget = 2 * time.Second // it does not come to rest
	_, err := move.Move(context.Background(), o)
	say(t, err, "Machine fleet/mgmt-a is not paused yet", "scale the Deployments of the providers to 0")

	source.change("apps/deployments/capd-system/manager", func(u *unstructured.Unstructured) { delete(u.Object, "status") })
	delete(l.before, "apps/deployments/capd-system/manager")
	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Fatal(err)
	}
	if err := l.moved(); err != nil {
		t.Error(err)
	}
}

func TestStory4AChangeWhileCopyingFailsTheMove(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	l := watch(source, target)
	once, arrived := false, target.wrote
	target.wrote = func(verb string, old, now *unstructured.Unstructured) {
		arrived(verb, old, now)
		if now.GetKind() == "Machine" && !once {
			once = true
			id := "cluster.x-k8s.io/machines/" + ns + "/mgmt-b"
			u := source.objects[id].DeepCopy()
			_ = unstructured.SetNestedField(u.Object, "v2", "spec", "version")
			source.objects[id] = u
		}
	}
	_, err := move.Move(context.Background(), options(source, target))
	say(t, err, "verify that the target cluster has everything", "Machine fleet/mgmt-b changed in the source cluster")
	for id := range l.before {
		if source.at(id) == nil {
			t.Errorf("%s is gone", id)
		}
	}
	if paused(source.at(clusters + "mgmt")) {
		t.Error("the source is paused")
	}
}

func TestStory5AKindWithoutTheLabelIsRefused(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ group, kind, plural string }{
		{"cluster.x-k8s.io", "Cluster", "clusters"},
		{"cluster.x-k8s.io", "Machine", "machines"},
		{"cluster.x-k8s.io", "MachineDeployment", "machinedeployments"},
		{"controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "kubeadmcontrolplanes"},
		{"infrastructure.cluster.x-k8s.io", "DevMachine", "devmachines"},
		{"infrastructure.cluster.x-k8s.io", "DevMachineTemplate", "devmachinetemplates"},
		{"bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "kubeadmconfigtemplates"},
	} {
		t.Run(x.kind, func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			source.put(crd(x.group, x.kind, x.plural, "bare"))
			if x.kind == "Cluster" {
				refuses(t, source, target, "its CRD lacks the label clusterctl.cluster.x-k8s.io")
				return
			}
			refuses(t, source, target, "CRD "+x.plural+"."+x.group+" of the source cluster lacks the label clusterctl.cluster.x-k8s.io")
		})
		t.Run(x.kind+" at the target", func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			target.put(crd(x.group, x.kind, x.plural, "bare"))
			refuses(t, source, target, "CRD "+x.plural+"."+x.group+" of the target cluster lacks the label clusterctl.cluster.x-k8s.io")
		})
	}
}

func TestStory6AnOlderProviderIsRefused(t *testing.T) {
	t.Parallel()
	source, target := pair(t)
	provider := func(version string) *unstructured.Unstructured {
		return object("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider", "capd-system", "docker", "providerName", "docker", "type", "InfrastructureProvider", "version", version)
	}
	target.put(provider("v1.13.9"))
	refuses(t, source, target, "InfrastructureProvider docker is older in the target cluster (v1.13.9) than in the source cluster (v1.14.2)")

	target.put(provider("v1.15.0"))
	if _, err := move.Move(context.Background(), options(source, target)); err != nil {
		t.Errorf("with a newer one: %v", err)
	}
}

func TestWhatStandsAgainstAMoveIsFoundBefore(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		what string
		do   func(source, target *server)
		says string
	}{
		{"a provider is not installed", func(source, _ *server) {
			source.put(object("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider", "capa-system", "aws", "providerName", "aws", "type", "InfrastructureProvider", "version", "v2.13.0"))
		}, "InfrastructureProvider aws v2.13.0 of the source cluster is not installed in the target cluster"},
		{"the contract is another", func(_, target *server) {
			target.put(crd("cluster.x-k8s.io", "Cluster", "clusters", "v1beta1"))
		}, "CRD clusters.cluster.x-k8s.io of the target cluster stores version v1beta1"},
		{"a kind is missing", func(_, target *server) {
			delete(target.objects, "apiextensions.k8s.io/customresourcedefinitions//devmachines.infrastructure.cluster.x-k8s.io")
		}, "the target cluster has no CRD devmachines.infrastructure.cluster.x-k8s.io"},
		{"a version is not served", func(_, target *server) {
			target.put(crd("infrastructure.cluster.x-k8s.io", "DevMachine", "devmachines", "v1beta1"))
		}, "CRD devmachines.infrastructure.cluster.x-k8s.io of the target cluster serves v1beta1, and the source cluster stores v1beta2"},
		{"a Machine has no node", func(source, _ *server) {
			source.change("cluster.x-k8s.io/machines/"+ns+"/mgmt-a", func(u *unstructured.Unstructured) { delete(u.Object, "status") })
		}, "fleet/mgmt: 2 of 3 machines have a node, not yet mgmt-a"},
		{"the infrastructure is not there", func(source, _ *server) {
			source.change(clusters+"mgmt", func(u *unstructured.Unstructured) { delete(u.Object, "status") })
		}, "fleet/mgmt: the infrastructure is being provisioned"},
		{"an owner does not move", func(source, _ *server) {
			source.change("infrastructure.cluster.x-k8s.io/devmachines/"+ns+"/mgmt-a", func(u *unstructured.Unstructured) {
				u.SetOwnerReferences(append(u.GetOwnerReferences(), owned(object("v1", "Node", "", "x"), object("v1", "Node", "", "gone", "metadata.uid", "nowhere")).GetOwnerReferences()...))
			})
		}, "DevMachine fleet/mgmt-a would be lost: it is owned by Node gone, which is not moved"},
		{"nothing owns what is named", func(source, _ *server) {
			source.change("infrastructure.cluster.x-k8s.io/devmachines/"+ns+"/mgmt-a", func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
		}, "DevMachine fleet/mgmt-a would stay behind: Machine fleet/mgmt-a names it"},
		{"somebody has such a Cluster", func(_, target *server) {
			target.put(object(core, "Cluster", ns, "mgmt"))
		}, "the target cluster has Cluster fleet/mgmt already, and this move did not bring it there"},
	} {
		t.Run(x.what, func(t *testing.T) {
			t.Parallel()
			source, target := pair(t)
			x.do(source, target)
			refuses(t, source, target, x.says)
		})
	}
}
