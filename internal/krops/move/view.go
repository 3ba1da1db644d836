package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// errCopied ends the library's part: it is where it would delete or resume.
var errCopied = errors.New("everything is copied")

// library runs the part of the clusterctl library that finds and copies objects.
type library struct {
	items  map[key]item
	copied map[key]bool // what it created or updated
	left   map[key]bool // of those, what the target had and keeps as it is
	over   bool         // it came to where it would begin to delete
	broken error        // why it was stopped

	stop context.CancelCauseFunc
}

// copy lets the library copy what is listed from source to target.
func (m *mover) copy(ctx context.Context, items []item) (map[key]bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &library{items: map[key]item{}, copied: map[key]bool{}, left: map[key]bool{}, stop: cancel}
	for _, i := range items {
		l.items[i.key] = i
	}
	from, err := m.source.typed()
	if err != nil {
		return nil, err
	}
	to, err := m.target.typed()
	if err != nil {
		return nil, err
	}
	source := cluster.New(cluster.Kubeconfig{Path: "source"}, nil, cluster.InjectProxy(proxy{m.source.config, &sourceView{from, l}}))
	target := cluster.New(cluster.Kubeconfig{Path: "target"}, nil, cluster.InjectProxy(proxy{m.target.config, &targetView{to, l}}))
	err = source.ObjectMover().Move(ctx, m.Namespace, target, false)
	switch {
	case l.broken != nil:
		return nil, l.broken
	case l.over:
		return l.copied, nil
	case err == nil:
		return nil, fmt.Errorf("clusterctl had nothing to copy, and %d objects are to be moved", len(items))
	}
	return nil, fmt.Errorf("clusterctl: %w", err)
}

// end stops the library for good.
func (l *library) end(err error) error {
	if errors.Is(err, errCopied) {
		l.over = true
	} else if l.broken == nil {
		l.broken = err
	}
	l.stop(err)
	return err
}

// typed returns the client the library works with.
func (s *side) typed() (client.Client, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensions.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme, clusterctlv1.AddToScheme} {
		if err := add(known); err != nil {
			return nil, err
		}
	}
	c, err := client.New(s.config, client.Options{Scheme: known, Log: logr.New(log.NullLogSink{})})
	if err != nil {
		return nil, fmt.Errorf("open the %s cluster: %w", s.name, err)
	}
	return c, nil
}

// proxy gives the library one client, made once. It has no kubeconfig to look into.
type proxy struct {
	config *rest.Config
	client client.Client
}

var (
	_        cluster.Proxy = proxy{}
	errAsked               = errors.New("a move does not need this")
)

func (p proxy) GetConfig() (*rest.Config, error)                 { return p.config, nil }
func (p proxy) CurrentNamespace() (string, error)                { return "", errAsked }
func (p proxy) ValidateKubernetesVersion() error                 { return nil }
func (p proxy) NewClient(context.Context) (client.Client, error) { return p.client, nil }
func (p proxy) CheckClusterAvailable(context.Context) error      { return nil }
func (p proxy) GetContexts(string) ([]string, error)             { return nil, errAsked }
func (p proxy) ListResources(context.Context, map[string]string, ...string) ([]unstructured.Unstructured, error) {
	return nil, errAsked
}

func (p proxy) GetResourceNames(context.Context, string, string, []client.ListOption, string) ([]string, error) {
	return nil, errAsked
}

// sourceView is the source as the library sees it: nothing can be written, and
// nothing is paused.
type sourceView struct {
	client.Client

	library *library
}

// List answers that there are no providers where the inventory of them does not exist.
func (v *sourceView) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return listed(v.Client.List(ctx, list, opts...), list)
}

func listed(err error, list client.ObjectList) error {
	if _, ok := list.(*clusterctlv1.ProviderList); ok && meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// Get hides a pause where the library checks for it, not where it copies.
func (v *sourceView) Get(ctx context.Context, k client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := v.Client.Get(ctx, k, obj, opts...); err != nil {
		return err
	}
	switch o := obj.(type) {
	case *clusterv1.Cluster:
		o.Spec.Paused = nil
		delete(o.Annotations, pausedLabel)
	case *clusterv1.ClusterClass:
		delete(o.Annotations, pausedLabel)
	}
	return nil
}

// Patch takes note of nothing: the pauses the library wants are set already. Its
// first other patch announces a deletion.
func (v *sourceView) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if kind := obj.GetObjectKind().GroupVersionKind().GroupKind(); patch.Type() == types.MergePatchType {
		_, class := obj.(*clusterv1.ClusterClass)
		if class || kind == kube.CAPICluster || kind == kube.CAPIClusterClass {
			return nil
		}
	}
	return v.library.end(errCopied)
}

