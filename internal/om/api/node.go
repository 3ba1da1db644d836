package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// NodeQuery selects nodes.
type NodeQuery struct {
	Node string `query:"node" doc:"Node selector; empty selects every node." example:"node1"`
}

// NodeMeta names a node.
type NodeMeta struct {
	Node string `json:"node" example:"node1"`
}

// NodeItem is the state of a node.
type NodeItem Item[NodeMeta, cluster.Node]

// NodeList is a list of [NodeItem].
type NodeList List[NodeItem]

// NodeLabel is a label of a node.
type NodeLabel struct {
	Name  string `json:"name" example:"rack"`
	Value string `json:"value" example:"r12"`
}

// NodeListener is where the API of a node is reached.
type NodeListener struct {
	Addr string `json:"addr" doc:"Address listened on; empty is every address."`
	Port int    `json:"port" example:"1215"`
}

// NodeInfo is what a client needs to select and to reach a node.
type NodeInfo struct {
	Nodename string       `json:"nodename" example:"node1"`
	Env      string       `json:"env" example:"TST"`
	Labels   []NodeLabel  `json:"labels"`
	Paths    []struct{}   `json:"paths" doc:"Paths to the storage networks."`
	Listener NodeListener `json:"listener"`
}

// NodesInfo is a [NodeInfo] by node.
type NodesInfo map[string]NodeInfo

// DriverData names a driver.
type DriverData struct {
	Name string `json:"name" example:"app.simple"`
}

// DriverItem is a driver of a node.
type DriverItem Item[NodeMeta, DriverData]

// DriverList is a list of [DriverItem].
type DriverList struct {
	Kind  string       `json:"kind" enum:"DriversList"`
	Items []DriverItem `json:"items"`
}

// NodeConfigQuery asks for keywords of a node.
type NodeConfigQuery struct {
	NodeName
	ConfigQuery
}

// NodeConfigChange changes the configuration of a node.
type NodeConfigChange struct {
	NodeName
	ConfigChange
}

// NodeConfigFile carries the configuration file of a node.
type NodeConfigFile struct {
	NodeName
	ConfigCondition
	RawBody []byte `contentType:"application/octet-stream"`
}

// NodeKeywordQuery asks for the keywords a node may have.
type NodeKeywordQuery struct {
	NodeName
	KeywordQuery
}

// NodeAction is an action on a node.
type NodeAction struct {
	NodeName
	SessionID string `query:"session_id" doc:"Session the run belongs to; one is made when absent."`
}

// NodeActionAccepted names the run of an action on a node.
type NodeActionAccepted struct {
	SessionID string `json:"session_id" format:"uuid" example:"7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10"`
	ExecID    string `json:"exec_id" format:"uuid" example:"d29abc32-2c0b-45ff-b639-508d5c19fbee"`
}

// PostPeerActionFreeze freezes a node.
var PostPeerActionFreeze = nodeAction("Freeze", "freeze", "Freeze the node: its daemon acts on nothing by itself.")

// PostPeerActionUnfreeze unfreezes a node.
var PostPeerActionUnfreeze = nodeAction("Unfreeze", "unfreeze", "Let the daemon of the node act by itself again.")

func nodeAction(id, action, doc string) Operation[NodeAction, NodeActionAccepted] {
	return Operation[NodeAction, NodeActionAccepted]{
		ID: "PostPeerAction" + id, Method: "POST", Path: nodePath + "/action/" + action, Tag: "node", Need: rbac.NeedRoot, Errors: []int{404, 503},
		Doc: doc + " Answers at once with the session and the run; GET …/daemon/exec/id/{id}?wait=5m holds until the run ends.",
		Example: func() (NodeAction, NodeActionAccepted) {
			return NodeAction{NodeName: exampleNode()}, NodeActionAccepted{SessionID: exampleSession, ExecID: exampleExec}
		},
	}
}

// GetNodes lists the nodes.
var GetNodes = Operation[NodeQuery, NodeList]{
	ID: "GetNodes", Method: "GET", Path: "/api/node", Tag: "node", Need: rbac.NeedRoot,
	Doc: "List the selected nodes with their configuration, monitor, status and load.",
	Example: func() (NodeQuery, NodeList) {
		return NodeQuery{}, NodeList{Kind: "NodeList", Items: []NodeItem{{
			Kind: "NodeItem", Meta: NodeMeta{Node: "node1"},
			Data: cluster.Node{Monitor: cluster.NodeMonitor{State: "idle", GlobalExpect: "none", LocalExpect: "none"}},
		}}}
	},
}

