package move_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const ns = "fleet"

// object makes an object of field/value pairs; a dotted field is a path.
func object(version, kind, namespace, name string, fields ...any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	u.SetName(name)
	u.SetNamespace(namespace)
	for i := 0; i < len(fields); i += 2 {
		path, _ := fields[i].(string)
		if err := unstructured.SetNestedField(u.Object, fields[i+1], strings.Split(path, ".")...); err != nil {
			panic(err)
		}
	}
	return u
}

func owned(u *unstructured.Unstructured, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	var refs []metav1.OwnerReference
	for i, o := range owners {
		controller := i == 0
		refs = append(refs, metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), Controller: &controller})
	}
	u.SetOwnerReferences(refs)
	return u
}

// crd makes a definition. flags are: bare (no label of clusterctl), global, tree, and any version in place of v1beta2.
func crd(group, kind, plural string, flags ...string) *unstructured.Unstructured {
	labels := map[string]string{"clusterctl.cluster.x-k8s.io": ""}
	scope, version := "Namespaced", "v1beta2"
	for _, f := range flags {
		switch f {
		case "bare":
			delete(labels, "clusterctl.cluster.x-k8s.io")
		case "global":
			scope = "Cluster"
		case "tree":
			labels["clusterctl.cluster.x-k8s.io/move-hierarchy"] = "true"
		default:
			version = f
		}
	}
	u := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", plural+"."+group,
		"spec.group", group, "spec.names.kind", kind, "spec.names.plural", plural, "spec.scope", scope,
		"spec.versions", []any{map[string]any{"name": version, "served": true, "storage": true}})
	u.SetLabels(labels)
	return u
}

const (
	core      = "cluster.x-k8s.io/v1beta2"
	infra     = "infrastructure.cluster.x-k8s.io/v1beta2"
	control   = "controlplane.cluster.x-k8s.io/v1beta2"
	bootstrap = "bootstrap.cluster.x-k8s.io/v1beta2"
)

// capi installs Cluster API: its definitions and the inventory of its providers.
func capi(s *server) {
	for _, d := range []*unstructured.Unstructured{
		crd("cluster.x-k8s.io", "Cluster", "clusters"),
		crd("cluster.x-k8s.io", "ClusterClass", "clusterclasses"),
		crd("cluster.x-k8s.io", "Machine", "machines"),
		crd("cluster.x-k8s.io", "MachineSet", "machinesets"),
		crd("cluster.x-k8s.io", "MachineDeployment", "machinedeployments"),
		crd("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "kubeadmcontrolplanes"),
		crd("bootstrap.cluster.x-k8s.io", "KubeadmConfig", "kubeadmconfigs"),
		crd("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "kubeadmconfigtemplates"),
		crd("infrastructure.cluster.x-k8s.io", "DevCluster", "devclusters"),
		crd("infrastructure.cluster.x-k8s.io", "DevMachine", "devmachines"),
		crd("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", "devmachinetemplates"),
		crd("infrastructure.cluster.x-k8s.io", "DevIdentity", "devidentities", "global", "tree"),
		crd("clusterctl.cluster.x-k8s.io", "Provider", "providers", "v1alpha3"),
	} {
		s.put(d)
	}
	for _, name := range []string{ns, "capd-system", "default"} {
		s.put(object("v1", "Namespace", "", name))
	}
	for _, p := range [][]string{{"cluster-api", "CoreProvider", "v1.14.2"}, {"docker", "InfrastructureProvider", "v1.14.2"}} {
		s.put(object("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider", "capd-system", p[0], "providerName", p[0], "type", p[1], "version", p[2]))
	}
}

func secretOf(name, in, value string) *unstructured.Unstructured {
	return object("v1", "Secret", in, name, "type", "cluster.x-k8s.io/secret", "data.value", value)
}

// plant makes a cluster that is provisioned, with all that hangs on it: a control
// plane, a deployment of two machines, secrets, templates, an identity of the
// whole server with its secret. Things that are not moved are beside it.
func plant(s *server, name string) {
	labels := map[string]string{"cluster.x-k8s.io/cluster-name": name}
	label := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.SetLabels(labels)
		return u
	}
	cluster := s.put(object(core, "Cluster", ns, name,
		"spec.controlPlaneRef", map[string]any{"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": name},
		"spec.infrastructureRef", map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name},
		"metadata.finalizers", []any{"cluster.cluster.x-k8s.io"},
		"status.initialization", map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
		"status.conditions", []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "lastTransitionTime": "2026-01-01T00:00:00Z"}}))
	s.put(owned(label(object(infra, "DevCluster", ns, name, "metadata.finalizers", []any{"devcluster"})), cluster))
	template := s.put(owned(label(object(infra, "DevMachineTemplate", ns, name)), cluster))
	s.put(owned(label(object(bootstrap, "KubeadmConfigTemplate", ns, name)), cluster))
	kcp := s.put(owned(label(object(control, "KubeadmControlPlane", ns, name,
		"metadata.finalizers", []any{"kcp"},
		"spec.machineTemplate.infrastructureRef", map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": template.GetName()})), cluster))
	deployment := s.put(owned(label(object(core, "MachineDeployment", ns, name+"-md")), cluster))
	set := s.put(owned(label(object(core, "MachineSet", ns, name+"-ms")), deployment))
	for _, m := range []string{"cp", "a", "b"} {
		owner := set
		if m == "cp" {
			owner = kcp
		}
		id := name + "-" + m
		machine := s.put(owned(label(object(core, "Machine", ns, id,
			"spec.clusterName", name, "metadata.finalizers", []any{"machine.cluster.x-k8s.io"},
			"spec.bootstrap.configRef", map[string]any{"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": id},
			"spec.infrastructureRef", map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachine", "name": id},
			"status.nodeRef.name", "node-"+id)), owner))
		s.put(owned(label(object(infra, "DevMachine", ns, id, "metadata.finalizers", []any{"devmachine"})), machine))
		s.put(owned(label(object(bootstrap, "KubeadmConfig", ns, id)), machine))
	}
	for _, what := range []string{"ca", "kubeconfig", "sa"} {
		u := secretOf(name+"-"+what, ns, "c2VjcmV0")
		if what == "kubeconfig" {
			u = owned(u, kcp)
		}
		s.put(u)
	}
}

// plantWorld makes what belongs to no cluster.
func plantWorld(s *server) {
	identity := s.put(object(infra, "DevIdentity", "", "default"))
	s.put(owned(secretOf("identity", "capd-system", "aWQ="), identity))
	moved := secretOf("cloud", ns, "eA==")
	moved.SetLabels(map[string]string{"clusterctl.cluster.x-k8s.io/move": ""})
	s.put(moved)
	s.put(secretOf("not-moved", ns, "eQ=="))
	s.put(object("v1", "ConfigMap", ns, "settings", "data.a", "b"))
}

// stays tells what a move leaves at the source.
func stays(id string) bool {
	return slices.Contains([]string{
		"/secrets/" + ns + "/not-moved", "/configmaps/" + ns + "/settings", "/configmaps/" + ns + "/krops-move",
		"/secrets/capd-system/identity", "infrastructure.cluster.x-k8s.io/devidentities//default",
	}, id)
}

// pair is a source with an inventory and a target that could hold it.
func pair(t *testing.T) (source, target *server) {
	t.Helper()
	mu := &sync.Mutex{}
	source, target = newServer(t, mu, "source"), newServer(t, mu, "target")
	capi(source)
	capi(target)
	plantWorld(source)
	plant(source, "mgmt")
	return source, target
}
