package move

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// A Cluster is one API server, bound explicitly.
type Cluster interface {
	// Config returns a copy of what reaches it.
	Config() *rest.Config
}

const (
	manager        = "krops-bootstrap"
	requestTimeout = 30 * time.Second
	page           = 500
	crdPage        = 20 // definitions are large
)

// side is one of the two clusters of a move.
type side struct {
	name     string // source or target, for messages
	config   *rest.Config
	client   dynamic.Interface
	patience time.Duration // with a server that does not answer
}

func open(name string, c Cluster, patience time.Duration) (*side, error) {
	config := c.Config()
	config.Timeout = requestTimeout
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.QPS = -1 // the server knows best how much it can take
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open the %s cluster: %w", name, err)
	}
	return &side{name: name, config: config, client: client, patience: patience}, nil
}

// kind is a type of objects as a server stores it.
type kind struct {
	schema.GroupVersionKind

	resource string
	global   bool
	served   []string
	// known tells that the library looks for objects of the kind; move that it
	// moves each of them, hierarchy that it also moves what they own.
	known, move, hierarchy bool
}

func (k kind) gvr() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.resource)
}

// definition is the name of its CustomResourceDefinition.
func (k kind) definition() string { return k.resource + "." + k.Group }

const (
	clusterAPI   = "cluster.x-k8s.io"
	addons       = "addons.cluster.x-k8s.io"
	inventory    = "clusterctl.cluster.x-k8s.io"
	contract     = "v1beta2"
	knownLabel   = "clusterctl.cluster.x-k8s.io"
	moveLabel    = "clusterctl.cluster.x-k8s.io/move"
	treeLabel    = "clusterctl.cluster.x-k8s.io/move-hierarchy"
	removedLabel = "clusterctl.cluster.x-k8s.io/delete-for-move"
	pausedLabel  = "cluster.x-k8s.io/paused"
)

var (
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	setKind      = schema.GroupKind{Group: addons, Kind: "ClusterResourceSet"}
	bindingKind  = schema.GroupKind{Group: addons, Kind: "ClusterResourceSetBinding"}
	providerKind = schema.GroupKind{Group: inventory, Kind: "Provider"}
)

// core are the kinds of Kubernetes itself that are looked at.
func core() []kind {
	return []kind{
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, resource: "secrets", served: []string{"v1"}, known: true},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, resource: "configmaps", served: []string{"v1"}, known: true},
	}
}

// kinds are what a server has definitions of, the core kinds first.
type kinds map[schema.GroupKind]kind

