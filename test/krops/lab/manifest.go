package lab

import "strings"

// Cluster is the manifest of a cluster of the in-memory infrastructure: a Cluster
// with its control plane, its infrastructure and the template of its machines.
func Cluster(ns, name string) string {
	return strings.NewReplacer("$ns", ns, "$name", name).Replace(`---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata: {name: $name, namespace: $ns, annotations: {lab: "1"}}
spec: {backend: {inMemory: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: $name, namespace: $ns}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: $name, namespace: $ns}
spec:
  replicas: 1
  version: v1.37.2
  machineTemplate:
    spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: $name}}
  kubeadmConfigSpec:
    initConfiguration: {nodeRegistration: {criSocket: "unix:///run/containerd/containerd.sock"}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: $name, namespace: $ns}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: $name}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: $name}
`)
}

// Providers is the manifest of the providers of a management cluster on containers.
func Providers(version string) string {
	return strings.NewReplacer("$v", version).Replace(`---
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: capd-system}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
spec: {version: $v}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: BootstrapProvider
metadata: {name: kubeadm, namespace: capi-system}
spec: {version: $v}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: ControlPlaneProvider
metadata: {name: kubeadm, namespace: capi-system}
spec: {version: $v}
---
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: docker, namespace: capd-system}
spec: {version: $v}
`)
}
