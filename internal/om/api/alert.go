package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// AlertList lists what is wrong in a configuration.
type AlertList List[keyword.Alert]

// GetObjectConfigAlerts checks the configuration of an object.
var GetObjectConfigAlerts = Operation[ObjectName, AlertList]{
	ID: "GetObjectConfigAlerts", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/config/alert", Tag: "object config",
	Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Check the configuration of an object as it is, on each of its nodes. " + alertDoc,
	Example: func() (ObjectName, AlertList) { return exampleName(), exampleAlerts() },
}

// GetClusterConfigAlerts checks the configuration of the cluster.
var GetClusterConfigAlerts = Operation[None, AlertList]{
	ID: "GetClusterConfigAlerts", Method: "GET", Path: "/api/cluster/config/alert", Tag: "cluster config", Need: rbac.NeedRoot,
	Doc:     "Check the configuration of the cluster as it is. " + alertDoc,
	Example: func() (None, AlertList) { return None{}, exampleAlerts() },
}

// GetNodeConfigAlerts checks the configuration of a node.
var GetNodeConfigAlerts = Operation[NodeName, AlertList]{
	ID: "GetNodeConfigAlerts", Method: "GET", Path: nodePath + "/config/alert", Tag: "node config", Need: rbac.NeedRoot, Errors: []int{404},
	Doc:     "Check the configuration of the node as it is. " + alertDoc,
	Example: func() (NodeName, AlertList) { return exampleNode(), exampleAlerts() },
}

const alertDoc = "An alert of level error is what a commit would refuse; there is none in a valid configuration."

func exampleAlerts() AlertList {
	return AlertList{Kind: "AlertList", Items: []keyword.Alert{{
		Level: keyword.LevelWarning, Kind: keyword.AlertUnknownKeyword, Section: "app#1", Option: "nosuch", Driver: "app.simple", Comment: "app#1.nosuch: unknown keyword",
	}}}
}