// kinds lists every kind that could be moved, known to the library or not.
func (s *side) kinds(ctx context.Context) (kinds, error) {
	found := kinds{}
	for _, k := range core() {
		found[k.GroupKind()] = k
	}
	err := s.each(ctx, definitions, "CustomResourceDefinition", "", crdPage, func(u *unstructured.Unstructured) error {
		k, err := define(u)
		if err != nil {
			return err
		}
		found[k.GroupKind()] = k
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the definitions of the %s cluster: %w", s.name, err)
	}
	return found, nil
}

// define reads a CustomResourceDefinition.
func define(u *unstructured.Unstructured) (kind, error) {
	var k kind
	k.Group, _, _ = unstructured.NestedString(u.Object, "spec", "group")
	k.Kind, _, _ = unstructured.NestedString(u.Object, "spec", "names", "kind")
	k.resource, _, _ = unstructured.NestedString(u.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(u.Object, "spec", "scope")
	k.global = scope == "Cluster"
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served {
			k.served = append(k.served, name)
		}
		if storage, _ := version["storage"].(bool); storage {
			k.Version = name
		}
	}
	if k.Group == "" || k.Kind == "" || k.resource == "" || k.Version == "" {
		return kind{}, fmt.Errorf("definition %s makes no sense", u.GetName())
	}
	labels := u.GetLabels()
	_, k.known = labels[knownLabel]
	_, k.hierarchy = labels[treeLabel]
	switch k.GroupKind() {
	case kube.CAPICluster, kube.CAPIClusterClass, setKind:
		k.hierarchy = true
	}
	_, k.move = labels[moveLabel]
	k.move = k.move || k.hierarchy
	return k, nil
}

// each calls act with every object of a resource, all namespaces when that is "".
// An object is not valid after act has returned.
func (s *side) each(ctx context.Context, r schema.GroupVersionResource, kind, namespace string, limit int64, act func(*unstructured.Unstructured) error) error {
	next := ""
	for {
		var list *unstructured.UnstructuredList
		err := s.persist(ctx, func(ctx context.Context) (err error) {
			list, err = s.in(r, namespace).List(ctx, metav1.ListOptions{Limit: limit, Continue: next})
			return err
		})
		if err != nil {
			return err
		}
		// The client takes an answer without items for an empty list.
		if err := ofKind(list, r.Group, kind); err != nil {
			return err
		}
		for i := range list.Items {
			if err := act(&list.Items[i]); err != nil {
				return err
			}
		}
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

// ofKind checks that a list is one of a kind. A definition may name its lists as
// it likes.
func ofKind(list *unstructured.UnstructuredList, group, kind string) error {
	named := list.GetKind() == kind+"List" || group != "" && strings.HasSuffix(list.GetKind(), "List")
	if !named || list.GroupVersionKind().Group != group {
		return fmt.Errorf("a %q where a list of %s was asked for", list.GetKind(), kind)
	}
	return nil
}

// entries calls act with every object of a kind in a namespace, or of the cluster
// for a kind that lives in none.
func (s *side) entries(ctx context.Context, k kind, namespace string, act func(*unstructured.Unstructured)) error {
	if k.global {
		namespace = ""
	}
	return s.each(ctx, k.gvr(), k.Kind, namespace, page, func(u *unstructured.Unstructured) error { act(u); return nil })
}

func (s *side) in(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.client.Resource(r)
	}
	return s.client.Resource(r).Namespace(namespace)
}

// get returns an object, nil when the server says that there is none.
func (s *side) get(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	err := s.persist(ctx, func(ctx context.Context) (err error) {
		found, err = s.in(r, namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if gone(err) {
		return nil, nil //nolint:nilnil // no object is an answer
	}
	if err == nil && found.GetName() != name {
		return nil, fmt.Errorf("%q where %q was asked for", found.GetName(), name)
	}
	return found, err
}

// gone tells whether the server says that it does not have the object asked for,
// not that it does not know the path, which says nothing of the object.
func gone(err error) bool { return apierrors.IsNotFound(err) && kube.Gone(err) }

// merge patches an object.
func (s *side) merge(ctx context.Context, r schema.GroupVersionResource, namespace, name string, patch []byte) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	err := s.persist(ctx, func(ctx context.Context) (err error) {
		found, err = s.in(r, namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
		return err
	})
	return found, err
}

// ensureNamespace makes a namespace unless there is one.
func (s *side) ensureNamespace(ctx context.Context, name string) error {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	found, err := s.get(ctx, namespaces, "", name)
	if err == nil && found == nil {
		err = s.persist(ctx, func(ctx context.Context) error {
			_, err := s.client.Resource(namespaces).Create(ctx, u, metav1.CreateOptions{FieldManager: manager})
			return err
		})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make namespace %s in the %s cluster: %w", name, s.name, err)
	}
	return nil
}

// persist does something, again for a while when the server is not to be reached.
// What it does may have been done by a try that seems to have failed.
func (s *side) persist(ctx context.Context, do func(ctx context.Context) error) error {
	first := do(ctx)
	if !passing(ctx, first) {
		return first
	}
	last := first
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	pauses := retry.NewBackoff(retry.Policy{Interval: 200 * time.Millisecond, Max: 5 * time.Second, Jitter: 0.2})
	for passing(ctx, last) {
		if pauses.Wait(limited) != nil {
			return last
		}
		last = do(ctx)
	}
	return last
}

// passing tells whether an error is one that time heals.
func passing(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
			apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || status.Status().Code >= 500
	}
	var network net.Error
	var address *url.Error
	return errors.As(err, &network) || errors.As(err, &address)
}

// serves tells whether a kind is served in a version.
func (k kind) serves(version string) bool { return slices.Contains(k.served, version) }
