package site

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Status is what there is of an environment, as far as it could be asked.
type Status struct {
	Controllers string        `json:"controller_host"` // kind, self-managed, unreachable, unknown
	Why         string        `json:"controller_host_unknown,omitempty"`
	Servers     []ServerState `json:"servers"`
}

// ServerState is one of the two clusters.
type ServerState struct {
	Name    string `json:"name"`            // kind, management
	Where   string `json:"where"`           // name of the kind cluster, file
	State   string `json:"state"`           // answers, absent, unknown
	Unknown string `json:"why,omitempty"`   // why it is not known, or does not answer
	Parts   []Part `json:"parts,omitempty"` // what is on it
	Run     *Tags  `json:"run,omitempty"`
}

// Part is a listing of objects on a cluster.
type Part struct {
	Kind    string  `json:"kind"`
	Unknown string  `json:"unknown,omitempty"` // why it could not be listed
	Items   []State `json:"items"`
}

// State is how an object is.
type State struct {
	Name    string `json:"name"`
	Ready   string `json:"ready"` // True, False, Unknown
	Phase   string `json:"phase,omitempty"`
	Message string `json:"message,omitempty"`
}

// Tags are those of the run that made a cluster.
type Tags struct {
	ID       string `json:"id"`
	Revision string `json:"revision"`
	Kind     string `json:"kind"`
	Expires  string `json:"expires_at"`
	Expired  bool   `json:"expired"`
}

// The states of a cluster.
const (
	answers = "answers"
	absent  = "absent"
	unknown = "unknown"
)

// Status looks at both clusters and changes nothing.
func (s *Site) Status(ctx context.Context) Status {
	var st Status
	w := s.Observe(ctx, plan.World{}, "controller/host")
	st.Controllers = w.Host.String()
	if why, failed := w.Of("controller/host").Failed(); failed {
		st.Why = why
	}
	st.Servers = []ServerState{
		s.server(ctx, "kind", s.Settings.KindCluster, "host/kind-cluster", s.source),
		s.server(ctx, "management", s.Settings.MgmtKubeconfig, "host/mgmt-kubeconfig", s.target),
	}
	return st
}

func (s *Site) server(ctx context.Context, name, where string, f plan.Fact, open func(context.Context) (*kube.Cluster, error)) ServerState {
	st := ServerState{Name: name, Where: where, State: unknown}
	found := s.Observe(ctx, plan.World{}, f).Of(f)
	if why, failed := found.Failed(); failed {
		st.Unknown = why
		return st
	}
	if found.Gone() {
		st.State = absent
		return st
	}
	c, err := open(ctx)
	if err == nil {
		err = c.Answers(ctx)
	}
	if err != nil {
		st.Unknown = err.Error()
		if f := kube.Classify(err, false).Failure; f != plan.Unauthorized && f != plan.Forbidden {
			st.Unknown = "it does not answer: " + st.Unknown
		}
		return st
	}
	st.State = answers
	flux := s.Settings.File.Bootstrap.FluxNamespace
	st.Parts = append(st.Parts, listed(ctx, c, "Cluster", "", kube.CAPICluster), providers(ctx, c), listed(ctx, c, "Kustomization", flux, kube.Kustomization))
	st.Run, err = s.runOf(ctx, c, flux)
	if err != nil {
		st.Parts = append(st.Parts, Part{Kind: "ConfigMap " + flux + "/" + runTags, Unknown: err.Error()})
	}
	return st
}

// listed lists the objects of some kinds.
func listed(ctx context.Context, c *kube.Cluster, name, namespace string, kinds ...schema.GroupKind) Part {
	p := Part{Kind: name, Items: []State{}}
	for _, kind := range kinds {
		found, err := c.List(ctx, kind, namespace)
		a := kube.Classify(err, false)
		if why, failed := plan.List(a).Known().Failed(); failed {
			p.Unknown = why
			continue
		}
		for i := range found {
			p.Items = append(p.Items, stateOf(&found[i], len(kinds) > 1))
		}
	}
	return p
}

func providers(ctx context.Context, c *kube.Cluster) Part {
	return listed(ctx, c, "Provider", "", kube.Providers()...)
}

// stateOf reads the conditions of an object. What of a Cluster is called Available
// is Ready of all others.
func stateOf(u *unstructured.Unstructured, withKind bool) State {
	st := State{Name: kube.Name(u), Ready: "Unknown"}
	if withKind {
		st.Name = u.GetKind() + " " + st.Name
	}
	for _, condition := range []string{"Ready", "Available"} {
		status, reason, message, ok := kube.Condition(u, condition)
		if !ok {
			continue
		}
		st.Ready = status
		if status != "True" {
			st.Message = strings.Join(strings.Fields(strings.TrimPrefix(reason+": "+message, ": ")), " ")
		}
		break
	}
	st.Phase, _, _ = unstructured.NestedString(u.Object, "status", "phase")
	if version, ok, _ := unstructured.NestedString(u.Object, "status", "installedVersion"); ok {
		st.Phase = version
	}
	if suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); suspended {
		st.Phase = "suspended"
	}
	if paused, _, _ := unstructured.NestedBool(u.Object, "spec", "paused"); paused {
		st.Phase = strings.TrimSpace(st.Phase + " paused")
	}
	if u.GetDeletionTimestamp() != nil {
		st.Phase = "Deleting"
	}
	return st
}

// runOf reads what the run that made the cluster left.
func (s *Site) runOf(ctx context.Context, c *kube.Cluster, namespace string) (*Tags, error) {
	found := c.Lookup(ctx, kube.ConfigMap, namespace, runTags)
	if why, failed := found.Failed(); failed {
		return nil, fmt.Errorf("read it: %s", why)
	}
	if found.Gone() {
		return nil, nil //nolint:nilnil // none is an answer
	}
	data, err := c.ConfigMapData(ctx, namespace, runTags)
	if err != nil {
		return nil, err
	}
	t := &Tags{ID: data["KROPS_RUN_ID"], Revision: data["KROPS_REVISION"], Kind: data["KROPS_RUN_KIND"], Expires: data["KROPS_EXPIRES_AT"]}
	if at, err := time.Parse(time.RFC3339, t.Expires); err == nil {
		t.Expired = s.now().After(at)
	}
	return t, nil
}
