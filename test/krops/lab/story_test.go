//go:build lab_kube

package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// TestStories tells what happened to people who moved clusters, on one pair of
// control planes: in a namespace each and at once what is about a namespace, one
// after the other what is about all of a control plane.
func TestStories(t *testing.T) {
	t.Parallel()
	source, target := capi(t)
	t.Run("2 a definition that is not there yet is refused", func(t *testing.T) { //nolint:paralleltest // about all of a control plane; it is quickly gone while it has no objects
		newTale(t, source, target, "definition").lacksADefinition()
	})
	t.Run("of a namespace", func(t *testing.T) {
		for i, story := range []struct {
			name string
			tell func(*tale)
		}{
			{"1 a move that fails after the pause leaves the source as it was", (*tale).failsAfterThePause},
			{"1 a topology the target has no feature for is refused", (*tale).lacksTheFeature},
			{"2 a library that sees no Cluster is a failure", (*tale).seesNothing},
			{"2 a secret that did not arrive is a failure", (*tale).losesASecret},
			{"2 a template that did not arrive is a failure", (*tale).losesATemplate},
			{"2 no Cluster to move is a failure", (*tale).hasNoCluster},
			{"3 a Cluster paused by its specification stays so", (*tale).pausedBySpecification},
			{"3 a Cluster paused by an annotation stays so", (*tale).pausedByAnnotation},
			{"4 nothing is copied before a slow controller rests", (*tale).waitsForTheSlow},
			{"4 a controller that never rests fails the move", (*tale).neverRests},
			{"4 a change while it is copied fails the move", (*tale).changesMeanwhile},
		} {
			t.Run(story.name, func(t *testing.T) {
				t.Parallel()
				story.tell(newTale(t, source, target, fmt.Sprintf("story-%d", i)))
			})
		}
	})
	for i, story := range []struct { //nolint:paralleltest // about all of a control plane
		name string
		tell func(*tale)
	}{
		{"4 controllers that were stopped are at rest", (*tale).stopsControllers},
		{"5 a definition without the label is refused", (*tale).lacksTheLabel},
		{"6 an older provider is refused", (*tale).hasAnOlderProvider},
	} {
		t.Run(story.name, func(t *testing.T) {
			story.tell(newTale(t, source, target, fmt.Sprintf("plane-story-%d", i)))
		})
	}
}

// What never rests is asked within it at least once, on the slowest of machines.
const budget = 15 * time.Second

// A tale is a fleet, and what it was before it is moved.
type tale struct {
	*fleet

	before map[string]string
}

func newTale(t *testing.T, source, target *lab.Plane, ns string) *tale {
	t.Helper()
	f := newFleet(t, source, target, ns)
	if err := target.Apply(t.Context(), decoded(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+"}")...); err != nil {
		t.Fatal(err)
	}
	f.plant("mgmt", 1)
	return &tale{f, f.survey(source)}
}

// fails judges a failure: it says what it is, the source has everything as it was,
// and what came to the target rests.
func (s *tale) fails(err error, parts ...string) {
	s.t.Helper()
	if err == nil {
		s.t.Fatalf("the move succeeded, and was to say %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			s.t.Errorf("error %q does not say %q", err, p)
		}
	}
	if diff := cmp.Diff(s.before, s.survey(s.source)); diff != "" {
		s.t.Errorf("the source (-before +after):\n%s", diff)
	}
	list, err := s.target.List(s.t.Context(), lab.Kind(lab.CAPI, "Cluster"), s.ns)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range list {
		if !rests(&list[i]) {
			s.t.Errorf("Cluster %s of the target runs", list[i].GetName())
		}
	}
}

// refuses moves, and expects that nothing is written on either side.
func (s *tale) refuses(parts ...string) {
	s.t.Helper()
	o := s.options()
	var writes atomic.Int64
	o.Wrote = func() { writes.Add(1) }

	_, err := move.Move(s.t.Context(), o)

	s.fails(err, parts...)
	if _, ok := errors.AsType[*move.RefusalError](err); !ok {
		s.t.Errorf("%T is no refusal: %v", err, err)
	}
	if n := writes.Load(); n > 0 {
		s.t.Errorf("it wrote %d times", n)
	}
	if there := s.survey(s.target); len(there) > 0 {
		s.t.Errorf("the target has %v", there)
	}
}

