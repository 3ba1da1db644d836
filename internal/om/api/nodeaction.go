package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// PostPeerActionDrain drains a node.
var PostPeerActionDrain = Operation[NodeName, OrchestrationQueued]{
	ID: "PostPeerActionDrain", Method: "POST", Path: nodePath + "/action/drain", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404, 409},
	Doc: "Freeze the node, then shut its svc and vol instances down. Answers at once: GET …/daemon/orchestration/id/{id}?wait=5m holds until the node is drained. Refused with 409 while the node is being drained or shut down already.",
	Example: func() (NodeName, OrchestrationQueued) {
		return exampleNode(), exampleQueued()
	},
}

// PostPeerActionAbort aborts the orchestration of a node.
var PostPeerActionAbort = Operation[NodeName, OrchestrationQueued]{
	ID: "PostPeerActionAbort", Method: "POST", Path: nodePath + "/action/abort", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc:     "Abort the drain of the node in progress, if any. Actions already running end by themselves, and the node stays frozen.",
	Example: func() (NodeName, OrchestrationQueued) { return exampleNode(), exampleQueued() },
}

// PostNodeActionClear forgets the failure of a node.
var PostNodeActionClear = Operation[NodeName, Problem]{
	ID: "PostNodeActionClear", Method: "POST", Path: nodePath + "/action/clear", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Forget the failure the monitor of the node remembers, as that of a drain. Clearing what has not failed is no error.",
	Example: func() (NodeName, Problem) {
		return exampleNode(), *NewProblem(200, "the monitor of node1 is idle again, it was drain failed")
	},
}

// PostClusterActionAbort aborts the orchestration of the cluster.
var PostClusterActionAbort = clusterAction("Abort", "abort", "Abort what the cluster is asked to do as a whole, and the drain of this node. Actions already running end by themselves.")

// Stonith names a node to fence.
type Stonith struct {
	Node      string `query:"node" required:"true" maxLength:"255" doc:"Node to fence; not the one that serves the request." example:"node2"`
	Confirmed bool   `query:"confirmed" doc:"Run no command: the node is off for sure, somebody has seen to it. What it ran may then be started elsewhere."`
}

// PostClusterActionStonith fences a node.
var PostClusterActionStonith = Operation[Stonith, Problem]{
	ID: "PostClusterActionStonith", Method: "POST", Path: "/api/cluster/action/stonith", Tag: "cluster", Need: rbac.NeedRoot, Errors: []int{409},
	Doc: "Fence a node from this one, by the command of its stonith section, and answer once that has ended. Refused with 409 when it fails, or when the node said to be off is heard.",
	Example: func() (Stonith, Problem) {
		return Stonith{Node: "node2"}, *NewProblem(200, "node node2 is fenced")
	},
}
