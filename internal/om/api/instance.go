package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// InstanceQuery selects instances.
type InstanceQuery struct {
	Path string `query:"path" doc:"Object selector; empty selects every object." example:"web1"`
	Node string `query:"node" doc:"Node selector; empty selects every node." example:"node1"`
}

// InstanceMeta names an instance.
type InstanceMeta struct {
	Object string `json:"object" example:"web1"`
	Node   string `json:"node" example:"node1"`
}

// InstanceItem is the state of an instance.
type InstanceItem Item[InstanceMeta, cluster.Instance]

// InstanceList is a list of [InstanceItem].
type InstanceList List[InstanceItem]

// ResourceQuery selects resources.
type ResourceQuery struct {
	Path     string `query:"path" doc:"Object selector; empty selects every object." example:"web1"`
	Node     string `query:"node" doc:"Node selector; empty selects every node." example:"node1"`
	Resource string `query:"resource" doc:"Resource ids or groups, separated by commas; globs are allowed." example:"app#1"`
}

// ResourceMeta names a resource of an instance.
type ResourceMeta struct {
	Object    string `json:"object" example:"web1"`
	Node      string `json:"node" example:"node1"`
	EncapNode string `json:"encap_node" doc:"Container the resource lives in, when it is encapsulated."`
	Rid       string `json:"rid" example:"app#1"`
}

// Resource is what is known of a resource of an instance.
type Resource struct {
	Config  *cluster.ResourceConfig  `json:"config,omitempty"`
	Monitor *cluster.ResourceMonitor `json:"monitor,omitempty"`
	Status  *cluster.ResourceStatus  `json:"status,omitempty"`
}

// ResourceItem is the state of a resource.
type ResourceItem Item[ResourceMeta, Resource]

// ResourceList is a list of [ResourceItem].
type ResourceList List[ResourceItem]

// ResourceInfoItem is one key a resource publishes about what it is made of.
type ResourceInfoItem struct {
	Object string `json:"object" example:"web1"`
	Node   string `json:"node" example:"node1"`
	Rid    string `json:"rid" example:"app#1"`
	Key    string `json:"key" example:"driver"`
	Value  string `json:"value" example:"app.simple"`
}

// ResourceInfoList is a list of [ResourceInfoItem].
type ResourceInfoList List[ResourceInfoItem]

// Progress is what an action process says of itself.
type Progress struct {
	SessionID string `json:"session_id" format:"uuid" example:"7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10"`
	State     string `json:"state" doc:"State of the instance monitor." example:"starting"`
	IsPartial bool   `json:"is_partial,omitempty" doc:"The action concerns some of the resources only."`
}

// InstanceProgress posts a [Progress].
type InstanceProgress struct {
	ObjectName
	Body Progress
}

// InstanceStatusPost posts the status an action process evaluated.
type InstanceStatusPost struct {
	ObjectName
	Body cluster.InstanceStatus
}

// GetInstances lists instances.
var GetInstances = Operation[InstanceQuery, InstanceList]{
	ID: "GetInstances", Method: "GET", Path: "/api/instance", Tag: "instance", Need: rbac.Known,
	Doc: "List the selected instances with their configuration, monitor and status.",
	Example: func() (InstanceQuery, InstanceList) {
		return InstanceQuery{Path: "web1"}, InstanceList{Kind: "InstanceList", Items: []InstanceItem{exampleInstance()}}
	},
}

// GetInstance returns one instance.
var GetInstance = Operation[InstanceName, InstanceItem]{
	ID: "GetInstance", Method: "GET", Path: instancePath, Tag: "instance", Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Return the configuration, monitor and status of an instance.",
	Example: func() (InstanceName, InstanceItem) { return exampleInstanceName(), exampleInstance() },
}

// GetResources lists resources.
var GetResources = Operation[ResourceQuery, ResourceList]{
	ID: "GetResources", Method: "GET", Path: "/api/resource", Tag: "instance", Need: rbac.Known,
	Doc: "List the resources of the selected instances.",
	Example: func() (ResourceQuery, ResourceList) {
		return ResourceQuery{Path: "web1", Resource: "app#1"}, ResourceList{Kind: "ResourceList", Items: []ResourceItem{{
			Kind: "ResourceItem", Meta: ResourceMeta{Object: "web1", Node: "node1", Rid: "app#1"},
			Data: Resource{Config: &cluster.ResourceConfig{IsMonitored: true}},
		}}}
	},
}

