// Package lab is where krops-bootstrap meets real API servers: control planes of
// etcd, kube-apiserver and kube-controller-manager on loopback ports, without
// containers. What a lab cannot have is played by small doubles: the kubelet, the
// container engine, kind, Flux, the providers of Cluster API.
//
// The tests have the build tag lab_kube; make lab-kube builds what they need and
// runs them.
package lab