// ends moves, and expects that all goes well.
func (s *tale) ends(o move.Options) move.Result {
	s.t.Helper()
	result, err := move.Move(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.arrived(s.before); err != nil {
		s.t.Error(err)
	}
	return result
}

func (s *tale) patch(p *lab.Plane, gk schema.GroupKind, name string, patch map[string]any, parts ...string) {
	s.t.Helper()
	if err := p.Patch(s.t.Context(), gk, s.ns, name, patch, parts...); err != nil {
		s.t.Fatal(err)
	}
}

func rests(u *unstructured.Unstructured) bool {
	set, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	_, noted := u.GetAnnotations()["cluster.x-k8s.io/paused"]
	return set || noted
}

// once acts when a move says that it begins with something.
func once(word string, act func()) func(string, ...any) {
	var o sync.Once
	return func(format string, _ ...any) {
		if strings.HasPrefix(format, word) {
			o.Do(act)
		}
	}
}

// link is a cluster reached over a line that answers what it likes.
type link struct {
	*kube.Cluster

	send func(r *http.Request, next http.RoundTripper) (*http.Response, error)
}

// Config returns what reaches the cluster.
func (l link) Config() *rest.Config {
	c := l.Cluster.Config()
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) { return l.send(r, next) })
	})
	return c
}

type trip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// creates tells whether a request makes an object of a plural.
func creates(r *http.Request, plural string) bool {
	return r.Method == http.MethodPost && path.Base(r.URL.Path) == plural && !r.URL.Query().Has("dryRun")
}

func invented(r *http.Request, code int, body []byte) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}
}

// denies lets the target take no object for which a rule is false, such as the
// example, in the namespace of the tale. It returns what ends that.
func (s *tale) denies(example map[string]any, plural, rule, message string) (end func()) {
	s.t.Helper()
	u := &unstructured.Unstructured{Object: example}
	group := u.GroupVersionKind().GroupVersion()
	policy := fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [%[2]s], apiVersions: ["*"], operations: [CREATE], resources: [%[3]s]}]
  validations: [{expression: %[4]q, message: %[5]q, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, s.ns, group.Group, plural, rule, message)
	if err := s.target.Apply(s.t.Context(), decoded(s.t, policy)...); err != nil {
		s.t.Fatal(err)
	}
	denied := func(ctx context.Context) (bool, error) {
		_, err := s.target.Dynamic.Resource(group.WithResource(plural)).Namespace(s.ns).Create(ctx, u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), message) {
			return true, nil
		}
		return false, err
	}
	lab.Until(s.t, "the policy", denied)
	return func() {
		s.t.Helper()
		for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
			if err := s.target.Delete(s.t.Context(), lab.Kind("admissionregistration.k8s.io", kind), "", s.ns); err != nil {
				s.t.Fatal(err)
			}
		}
		lab.Until(s.t, "the end of the policy", func(ctx context.Context) (bool, error) { on, err := denied(ctx); return !on, err })
	}
}

func (s *tale) failsAfterThePause() {
	end := s.denies(s.head(lab.Infra+"/v1beta2", "DevMachine", "mgmt", "example", map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}),
		"devmachines", "false", "machines in memory are not enabled")
	o := s.options()
	wasPaused := false
	o.Say = once("Copying", func() {
		c, err := s.source.Get(s.t.Context(), lab.Kind(lab.CAPI, "Cluster"), s.ns, "mgmt")
		wasPaused = err == nil && rests(c)
	})

	_, err := move.Move(s.t.Context(), o)

	s.fails(err, "copy the objects to the target cluster: ", "DevMachine "+s.ns+"/mgmt-0", "machines in memory are not enabled", "(the source cluster is as it was)")
	if !wasPaused {
		s.t.Error("it failed before the source was paused")
	}
	end()
	s.ends(s.options())
}