// GetInstanceConfigFile returns the configuration file an instance runs on.
var GetInstanceConfigFile = Operation[InstanceName, ConfigFile]{
	ID: "GetInstanceConfigFile", Method: "GET", Path: instancePath + "/config/file", Tag: "instance", Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Return the configuration file the node holds for the object, byte for byte. " + sealedDoc,
	Example: func() (InstanceName, ConfigFile) { return exampleInstanceName(), exampleFile() },
}

// GetInstanceResourceInfo returns what the resources of an instance publish.
var GetInstanceResourceInfo = Operation[InstanceName, ResourceInfoList]{
	ID: "GetInstanceResourceInfo", Method: "GET", Path: instancePath + "/resource/info", Tag: "instance", Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Return the keys the resources of an instance publish, from the last refresh.",
	Example: func() (InstanceName, ResourceInfoList) { return exampleInstanceName(), exampleInfo() },
}

// GetObjectResourceInfo returns what the resources of an object publish.
var GetObjectResourceInfo = Operation[ObjectName, ResourceInfoList]{
	ID: "GetObjectResourceInfo", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/resource/info", Tag: "object",
	Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Return the keys the resources of an object publish on each node, from the last refresh.",
	Example: func() (ObjectName, ResourceInfoList) { return exampleName(), exampleInfo() },
}

// PostInstanceClear clears a failed instance.
var PostInstanceClear = Operation[InstanceName, None]{
	ID: "PostInstanceClear", Method: "POST", Path: instancePath + "/clear", Tag: "instance", Need: rbac.NeedOperator, Errors: []int{404},
	Doc:     "Clear the failure the monitor of the instance remembers, so that the daemon may act on it again.",
	Example: func() (InstanceName, None) { return exampleInstanceName(), None{} },
}

// PostInstanceProgress tells the daemon what an action is doing.
var PostInstanceProgress = Operation[InstanceProgress, None]{
	ID: "PostInstanceProgress", Method: "POST", Path: "/api/instance/path/{namespace}/{kind}/{name}/progress", Tag: "instance",
	Need: rbac.ThroughSocket, Trusted: true, Errors: []int{404},
	Doc: "Tell the daemon what an action process of this node is doing. For the agent itself.",
	Example: func() (InstanceProgress, None) {
		return InstanceProgress{ObjectName: exampleName(), Body: Progress{SessionID: exampleSession, State: "starting"}}, None{}
	},
}

// PostInstanceStatus gives the daemon the status an action evaluated.
var PostInstanceStatus = Operation[InstanceStatusPost, None]{
	ID: "PostInstanceStatus", Method: "POST", Path: "/api/instance/path/{namespace}/{kind}/{name}/status", Tag: "instance",
	Need: rbac.ThroughSocket, Trusted: true, Max: 8 << 20, Errors: []int{404},
	Doc: "Give the daemon the status an action process of this node evaluated. For the agent itself.",
	Example: func() (InstanceStatusPost, None) {
		return InstanceStatusPost{ObjectName: exampleName(), Body: cluster.InstanceStatus{Avail: cluster.Up, Overall: cluster.Up}}, None{}
	},
}

const (
	instancePath   = "/api/node/name/{nodename}/instance/path/{namespace}/{kind}/{name}"
	exampleSession = "7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10"
	exampleExec    = "d29abc32-2c0b-45ff-b639-508d5c19fbee"
)

func exampleInstanceName() InstanceName {
	return InstanceName{NodeName: NodeName{Node: "node1"}, ObjectName: exampleName()}
}

func exampleInstance() InstanceItem {
	return InstanceItem{Kind: "InstanceItem", Meta: InstanceMeta{Object: "web1", Node: "node1"}, Data: cluster.Instance{
		Monitor: &cluster.InstanceMonitor{State: "idle", GlobalExpect: "none", LocalExpect: "started"},
	}}
}

func exampleInfo() ResourceInfoList {
	return ResourceInfoList{Kind: "ResourceInfoList", Items: []ResourceInfoItem{
		{Object: "web1", Node: "node1", Rid: "app#1", Key: "driver", Value: "app.simple"},
	}}
}
