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
var PostClusterActionAbort = clusterAction("Abort", "abort", "Abort what the cluster is asked to do as a whole, and the drains of its nodes. Actions already running end by themselves.")
