package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Localhost names the node that answers, whatever its name.
const Localhost = "localhost"

// NodeName is the node part of a path.
type NodeName struct {
	Node string `path:"nodename" doc:"Name of a node of the cluster; localhost is the node that answers." example:"node1"`
}

// ObjectName is the object part of a path.
type ObjectName struct {
	Namespace string `path:"namespace" doc:"Namespace of the object; root when it was created without one." example:"root"`
	Kind      string `path:"kind" doc:"Kind of the object." enum:"svc,vol,cfg,sec,usr,nscfg,ccfg" example:"svc"`
	Name      string `path:"name" doc:"Name of the object." example:"web1"`
}

// Named returns the three parts of p.
func Named(p object.Path) ObjectName {
	return ObjectName{Namespace: p.Namespace, Kind: string(p.Kind), Name: p.Name}
}

// ObjectPath returns the path the parts make.
func (n ObjectName) ObjectPath() (object.Path, error) {
	p := object.Path{Namespace: n.Namespace, Kind: object.Kind(n.Kind), Name: n.Name}
	if err := p.Validate(); err != nil {
		return object.Path{}, err
	}
	return p, nil
}

// InstanceName is the node and the object of an instance.
type InstanceName struct {
	NodeName
	ObjectName
}

// InstanceOf returns the name of the instance of p on node.
func InstanceOf(node string, p object.Path) InstanceName {
	return InstanceName{NodeName: NodeName{Node: node}, ObjectName: Named(p)}
}

// TimeHeader is the layout of the OM-Last-Modified header.
const TimeHeader = time.RFC3339Nano
