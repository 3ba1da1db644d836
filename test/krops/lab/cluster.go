package lab

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The groups of Cluster API.
const (
	CAPI         = "cluster.x-k8s.io"
	ControlPlane = "controlplane.cluster.x-k8s.io"
	Bootstrap    = "bootstrap.cluster.x-k8s.io"
	Infra        = "infrastructure.cluster.x-k8s.io"
)

const (
	clusterName = "cluster.x-k8s.io/cluster-name"
	finalizer   = "lab.holdfast/played"
)

// ClusterPlayer plays the controllers of Cluster API, from the core to the
// infrastructure: a Cluster gets its owner references, a Machine, its Secrets and
// the status of one that runs; one that is deleted takes all of it along. What is
// paused rests.
type ClusterPlayer struct {
	*Client
	// Lead returns the kubeconfig by which a cluster is reached.
	Lead func(name string) ([]byte, error)
	// Hold says that nothing goes on with an object, its deletion included.
	Hold func(o *Object) bool
	// Gone is called when a cluster is deleted for good.
	Gone func(name string)
}

// Turn looks at every Cluster once.
func (c *ClusterPlayer) Turn(ctx context.Context) error {
	list, err := c.listed(ctx, Kind(CAPI, "Cluster"), "")
	failed := []error{err}
	for i := range list {
		failed = append(failed, c.cluster(ctx, &list[i]))
	}
	return errors.Join(failed...)
}

// paused tells whether nothing may be done with the objects of a Cluster.
func paused(o *Object) bool {
	p, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	_, noted := o.GetAnnotations()["cluster.x-k8s.io/paused"]
	return p || noted
}

func (c *ClusterPlayer) cluster(ctx context.Context, o *Object) error {
	switch {
	case paused(o) || c.Hold != nil && c.Hold(o):
		return nil
	case o.GetDeletionTimestamp() != nil:
		return c.end(ctx, o)
	}
	if err := c.hold(ctx, o); err != nil {
		return err
	}
	plane, err := c.parts(ctx, o)
	if err != nil {
		return err
	}
	if err := c.secrets(ctx, o, plane); err != nil {
		return err
	}
	if err := c.machine(ctx, o, plane); err != nil {
		return err
	}
	return c.settle(ctx, o, map[string]any{
		"phase":          "Provisioned",
		"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
		"conditions": []any{
			condition("Available", true, "Available", ""), condition("ControlPlaneInitialized", true, "Initialized", ""), condition("InfrastructureReady", true, "Ready", ""),
		},
	})
}

// hold keeps an object until its controller has cleaned up.
func (c *Client) hold(ctx context.Context, o *Object) error {
	if slices.Contains(o.GetFinalizers(), finalizer) {
		return nil
	}
	return c.Patch(ctx, o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName(),
		map[string]any{"metadata": map[string]any{"finalizers": append(o.GetFinalizers(), finalizer), "resourceVersion": o.GetResourceVersion()}})
}

// release lets an object go.
func (c *Client) release(ctx context.Context, o *Object) error {
	left := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer })
	err := c.Patch(ctx, o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName(), map[string]any{"metadata": map[string]any{"finalizers": left}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// owner is a reference to the owner of an object.
func owner(o *Object, controller bool) map[string]any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": controller}
}

// own makes an object one of a cluster.
func (c *Client) own(ctx context.Context, o, by *Object, cluster string) error {
	labels := o.GetLabels()
	if len(o.GetOwnerReferences()) > 0 && labels[clusterName] == cluster {
		return c.hold(ctx, o)
	}
	return c.Patch(ctx, o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName(), map[string]any{"metadata": map[string]any{
		"ownerReferences": []any{owner(by, true)}, "labels": map[string]any{clusterName: cluster},
	}})
}

// part returns the object a reference of a Cluster leads to, nil without one.
func (c *Client) part(ctx context.Context, o *Object, field string) (*Object, error) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", field, "apiGroup")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", field, "kind")
	name, _, _ := unstructured.NestedString(o.Object, "spec", field, "name")
	if kind == "" {
		return nil, nil //nolint:nilnil // a Cluster need not have this part
	}
	return c.Get(ctx, Kind(group, kind), o.GetNamespace(), name)
}

// parts provisions the infrastructure and the control plane, which is returned.
func (c *ClusterPlayer) parts(ctx context.Context, o *Object) (plane *Object, err error) {
	for _, field := range []string{"infrastructureRef", "controlPlaneRef"} {
		part, err := c.part(ctx, o, field)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		if err := c.own(ctx, part, o, o.GetName()); err != nil {
			return nil, err
		}
		done := map[string]any{"initialization": map[string]any{"provisioned": true}}
		if field == "controlPlaneRef" {
			plane, done = part, map[string]any{"initialization": map[string]any{"controlPlaneInitialized": true}}
		}
		if err := c.settle(ctx, part, done); err != nil {
			return nil, err
		}
		template, err := c.templateOf(ctx, part)
		if err != nil {
			return nil, err
		}
		if template != nil {
			if err := c.own(ctx, template, o, o.GetName()); err != nil {
				return nil, err
			}
		}
	}
	return plane, nil
}

