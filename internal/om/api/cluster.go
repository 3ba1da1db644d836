package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ClusterStatusQuery narrows the objects of a cluster status.
type ClusterStatusQuery struct {
	Namespace string `query:"namespace" doc:"Only the objects of this namespace." example:"ns1"`
	Selector  string `query:"selector" doc:"Only the objects this expression selects." example:"*/svc/*"`
}

// ClusterState is the state of the cluster, its nodes and its objects.
type ClusterState struct {
	Config cluster.Config            `json:"config"`
	Status cluster.Health            `json:"status"`
	Node   map[string]cluster.Node   `json:"node"`
	Object map[string]cluster.Object `json:"object"`
}

// DaemonLocal is the daemon that answered.
type DaemonLocal struct {
	Nodename  string `json:"nodename" example:"node1"`
	Pid       int    `json:"pid" example:"2615"`
	Routines  int    `json:"routines" doc:"Number of goroutines."`
	StartedAt string `json:"started_at" format:"date-time"`
}

// ClusterStatus is the state of the cluster, seen by one daemon.
type ClusterStatus struct {
	Cluster ClusterState `json:"cluster"`
	Daemon  DaemonLocal  `json:"daemon"`
}

// ClusterConfigFile carries the configuration file of the cluster.
type ClusterConfigFile struct {
	ConfigCondition
	RawBody []byte `contentType:"application/octet-stream"`
}

// GetClusterStatus returns the state of the whole cluster.
var GetClusterStatus = Operation[ClusterStatusQuery, ClusterStatus]{
	ID: "GetClusterStatus", Method: "GET", Path: "/api/cluster/status", Tag: "cluster", Need: rbac.AnyRole,
	Doc: "Return the state of the cluster, of its nodes and of its objects, as one daemon sees it. Objects of namespaces the caller may not read are left out.",
	Example: func() (ClusterStatusQuery, ClusterStatus) {
		return ClusterStatusQuery{}, ClusterStatus{
			Cluster: ClusterState{
				Config: cluster.Config{ID: "2f6a0f3c-0a9e-4a3c-9c59-0d1f4f9a3c11", Name: "brave-otter", Nodes: []string{"node1"}, Listener: cluster.ListenerConfig{Port: 1215}},
				Status: cluster.Health{IsCompat: true},
				Node:   map[string]cluster.Node{}, Object: map[string]cluster.Object{"web1": exampleObject().Data},
			},
			Daemon: DaemonLocal{Nodename: "node1", Pid: 2615, Routines: 42, StartedAt: exampleTime},
		}
	},
}

// GetClusterConfig returns keywords of the cluster.
var GetClusterConfig = Operation[ConfigQuery, KeywordList]{
	ID: "GetClusterConfig", Method: "GET", Path: "/api/cluster/config", Tag: "cluster config", Need: rbac.NeedRoot,
	Doc: "Return keywords of the configuration of the cluster, as written and, with evaluate, as they are for a node.",
	Example: func() (ConfigQuery, KeywordList) {
		return ConfigQuery{Keywords: []string{"cluster.name"}}, KeywordList{Kind: "KeywordList", Items: []KeywordItem{
			{Object: "cluster", Node: "node1", Keyword: "cluster.name", Value: "brave-otter"},
		}}
	},
}

// PatchClusterConfig changes the configuration of the cluster.
var PatchClusterConfig = Operation[ConfigChange, Committed]{
	ID: "PatchClusterConfig", Method: "PATCH", Path: "/api/cluster/config", Tag: "cluster config", Need: rbac.NeedRoot, Errors: []int{408},
	Doc: "Change the configuration of the cluster in one transaction. " + formDoc,
	Example: func() (ConfigChange, Committed) {
		return ConfigChange{Set: []string{"listener.port=1216"}}, exampleCommitted()
	},
}

// GetClusterConfigFile returns the configuration file of the cluster.
var GetClusterConfigFile = Operation[None, ConfigFile]{
	ID: "GetClusterConfigFile", Method: "GET", Path: "/api/cluster/config/file", Tag: "cluster config", Need: rbac.NeedRoot,
	Doc: "Return the configuration file of the cluster, byte for byte. It holds the secret of the cluster.",
	Example: func() (None, ConfigFile) {
		return None{}, ConfigFile{LastModified: exampleTime, RawBody: []byte("[cluster]\nname = brave-otter\n")}
	},
}

// PutClusterConfigFile replaces the configuration of the cluster.
var PutClusterConfigFile = Operation[ClusterConfigFile, Written]{
	ID: "PutClusterConfigFile", Method: "PUT", Path: "/api/cluster/config/file", Tag: "cluster config", Need: rbac.NeedRoot,
	Status: 204, Errors: []int{412, 413}, Max: maxConfig,
	Doc: "Replace the configuration of the cluster. A configuration that does not validate is refused, with each of its problems.",
	Example: func() (ClusterConfigFile, Written) {
		return ClusterConfigFile{RawBody: []byte("[cluster]\nname = brave-otter\n")}, Written{LastModified: exampleTime}
	},
}

// GetClusterConfigKeywords documents the keywords of the cluster.
var GetClusterConfigKeywords = Operation[KeywordQuery, KeywordDefinitionList]{
	ID: "GetClusterConfigKeywords", Method: "GET", Path: "/api/cluster/config/keywords", Tag: "cluster config", Need: rbac.Known,
	Doc: "Document the keywords of the configuration of the cluster.",
	Example: func() (KeywordQuery, KeywordDefinitionList) {
		return KeywordQuery{Section: "listener"}, exampleDefinitions("listener", "port")
	},
}

// PostClusterActionFreeze freezes every node.
var PostClusterActionFreeze = clusterAction("Freeze", "freeze", "Freeze every node of the cluster: the daemons act on nothing by themselves.")

// PostClusterActionUnfreeze unfreezes every node.
var PostClusterActionUnfreeze = clusterAction("Unfreeze", "unfreeze", "Let the daemons of the cluster act by themselves again.")

func clusterAction(id, action, doc string) Operation[None, OrchestrationQueued] {
	return Operation[None, OrchestrationQueued]{
		ID: "PostClusterAction" + id, Method: "POST", Path: "/api/cluster/action/" + action, Tag: "cluster", Need: rbac.NeedRoot, Errors: []int{503},
		Doc:     doc + " The runs on the nodes are listed under the orchestration answered.",
		Example: func() (None, OrchestrationQueued) { return None{}, exampleQueued() },
	}
}
