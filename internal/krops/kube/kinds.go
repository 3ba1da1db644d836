package kube

import "k8s.io/apimachinery/pkg/runtime/schema"

// The groups of the kinds.
const (
	clusterAPI   = "cluster.x-k8s.io"
	operator     = "operator.cluster.x-k8s.io"
	controlPlane = "fluxcd.controlplane.io"
	kustomize    = "kustomize.toolkit.fluxcd.io"
	extensions   = "apiextensions.k8s.io"
)

// The kinds a bootstrap speaks of. Which version of them is spoken, the server
// decides.
var (
	Namespace  = schema.GroupKind{Kind: "Namespace"}
	Node       = schema.GroupKind{Kind: "Node"}
	Pod        = schema.GroupKind{Kind: "Pod"}
	Secret     = schema.GroupKind{Kind: "Secret"}
	ConfigMap  = schema.GroupKind{Kind: "ConfigMap"}
	Deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}

	CustomResourceDefinition = schema.GroupKind{Group: extensions, Kind: "CustomResourceDefinition"}

	CAPICluster      = schema.GroupKind{Group: clusterAPI, Kind: "Cluster"}
	CAPIClusterClass = schema.GroupKind{Group: clusterAPI, Kind: "ClusterClass"}
	CAPIMachine      = schema.GroupKind{Group: clusterAPI, Kind: "Machine"}

	AddonProvider          = schema.GroupKind{Group: operator, Kind: "AddonProvider"}
	ControlPlaneProvider   = schema.GroupKind{Group: operator, Kind: "ControlPlaneProvider"}
	BootstrapProvider      = schema.GroupKind{Group: operator, Kind: "BootstrapProvider"}
	InfrastructureProvider = schema.GroupKind{Group: operator, Kind: "InfrastructureProvider"}
	CoreProvider           = schema.GroupKind{Group: operator, Kind: "CoreProvider"}

	FluxInstance  = schema.GroupKind{Group: controlPlane, Kind: "FluxInstance"}
	Kustomization = schema.GroupKind{Group: kustomize, Kind: "Kustomization"}
)

// Providers lists the kinds of the Cluster API operator in the order a teardown
// removes them: what is built on others first.
func Providers() []schema.GroupKind {
	return []schema.GroupKind{AddonProvider, ControlPlaneProvider, BootstrapProvider, InfrastructureProvider, CoreProvider}
}