func (s *tale) lacksTheFeature() {
	template := func(group, kind string) map[string]any {
		return map[string]any{"templateRef": map[string]any{"apiVersion": group + "/v1beta2", "kind": kind, "name": "plain"}}
	}
	s.make(map[string]any{
		"apiVersion": lab.CAPI + "/v1beta2", "kind": "ClusterClass", "metadata": map[string]any{"name": "plain", "namespace": s.ns},
		"spec": map[string]any{"infrastructure": template(lab.Infra, "DevClusterTemplate"), "controlPlane": template(lab.ControlPlane, "KubeadmControlPlaneTemplate")},
	})
	topology := map[string]any{"topology": map[string]any{"classRef": map[string]any{"name": "plain"}, "version": "v1.37.2"}}
	s.patch(s.source, lab.Kind(lab.CAPI, "Cluster"), "mgmt", map[string]any{"spec": topology})
	s.before = s.survey(s.source)
	const message = "can be set only if the ClusterTopology feature flag is enabled"
	end := s.denies(s.head(lab.CAPI+"/v1beta2", "Cluster", "example", "example", topology), "clusters", "!has(object.spec.topology)", message)

	s.refuses("the move was not begun: the target cluster does not take Cluster "+s.ns+"/mgmt", message)

	end()
	s.ends(s.options())
}

func (s *tale) seesNothing() {
	o := s.options()
	var mu sync.Mutex
	var blind map[string]bool // by path: the next listing has nothing
	o.Say = once("Copying", func() { mu.Lock(); defer mu.Unlock(); blind = map[string]bool{} })
	o.Source = link{s.from, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		list := path.Base(path.Dir(r.URL.Path)) == s.ns
		if r.Method != http.MethodGet || !list || blind == nil || blind[r.URL.Path] {
			return next.RoundTrip(r)
		}
		blind[r.URL.Path] = true
		return invented(r, http.StatusOK, []byte(`{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[]}`)), nil
	}}

	_, err := move.Move(s.t.Context(), o)

	s.fails(err, "clusterctl had nothing to copy, and 1", "(the source cluster is as it was)")
}

func (s *tale) losesASecret() { s.loses("secrets") }

func (s *tale) losesATemplate() { s.loses("kubeadmconfigtemplates") }

// loses has a target that says it has made objects of a plural, and has not.
func (s *tale) loses(plural string) {
	o := s.options()
	o.Target = link{s.to, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !creates(r, plural) {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		return invented(r, http.StatusCreated, body), err
	}}

	_, err := move.Move(s.t.Context(), o)

	s.fails(err, "verify that the target cluster has everything: the target cluster does not have ", "(the source cluster is as it was)")
}

func (s *tale) hasNoCluster() {
	none := newFleet(s.t, s.source, s.target, s.ns+"-none")
	s.make(none.secret("mgmt", "stray", ""))
	s.before = none.survey(s.source)
	(&tale{none, s.before}).refuses("no Cluster is found in namespace " + none.ns + " of the source cluster")
}

func (s *tale) pausedBySpecification() {
	s.staysPaused(map[string]any{"spec": map[string]any{"paused": true}})
}

func (s *tale) pausedByAnnotation() {
	s.staysPaused(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"cluster.x-k8s.io/paused": ""}}})
}

// staysPaused watches both sides: an operator's pause is not lifted for a moment.
func (s *tale) staysPaused(pause map[string]any) {
	s.plant("quiet", 1)
	s.patch(s.source, lab.Kind(lab.CAPI, "Cluster"), "quiet", pause)
	s.before = s.survey(s.source)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	clusters := schema.GroupVersionResource{Group: lab.CAPI, Version: "v1beta2", Resource: "clusters"}
	var seen []watch.Interface
	for _, p := range []*lab.Plane{s.source, s.target} {
		w, err := p.Dynamic.Resource(clusters).Namespace(s.ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=quiet"})
		if err != nil {
			s.t.Fatal(err)
		}
		defer w.Stop()
		seen = append(seen, w)
	}

	result := s.ends(s.options())

	if diff := cmp.Diff([]string{"Cluster " + s.ns + "/quiet"}, result.Operator); diff != "" {
		s.t.Errorf("what stays paused (-want +got):\n%s", diff)
	}
	last, err := s.target.Get(ctx, lab.Kind(lab.CAPI, "Cluster"), s.ns, "quiet")
	if err != nil {
		s.t.Fatal(err)
	}
	over := []func(watch.Event, *unstructured.Unstructured) bool{
		func(e watch.Event, _ *unstructured.Unstructured) bool { return e.Type == watch.Deleted },
		func(_ watch.Event, u *unstructured.Unstructured) bool {
			return u.GetResourceVersion() == last.GetResourceVersion()
		},
	}
	for i, w := range seen {
		ended := false
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				s.t.Fatalf("side %d: %v", i, e.Object)
			}
			if !rests(u) {
				s.t.Errorf("side %d: %s without the pause", i, e.Type)
			}
			if ended = over[i](e, u); ended {
				break
			}
		}
		if !ended {
			s.t.Errorf("side %d: the watch ended too early", i)
		}
	}
	if c, err := s.target.Get(ctx, lab.Kind(lab.CAPI, "Cluster"), s.ns, "mgmt"); err != nil || rests(c) {
		s.t.Errorf("the other Cluster is paused, or %v", err)
	}
}

