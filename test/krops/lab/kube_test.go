//go:build lab_kube

package lab_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// server opens a control plane without controllers as the program does.
func server(t *testing.T) (*lab.Plane, *kube.Cluster) {
	t.Helper()
	plane := lab.Planes(t, 1, func(o *lab.Options) { o.NoManager, o.Nodeless = true, true })[0]
	c, err := kube.Open(plane.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Answers(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plane, c
}

func decoded(t *testing.T, manifest string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kube.Decode([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// things defines a kind with two versions, and makes one of it.
const things = `apiVersion: example.org/v1
kind: Thing
metadata: {name: one, namespace: lab}
spec: {size: 3}
---
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {shade: {type: string, default: blue}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
  - name: v1beta1
    served: true
    storage: false
    subresources: {status: {}}
    schema: *schema
`

func TestObjectsOnARealServer(t *testing.T) {
	t.Parallel()
	_, c := server(t)
	ctx := t.Context()
	kind := schema.GroupKind{Group: "example.org", Kind: "Thing"}

	t.Run("before there is the kind it is confirmed absent", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if got := c.Lookup(ctx, kind, "lab", "one"); !got.Gone() {
			t.Error(got)
		}
		if got := c.Listing(ctx, kind, "", nil); got.String() != "[]" {
			t.Error(got)
		}
		if differs, err := c.Differs(ctx, decoded(t, things)...); err != nil || !differs {
			t.Errorf("%v %v", differs, err)
		}
	})

	t.Run("a namespace, a definition and an object of it are applied at once", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if err := c.Apply(ctx, decoded(t, things)...); err != nil {
			t.Fatal(err)
		}
		if got := c.Lookup(ctx, kind, "lab", "one"); !got.There() {
			t.Error(got)
		}
		if got := c.Lookup(ctx, kind, "lab", "two"); !got.Gone() {
			t.Errorf("another name: %v", got)
		}
		if got := c.Lookup(ctx, kind, "nowhere", "one"); !got.Gone() {
			t.Errorf("a namespace that is not there: %v", got)
		}
	})

	t.Run("applying again changes nothing, and the server says so", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		before, err := c.Get(ctx, kind, "lab", "one")
		if err != nil {
			t.Fatal(err)
		}
		differs, err := c.Differs(ctx, decoded(t, things)...)
		if err != nil || differs {
			t.Errorf("%v %v", differs, err)
		}
		if err := c.Apply(ctx, decoded(t, things)...); err != nil {
			t.Fatal(err)
		}
		after, err := c.Get(ctx, kind, "lab", "one")
		if err != nil || before.GetResourceVersion() != after.GetResourceVersion() {
			t.Errorf("%v", err)
		}
		if shade, _, _ := unstructured.NestedString(after.Object, "spec", "shade"); shade != "blue" {
			t.Errorf("the default is %q", shade)
		}
	})

	t.Run("a field of another is no difference, a changed one is", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if err := c.Patch(ctx, kind, "lab", "one", []byte(`{"spec":{"colour":"red"},"metadata":{"labels":{"a":"b"}}}`)); err != nil {
			t.Fatal(err)
		}
		if differs, err := c.Differs(ctx, decoded(t, things)...); err != nil || differs {
			t.Errorf("a field of another: %v %v", differs, err)
		}
		if differs, err := c.Differs(ctx, decoded(t, strings.Replace(things, "size: 3", "size: 4", 1))...); err != nil || !differs {
			t.Errorf("a field of ours: %v %v", differs, err)
		}
	})

	t.Run("a list is read page by page", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		var many []*unstructured.Unstructured
		for i := range 620 {
			many = append(many, kube.NewConfigMap("lab", fmt.Sprintf("m-%03d", i), map[string]string{"i": strconv.Itoa(i)}))
		}
		if err := c.Apply(ctx, many...); err != nil {
			t.Fatal(err)
		}
		names, known := c.Listing(ctx, kube.ConfigMap, "lab", nil).Names()
		if !known || len(names) != 620 {
			t.Errorf("%d names", len(names))
		}
	})

	t.Run("a Secret holds what it was given, and is not quoted", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		data := map[string][]byte{"username": []byte("git"), "password": []byte("ses\"am\ne\x00")}
		if err := c.Apply(ctx, kube.NewSecret("lab", "s", data)); err != nil {
			t.Fatal(err)
		}
		got, err := c.SecretData(ctx, "lab", "s")
		if diff := cmp.Diff(data, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		bad := kube.NewSecret("lab", "s2", map[string][]byte{"bad key sesame": []byte("x")})
		if err := c.Apply(ctx, bad); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Error(err)
		}
	})

	t.Run("only the object that was meant is deleted", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if err := c.Delete(ctx, kind, "lab", "one", kube.Only("another")); err == nil {
			t.Error("another object was deleted")
		}
		one, err := c.Get(ctx, kind, "lab", "one")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(ctx, kind, "lab", "one", kube.Only(one.GetUID())); err != nil {
			t.Error(err)
		}
		if err := c.Delete(ctx, kind, "lab", "one"); err != nil {
			t.Errorf("once more: %v", err)
		}
		if got := c.Lookup(ctx, kind, "lab", "one"); !got.Gone() {
			t.Error(got)
		}
	})

	t.Run("a definition that is gone takes its kind along", func(t *testing.T) { //nolint:paralleltest // the next parts build on it
		if err := c.Delete(ctx, kube.CustomResourceDefinition, "", "things.example.org"); err != nil {
			t.Fatal(err)
		}
		lab.Until(t, "the kind to be gone", func(ctx context.Context) (bool, error) {
			return c.Lookup(ctx, kind, "lab", "one").Gone() && c.Listing(ctx, kind, "", nil).String() == "[]", nil
		})
	})
}

func TestD1FailuresOfARealServer(t *testing.T) {
	t.Parallel()
	plane, _ := server(t)
	front := plane.Front(t)
	c, err := kube.Open(front.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[lab.Fault][2]string{
		lab.Unauthorized: {"unknown: unauthorized", "unknown: unauthorized"},
		lab.Forbidden:    {"unknown: forbidden", "unknown: forbidden"},
		lab.NoSuchPath:   {"unknown: unreadable answer", "unknown: unreadable answer"},
		lab.Broken:       {"unknown: server unavailable", "unknown: server unavailable"},
		lab.Unavailable:  {"unknown: server unavailable", "unknown: server unavailable"},
		lab.Reset:        {"unknown: no connection", "unknown: no connection"},
		lab.Nonsense:     {"unknown: unreadable answer", "unknown: unreadable answer"},
		lab.Hang:         {"unknown: timed out", "unknown: timed out"},
	} {
		front.Fail(func(*http.Request) lab.Fault { return fault })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		got := [2]string{
			c.Lookup(ctx, kube.ConfigMap, "default", "kube-root-ca.crt").String(),
			c.Listing(ctx, kube.CAPICluster, "", nil).String(),
		}
		cancel()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", fault, diff)
		}
	}
}

func TestAServerThatWasKilledIsUnknown(t *testing.T) {
	t.Parallel()
	plane, c := server(t)
	plane.Server().Kill()

	got := c.Lookup(t.Context(), kube.Namespace, "", "default")

	if why, bad := got.Failed(); !bad || why != plan.Reset.String() {
		t.Error(got)
	}
	if err := c.Answers(t.Context()); err == nil {
		t.Error("it answers")
	}
}