// GetNodesInfo returns the labels and listeners of the nodes.
var GetNodesInfo = Operation[None, NodesInfo]{
	ID: "GetNodesInfo", Method: "GET", Path: "/api/node/info", Tag: "node", Need: rbac.AnyRole,
	Doc: "Return the labels of the nodes and where their API is reached.",
	Example: func() (None, NodesInfo) {
		return None{}, NodesInfo{"node1": {
			Nodename: "node1", Env: "TST", Labels: []NodeLabel{{Name: "rack", Value: "r12"}},
			Paths: []struct{}{}, Listener: NodeListener{Port: 1215},
		}}
	},
}

// GetNodePing answers when the node does.
var GetNodePing = Operation[NodeName, None]{
	ID: "GetNodePing", Method: "GET", Path: nodePath + "/ping", Tag: "node", Need: rbac.NeedRoot, Status: 204, Errors: []int{404},
	Doc:     "Answer, when the daemon of the node does.",
	Example: func() (NodeName, None) { return exampleNode(), None{} },
}

// GetNodeDrivers lists the drivers of a node.
var GetNodeDrivers = Operation[NodeName, DriverList]{
	ID: "GetNodeDriver", Method: "GET", Path: nodePath + "/drivers", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "List the resource drivers the agent of the node has.",
	Example: func() (NodeName, DriverList) {
		return exampleNode(), DriverList{Kind: "DriversList", Items: []DriverItem{
			{Kind: "DriverItem", Meta: NodeMeta{Node: "node1"}, Data: DriverData{Name: "app.simple"}},
		}}
	},
}

// GetNodeConfig returns keywords of a node.
var GetNodeConfig = Operation[NodeConfigQuery, KeywordList]{
	ID: "GetNodeConfig", Method: "GET", Path: nodePath + "/config", Tag: "node config", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Return keywords of the configuration of the node, as written and, with evaluate, as they are.",
	Example: func() (NodeConfigQuery, KeywordList) {
		return NodeConfigQuery{NodeName: exampleNode(), ConfigQuery: ConfigQuery{Keywords: []string{"node.env"}}},
			KeywordList{Kind: "KeywordList", Items: []KeywordItem{{Node: "node1", Keyword: "node.env", Value: "TST"}}}
	},
}

// PatchNodeConfig changes the configuration of a node.
var PatchNodeConfig = Operation[NodeConfigChange, Committed]{
	ID: "PatchNodeConfig", Method: "PATCH", Path: nodePath + "/config", Tag: "node config", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Change the configuration of the node in one transaction. " + formDoc,
	Example: func() (NodeConfigChange, Committed) {
		return NodeConfigChange{NodeName: exampleNode(), ConfigChange: ConfigChange{Set: []string{"node.env=PRD"}}}, exampleCommitted()
	},
}

// GetNodeConfigFile returns the configuration file of a node.
var GetNodeConfigFile = Operation[NodeName, ConfigFile]{
	ID: "GetNodeConfigFile", Method: "GET", Path: nodePath + "/config/file", Tag: "node config", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Return the configuration file of the node, byte for byte.",
	Example: func() (NodeName, ConfigFile) {
		return exampleNode(), ConfigFile{LastModified: exampleTime, RawBody: []byte("[node]\nenv = PRD\n")}
	},
}

// PutNodeConfigFile replaces the configuration of a node.
var PutNodeConfigFile = Operation[NodeConfigFile, Written]{
	ID: "PutNodeConfigFile", Method: "PUT", Path: nodePath + "/config/file", Tag: "node config", Need: rbac.NeedRoot,
	Status: 204, Errors: []int{404, 412, 413}, Max: maxConfig,
	Doc: "Replace the configuration of the node. A configuration that does not validate is refused, with each of its problems.",
	Example: func() (NodeConfigFile, Written) {
		return NodeConfigFile{NodeName: exampleNode(), RawBody: []byte("[node]\nenv = PRD\n")}, Written{LastModified: exampleTime}
	},
}

// GetNodeConfigKeywords documents the keywords of a node.
var GetNodeConfigKeywords = Operation[NodeKeywordQuery, KeywordDefinitionList]{
	ID: "GetNodeConfigKeywords", Method: "GET", Path: nodePath + "/config/keywords", Tag: "node config", Need: rbac.Known, Errors: []int{404},
	Doc: "Document the keywords of the configuration of a node.",
	Example: func() (NodeKeywordQuery, KeywordDefinitionList) {
		return NodeKeywordQuery{NodeName: exampleNode(), KeywordQuery: KeywordQuery{Option: "env"}}, exampleDefinitions("node", "env")
	},
}

const nodePath = "/api/node/name/{nodename}"

func exampleNode() NodeName { return NodeName{Node: "node1"} }