// tells is what the controller of the machine says of its pause.
func (s *tale) tells(ctx context.Context, status, message string) error {
	m, err := s.source.Get(ctx, lab.Kind(lab.CAPI, "Machine"), s.ns, "mgmt-0")
	if err != nil {
		return err
	}
	return s.source.Patch(ctx, lab.Kind(lab.CAPI, "Machine"), s.ns, "mgmt-0", map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "Paused", "status": status, "reason": "Played", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": m.GetGeneration(),
	}}}}, "status")
}

// works plays a controller that finishes what it does before it heeds a pause: it
// writes, looks whether anything is at the target already, and writes once more.
func (s *tale) works(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := range 10 {
		if err := s.tells(ctx, "False", fmt.Sprintf("working, %d", i)); err != nil {
			return err
		}
		<-tick.C
	}
	for _, gk := range kindsOfFleet() {
		list, err := s.target.List(ctx, gk, s.ns)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return fmt.Errorf("%d objects %s came while the controller worked", len(list), gk.Kind)
		}
	}
	if err := s.source.Patch(ctx, lab.Kind(lab.CAPI, "Machine"), s.ns, "mgmt-0", map[string]any{"spec": map[string]any{"providerID": "lab:///0"}}); err != nil {
		return err
	}
	return s.tells(ctx, "True", "")
}

func (s *tale) waitsForTheSlow() {
	if err := s.tells(s.t.Context(), "False", ""); err != nil {
		s.t.Fatal(err)
	}
	o := s.options()
	worked := make(chan error, 1)
	o.Say = once("Pausing", func() { go func() { worked <- s.works(s.t.Context()) }() })

	_, err := move.Move(s.t.Context(), o)

	if err := errors.Join(err, <-worked); err != nil {
		s.t.Fatal(err)
	}
	m, err := s.target.Get(s.t.Context(), lab.Kind(lab.CAPI, "Machine"), s.ns, "mgmt-0")
	if err != nil {
		s.t.Fatal(err)
	}
	if id, _, _ := unstructured.NestedString(m.Object, "spec", "providerID"); id != "lab:///0" {
		s.t.Errorf("what the controller wrote last is lost: %q", id)
	}
	s.before["Machine/mgmt-0"] = s.survey(s.target)["Machine/mgmt-0"] // as the controller left it
	if err := s.arrived(s.before); err != nil {
		s.t.Error(err)
	}
}

func (s *tale) neverRests() {
	if err := s.tells(s.t.Context(), "False", ""); err != nil {
		s.t.Fatal(err)
	}
	o := s.options()
	o.IdleBudget = budget

	_, err := move.Move(s.t.Context(), o)

	s.fails(err, "wait for the controllers of the source cluster to rest: ", "Machine "+s.ns+"/mgmt-0 is not paused yet", "(the source cluster is as it was)")
	if there := s.survey(s.target); len(there) > 0 {
		s.t.Errorf("the target has %v", there)
	}
}

func (s *tale) changesMeanwhile() {
	o := s.options()
	var once sync.Once
	o.Target = link{s.to, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		var err error
		if creates(r, "devmachines") { // the Machine was copied before what it owns
			once.Do(func() {
				err = s.source.Patch(r.Context(), lab.Kind(lab.CAPI, "Machine"), s.ns, "mgmt-0", map[string]any{"spec": map[string]any{"providerID": "lab:///0"}})
			})
		}
		if err != nil {
			return nil, err
		}
		return next.RoundTrip(r)
	}}

	_, err := move.Move(s.t.Context(), o)

	s.before["Machine/mgmt-0"] = s.survey(s.source)["Machine/mgmt-0"] // as it is now
	s.fails(err, "verify that the target cluster has everything: ", "Machine "+s.ns+"/mgmt-0 changed in the source cluster while it was copied", "(the source cluster is as it was)")
}

