package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Object is any object of an API server.
type Object = unstructured.Unstructured

// Kind names a kind of objects.
func Kind(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }

// A Client is how the lab itself speaks to an API server: not with what it tests.
type Client struct {
	Rest    *rest.Config
	Dynamic dynamic.Interface

	mapper *restmapper.DeferredDiscoveryRESTMapper
	find   *discovery.DiscoveryClient

	mu     sync.Mutex
	served map[string]bool // groups that were
}

// NewClient returns a client; it asks nothing yet.
func NewClient(rc *rest.Config) (*Client, error) {
	rc = rest.CopyConfig(rc)
	rc.QPS, rc.Burst = 500, 1000
	rc.WarningHandler = rest.NoWarnings{}
	d, err := dynamic.NewForConfig(rc)
	if err != nil {
		return nil, err
	}
	found, err := discovery.NewDiscoveryClientForConfig(rc)
	if err != nil {
		return nil, err
	}
	return &Client{
		Rest: rc, Dynamic: d, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found)),
		find: found, served: map[string]bool{},
	}, nil
}

// serves tells whether a group is served: one cheap question, while to look for a
// kind that is not there means to ask for all there are.
func (c *Client) serves(ctx context.Context, group string) (bool, error) {
	c.mu.Lock()
	known := c.served[group]
	c.mu.Unlock()
	if known {
		return true, nil
	}
	err := c.find.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served[group] = err == nil
	return err == nil, err
}

// resource is where objects of a kind are, waiting for kinds that are about to be served.
func (c *Client) resource(ctx context.Context, gk schema.GroupKind, ns string, patient bool, versions ...string) (dynamic.ResourceInterface, error) {
	var m *meta.RESTMapping
	find := func() (err error) {
		if m, err = c.mapper.RESTMapping(gk, versions...); err != nil {
			c.mapper.Reset()
		}
		return err
	}
	err := find()
	if err != nil && patient {
		err = Poll(ctx, 20*time.Second, 200*time.Millisecond, find)
	} else if err != nil {
		err = find()
	}
	if err != nil {
		return nil, err
	}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.Dynamic.Resource(m.Resource), nil
	}
	return c.Dynamic.Resource(m.Resource).Namespace(ns), nil
}

// Get returns an object.
func (c *Client) Get(ctx context.Context, gk schema.GroupKind, ns, name string) (*Object, error) {
	r, err := c.resource(ctx, gk, ns, false)
	if err != nil {
		return nil, err
	}
	return r.Get(ctx, name, metav1.GetOptions{})
}

// List returns objects, those of all namespaces for "".
func (c *Client) List(ctx context.Context, gk schema.GroupKind, ns string) ([]Object, error) {
	r, err := c.resource(ctx, gk, ns, false)
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Apply makes objects what they are here, one after the other.
func (c *Client) Apply(ctx context.Context, objects ...*Object) error {
	return c.apply(ctx, "", objects)
}

// ApplyStatus does the same with their status.
func (c *Client) ApplyStatus(ctx context.Context, objects ...*Object) error {
	return c.apply(ctx, "status", objects)
}

func (c *Client) apply(ctx context.Context, part string, objects []*Object) error {
	for _, o := range objects {
		gvk := o.GroupVersionKind()
		ns := o.GetNamespace()
		if ns == "" {
			ns = metav1.NamespaceDefault
		}
		r, err := c.resource(ctx, gvk.GroupKind(), ns, true, gvk.Version)
		if err != nil {
			return fmt.Errorf("apply %s: %w", label(o), err)
		}
		options := metav1.ApplyOptions{FieldManager: "lab", Force: true}
		if part == "" {
			_, err = r.Apply(ctx, o.GetName(), o, options)
		} else {
			_, err = r.ApplyStatus(ctx, o.GetName(), o, options)
		}
		if err != nil {
			return fmt.Errorf("apply %s: %w", label(o), err)
		}
	}
	return nil
}

// Patch merges a patch into an object, or into one of its parts.
func (c *Client) Patch(ctx context.Context, gk schema.GroupKind, ns, name string, patch any, parts ...string) error {
	r, err := c.resource(ctx, gk, ns, false)
	if err != nil {
		return err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = r.Patch(ctx, name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: "lab"}, parts...)
	return err
}

// Delete deletes an object in the background; one that is gone is fine.
func (c *Client) Delete(ctx context.Context, gk schema.GroupKind, ns, name string) error {
	r, err := c.resource(ctx, gk, ns, false)
	if err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return err
	}
	background := metav1.DeletePropagationBackground
	err = r.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Condition is the status of a condition of an object, "" when it has none of that type.
func Condition(o *Object, kind string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // what is no list has no conditions
	for _, c := range list {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			status, _ := m["status"].(string)
			return status
		}
	}
	return ""
}

// Objects reads the objects of a text of YAML.
func Objects(text string) ([]*Object, error) {
	var list []*Object
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		o := &Object{}
		if err := decoder.Decode(&o.Object); err != nil {
			if errors.Is(err, io.EOF) {
				return list, nil
			}
			return nil, err
		}
		if len(o.Object) > 0 {
			list = append(list, o)
		}
	}
}

func label(o *Object) string {
	return strings.TrimPrefix(o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName(), " ")
}

// Poll repeats a question until it has no error, at most for limit. The last error is returned.
func Poll(ctx context.Context, limit, pause time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not within %s", limit), err)
		case <-tick.C:
		}
	}
}