// Delete is where the copying is over.
func (v *sourceView) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return v.library.end(errCopied)
}

// Create is nothing the library does to a source.
func (v *sourceView) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return v.library.end(unexpected("create", "source", obj))
}

// Update is nothing the library does to a source.
func (v *sourceView) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return v.library.end(unexpected("update", "source", obj))
}

// DeleteAllOf is nothing the library does to a source.
func (v *sourceView) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return v.library.end(unexpected("delete all of", "source", obj))
}

// Apply is nothing the library does to a source.
func (v *sourceView) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return v.library.end(errors.New("clusterctl wants to apply something to the source cluster, which a move does not"))
}

func unexpected(what, side string, obj client.Object) error {
	return fmt.Errorf("clusterctl wants to %s %s of the %s cluster, which this move does not", what, identity(obj), side)
}

// targetView is the target as the library sees it: it can make what is listed.
type targetView struct {
	client.Client

	library *library
}

// List answers that there are no providers where the inventory of them does not exist.
func (v *targetView) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return listed(v.Client.List(ctx, list, opts...), list)
}

// Create makes a copy. One the target rejects is not tried for minutes.
func (v *targetView) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if _, ok := obj.(*corev1.Namespace); ok {
		return v.Client.Create(ctx, obj, opts...)
	}
	k := identity(obj)
	if _, ok := v.library.items[k]; !ok {
		return v.library.end(unexpected("create", "target", obj))
	}
	err := v.Client.Create(ctx, obj, opts...)
	switch {
	case err == nil:
		v.library.copied[k] = true
	case apierrors.IsAlreadyExists(err) && v.library.items[k].keep:
		return v.leave(ctx, k, obj, err)
	case rejected(err):
		return v.library.end(fmt.Errorf("the target cluster does not take %s: %w", k, err))
	}
	return err
}

// leave tells the library of an object that the target has and that is not
// overwritten. The library takes the UID of what it could not create for that of
// the owner of further objects, and it would be the one of the source: the garbage
// collector of the target would remove them.
func (v *targetView) leave(ctx context.Context, k key, obj client.Object, exists error) error {
	there := &unstructured.Unstructured{}
	there.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	if err := v.Client.Get(ctx, client.ObjectKeyFromObject(obj), there); err != nil {
		return err
	}
	obj.SetUID(there.GetUID())
	v.library.copied[k], v.library.left[k] = true, true
	return exists
}

// rejected tells whether the server understood and does not want.
func rejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsRequestEntityTooLargeError(err) || meta.IsNoMatchError(err)
}

// Update brings a copy of an earlier try up to date.
func (v *targetView) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	k := identity(obj)
	if _, ok := v.library.items[k]; !ok {
		return v.library.end(unexpected("update", "target", obj))
	}
	err := v.Client.Update(ctx, obj, opts...)
	switch {
	case err == nil:
		v.library.copied[k] = true
	case rejected(err):
		return v.library.end(fmt.Errorf("the target cluster does not take %s: %w", k, err))
	}
	return err
}

// Patch restores who manages the fields of a copy. Any other patch would resume
// it: the copying is over.
func (v *targetView) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if _, class := obj.(*clusterv1.ClusterClass); class {
		return v.library.end(errCopied)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return v.library.end(unexpected("patch", "target", obj))
	}
	if _, spec := fields["spec"]; spec {
		return v.library.end(errCopied)
	}
	if len(fields) == 0 || v.library.left[identity(obj)] {
		return nil
	}
	return v.Client.Patch(ctx, obj, patch, opts...)
}

// Delete is nothing the library does to a target.
func (v *targetView) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return v.library.end(unexpected("delete", "target", obj))
}

// DeleteAllOf is nothing the library does to a target.
func (v *targetView) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return v.library.end(unexpected("delete all of", "target", obj))
}

// Apply is nothing the library does to a target.
func (v *targetView) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return v.library.end(errors.New("clusterctl wants to apply something to the target cluster, which a move does not"))
}

func identity(obj client.Object) key {
	return key{obj.GetObjectKind().GroupVersionKind().GroupKind(), obj.GetNamespace(), obj.GetName()}
}
