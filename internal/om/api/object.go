package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ObjectQuery selects objects.
type ObjectQuery struct {
	Path string `query:"path" doc:"Selector expression; empty selects every object." example:"ns1/svc/web*"`
}

// ObjectPathQuery selects objects by an expression that must be given.
type ObjectPathQuery struct {
	Path string `query:"path" required:"true" doc:"Selector expression." example:"**"`
}

// ObjectMeta names an object.
type ObjectMeta struct {
	Object string `json:"object" doc:"Path of the object." example:"ns1/svc/web1"`
}

// ObjectItem is the state of an object and of its instances.
type ObjectItem Item[ObjectMeta, cluster.Object]

// ObjectList is a list of [ObjectItem].
type ObjectList List[ObjectItem]

// ObjectPaths are paths, sorted.
type ObjectPaths []string

// GetObjects lists the objects with their state.
var GetObjects = Operation[ObjectQuery, ObjectList]{
	ID: "GetObjects", Method: "GET", Path: "/api/object", Tag: "object", Need: rbac.Known,
	Doc: "List the selected objects, with the states of their instances. Objects of namespaces the caller may not read are left out. The answer carries an entity tag: send it back in If-None-Match to be told that nothing changed.",
	Example: func() (ObjectQuery, ObjectList) {
		return ObjectQuery{Path: "web1"}, ObjectList{Kind: "ObjectList", Items: []ObjectItem{exampleObject()}}
	},
}

// GetObjectPaths lists the paths a selector designates.
var GetObjectPaths = Operation[ObjectPathQuery, ObjectPaths]{
	ID: "GetObjectPaths", Method: "GET", Path: "/api/object/path", Tag: "object", Need: rbac.Known, Errors: []int{404},
	Doc: "List the paths of the objects a selector expression designates. An exact path that does not exist is an error; a pattern that matches nothing is an empty list.",
	Example: func() (ObjectPathQuery, ObjectPaths) {
		return ObjectPathQuery{Path: "*/svc/*"}, ObjectPaths{"ns1/svc/web1", "web1"}
	},
}

// GetObject returns one object.
var GetObject = Operation[ObjectName, ObjectItem]{
	ID: "GetObject", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}", Tag: "object", Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "Return the state of an object and of its instances.",
	Example: func() (ObjectName, ObjectItem) {
		return exampleName(), exampleObject()
	},
}

func exampleName() ObjectName { return ObjectName{Namespace: "root", Kind: "svc", Name: "web1"} }

func exampleObject() ObjectItem {
	return ObjectItem{Kind: "ObjectItem", Meta: ObjectMeta{Object: "web1"}, Data: cluster.Object{
		Avail: cluster.Up, Overall: cluster.Up, Provisioned: cluster.ProvisionedTrue, Frozen: "unfrozen",
		Orchestrate: "ha", Topology: "failover", PlacementPolicy: "nodes order", PlacementState: "optimal",
		UpInstancesCount: 1, Priority: 50, Scope: []string{"node1"}, Instances: map[string]cluster.Instance{},
	}}
}