// templateOf is the template of the machines of a control plane.
func (c *Client) templateOf(ctx context.Context, plane *Object) (*Object, error) {
	path := []string{"spec", "machineTemplate", "spec", "infrastructureRef"}
	group, _, _ := unstructured.NestedString(plane.Object, append(path, "apiGroup")...)
	kind, _, _ := unstructured.NestedString(plane.Object, append(path, "kind")...)
	name, _, _ := unstructured.NestedString(plane.Object, append(path, "name")...)
	if kind == "" {
		return nil, nil //nolint:nilnil // infrastructure has no machines of its own
	}
	return c.Get(ctx, Kind(group, kind), plane.GetNamespace(), name)
}

// make creates an object; one that is there is left alone.
func (c *Client) make(ctx context.Context, o *Object) error {
	r, err := c.resource(ctx, o.GroupVersionKind().GroupKind(), o.GetNamespace(), false)
	if err != nil {
		return err
	}
	_, err = r.Create(ctx, o, metav1.CreateOptions{FieldManager: "lab"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (c *ClusterPlayer) secrets(ctx context.Context, o, plane *Object) error {
	text, err := c.Lead(o.GetName())
	if err != nil {
		return err
	}
	by := o
	if plane != nil {
		by = plane
	}
	for name, value := range map[string][]byte{"kubeconfig": text, "ca": []byte("certificate"), "sa": []byte("key")} {
		secret := object("v1", "Secret", o.GetNamespace(), o.GetName()+"-"+name, map[string]any{
			"type": "cluster.x-k8s.io/secret", "data": map[string]any{"value": base64.StdEncoding.EncodeToString(value)},
		})
		secret.SetLabels(map[string]string{clusterName: o.GetName()})
		_ = unstructured.SetNestedSlice(secret.Object, []any{owner(by, true)}, "metadata", "ownerReferences") // it is a map
		if err := c.make(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// machine makes the one machine of the control plane and lets it run.
func (c *ClusterPlayer) machine(ctx context.Context, o, plane *Object) error {
	if plane == nil {
		plane = o
	}
	ns, name := o.GetNamespace(), o.GetName()+"-cp-0"
	made := func(version, kind string, spec map[string]any, by *Object) (*Object, error) {
		m := object(version, kind, ns, name, map[string]any{"spec": spec})
		m.SetLabels(map[string]string{clusterName: o.GetName(), "cluster.x-k8s.io/control-plane": ""})
		_ = unstructured.SetNestedSlice(m.Object, []any{owner(by, true)}, "metadata", "ownerReferences") // it is a map
		m.SetFinalizers([]string{finalizer})
		if err := c.make(ctx, m); err != nil {
			return nil, err
		}
		return c.Get(ctx, m.GroupVersionKind().GroupKind(), ns, name)
	}
	m, err := made(CAPI+"/v1beta2", "Machine", map[string]any{
		"clusterName": o.GetName(), "version": "v1.37.2",
		"bootstrap":         map[string]any{"configRef": map[string]any{"apiGroup": Bootstrap, "kind": "KubeadmConfig", "name": name}, "dataSecretName": name},
		"infrastructureRef": map[string]any{"apiGroup": Infra, "kind": "DevMachine", "name": name},
	}, plane)
	if err != nil {
		return err
	}
	if _, err := made(Bootstrap+"/v1beta2", "KubeadmConfig", map[string]any{
		"joinConfiguration": map[string]any{"nodeRegistration": map[string]any{"criSocket": "unix:///run/containerd/containerd.sock"}},
	}, m); err != nil {
		return err
	}
	infra, err := made(Infra+"/v1beta2", "DevMachine", map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}, m)
	if err != nil {
		return err
	}
	if err := c.settle(ctx, infra, map[string]any{"initialization": map[string]any{"provisioned": true}}); err != nil {
		return err
	}
	return c.settle(ctx, m, map[string]any{
		"phase": "Running", "nodeRef": map[string]any{"name": "node-0"},
		"initialization": map[string]any{"infrastructureProvisioned": true, "bootstrapDataSecretCreated": true},
	})
}

// parties are the kinds of objects that belong to a cluster, in the order they go.
func parties() []schema.GroupKind {
	return []schema.GroupKind{
		Kind(CAPI, "Machine"), Kind(Bootstrap, "KubeadmConfig"), Kind(Infra, "DevMachine"), Kind(ControlPlane, "KubeadmControlPlane"),
		Kind(Infra, "DevMachineTemplate"), Kind(Infra, "DevCluster"),
	}
}

// end deletes what belongs to a cluster, then lets the Cluster go.
func (c *ClusterPlayer) end(ctx context.Context, o *Object) error {
	left := 0
	for _, gk := range parties() {
		list, err := c.listed(ctx, gk, o.GetNamespace())
		if err != nil {
			return err
		}
		for i := range list {
			part := &list[i]
			if part.GetLabels()[clusterName] != o.GetName() {
				continue
			}
			left++
			if part.GetDeletionTimestamp() == nil {
				err = c.Delete(ctx, gk, part.GetNamespace(), part.GetName())
			} else if c.Hold == nil || !c.Hold(part) {
				err = c.release(ctx, part)
			}
			if err != nil {
				return err
			}
		}
	}
	if left > 0 {
		return nil
	}
	if err := c.release(ctx, o); err != nil {
		return err
	}
	if c.Gone != nil {
		c.Gone(o.GetName())
	}
	return nil
}