func (s *tale) stopsControllers() {
	if err := s.tells(s.t.Context(), "False", ""); err != nil {
		s.t.Fatal(err)
	}
	controller := decoded(s.t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: capd-system, labels: {cluster.x-k8s.io/provider: infrastructure-docker}}
spec:
  replicas: 1
  selector: {matchLabels: {app: manager}}
  template: {metadata: {labels: {app: manager}}, spec: {containers: [{name: manager, image: lab.invalid/manager}]}}
`)[0]
	deployment := lab.Kind("apps", "Deployment")
	pods := func(want int64) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			d, err := s.source.Get(ctx, deployment, "capd-system", "manager")
			if err != nil {
				return false, err
			}
			have, _, err := unstructured.NestedInt64(d.Object, "status", "replicas")
			return have == want, err
		}
	}
	if err := s.source.Apply(s.t.Context(), controller); err != nil {
		s.t.Fatal(err)
	}
	lab.Until(s.t, "a pod of the controller", pods(1))
	o := s.options()
	o.IdleBudget = budget
	_, err := move.Move(s.t.Context(), o)
	s.fails(err, "Machine "+s.ns+"/mgmt-0 is not paused yet", "scale the Deployments of the providers to 0", "(the source cluster is as it was)")

	if err := s.source.Patch(s.t.Context(), deployment, "capd-system", "manager", map[string]any{"spec": map[string]any{"replicas": 0}}); err != nil {
		s.t.Fatal(err)
	}
	lab.Until(s.t, "the end of the controller", pods(0))
	s.ends(s.options())
	if err := s.source.Delete(s.t.Context(), deployment, "capd-system", "manager"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *tale) lacksTheLabel() {
	definition := lab.Kind("apiextensions.k8s.io", "CustomResourceDefinition")
	label := func(p *lab.Plane, name string, value any) {
		s.t.Helper()
		patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{"clusterctl.cluster.x-k8s.io": value}}}
		if err := p.Patch(context.WithoutCancel(s.t.Context()), definition, "", name, patch); err != nil {
			s.t.Fatal(err)
		}
	}
	without := func(p *lab.Plane, name string, refused func()) {
		s.t.Helper()
		label(p, name, nil)
		defer label(p, name, "") // the other stories need it
		refused()
	}
	for _, c := range []struct {
		plane      *lab.Plane
		side, name string
	}{
		{s.source, "source", "devmachinetemplates.infrastructure.cluster.x-k8s.io"},
		{s.source, "source", "machines.cluster.x-k8s.io"},
		{s.target, "target", "devmachinetemplates.infrastructure.cluster.x-k8s.io"},
	} {
		without(c.plane, c.name, func() {
			s.refuses("CRD " + c.name + " of the " + c.side + " cluster lacks the label clusterctl.cluster.x-k8s.io")
		})
	}
	without(s.source, "clusters.cluster.x-k8s.io", func() { s.refuses("its CRD lacks the label clusterctl.cluster.x-k8s.io") })
	s.ends(s.options())
}

func (s *tale) hasAnOlderProvider() {
	install := func(version string) {
		s.t.Helper()
		if err := s.target.Apply(s.t.Context(), lab.Inventory("InfrastructureProvider", "docker", "capd-system", version)); err != nil {
			s.t.Fatal(err)
		}
	}
	install("v1.13.9")
	s.refuses("InfrastructureProvider docker is older in the target cluster (v1.13.9) than in the source cluster (v1.14.2)")
	install("v1.15.0")
	s.ends(s.options())
}

func (s *tale) lacksADefinition() {
	const name = "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io"
	gone := func(ctx context.Context) (bool, error) {
		_, err := s.target.Get(ctx, lab.Kind("apiextensions.k8s.io", "CustomResourceDefinition"), "", name)
		return kube.Gone(err), nil
	}
	if err := s.target.Delete(s.t.Context(), lab.Kind("apiextensions.k8s.io", "CustomResourceDefinition"), "", name); err != nil {
		s.t.Fatal(err)
	}
	lab.Until(s.t, "the definition to go", gone)
	_, err := move.Move(s.t.Context(), s.options())
	if _, ok := errors.AsType[*move.RefusalError](err); !ok {
		s.t.Errorf("%T is no refusal: %v", err, err)
	}
	s.fails(err, "the target cluster has no CRD "+name)

	if err := s.target.Install(s.t.Context(), lab.CAPIKubeadm); err != nil {
		s.t.Fatal(err)
	}
	s.ends(s.options())
}
