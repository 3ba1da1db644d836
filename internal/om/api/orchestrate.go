package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// OrchestrationQueued names the orchestration that was accepted.
type OrchestrationQueued struct {
	OrchestrationID string `json:"orchestration_id" format:"uuid" example:"068b4fb0-ba3f-4d62-81e7-92ed88039239"`
}

// RestartOptions are the options of a restart.
type RestartOptions struct {
	_     struct{} `additionalProperties:"false"`
	Force bool     `json:"force,omitempty" doc:"Also restart the standby resources."`
}

// ObjectRestart restarts an object.
type ObjectRestart struct {
	ObjectName
	Body *RestartOptions `required:"false"`
}

// ObjectStart starts an object.
type ObjectStart struct {
	ObjectName
	Force bool `query:"force" doc:"Start it even where hard_affinity and hard_anti_affinity forbid it."`
}

// PostObjectActionStart starts an object.
var PostObjectActionStart = Operation[ObjectStart, OrchestrationQueued]{
	ID: "PostObjectActionStart", Method: "POST", Path: OrchestrationPath + "start", Tag: "object action",
	Need: rbac.NeedOperator, Errors: orchestrationErrors(),
	Doc: "Start the object where its placement policy says. The flag left by a stop is cleared, a freeze is left as it is." + orchestrationDoc,
	Example: func() (ObjectStart, OrchestrationQueued) {
		return ObjectStart{ObjectName: exampleName()}, exampleQueued()
	},
}

// SwitchOptions say where to move an object.
type SwitchOptions struct {
	_           struct{} `additionalProperties:"false"`
	Destination []string `json:"destination" doc:"The nodes to run it on: the first that can for a failover object, all of them for a flex one. Empty: the next one of the placement policy." example:"[\"node2\"]"`
	Live        bool     `json:"live,omitempty" doc:"Move it without stopping it. Refused until a driver can."`
}

// ObjectSwitch moves an object.
type ObjectSwitch struct {
	ObjectName
	Body SwitchOptions
}

// PostObjectActionSwitch moves an object to other nodes.
var PostObjectActionSwitch = Operation[ObjectSwitch, OrchestrationQueued]{
	ID: "PostObjectActionSwitch", Method: "POST", Path: OrchestrationPath + "switch", Tag: "object action",
	Need: rbac.NeedOperator, Errors: orchestrationErrors(),
	Doc: "Stop the object where it runs, then start it on the destination. A stop that fails keeps from the start. Freezes are left as they are." + orchestrationDoc,
	Example: func() (ObjectSwitch, OrchestrationQueued) {
		return ObjectSwitch{ObjectName: exampleName(), Body: SwitchOptions{Destination: []string{"node2"}}}, exampleQueued()
	},
}

// PostObjectActionGiveback moves an object back to where its placement policy says.
var PostObjectActionGiveback = orchestration("Giveback", "giveback", rbac.NeedOperator,
	"Stop the object where it should not run, then start it where its placement policy says. Nodes and instances that are frozen are passed over.")

// PostObjectActionStop stops an object.
var PostObjectActionStop = orchestration("Stop", "stop", rbac.NeedOperator,
	"Stop the object wherever it runs, and flag it stopped on purpose so that the daemon leaves it down.")

// PostObjectActionFreeze freezes an object.
var PostObjectActionFreeze = orchestration("Freeze", "freeze", rbac.NeedOperator,
	"Freeze the object: the daemon no longer acts on it by itself.")

// PostObjectActionUnfreeze unfreezes an object.
var PostObjectActionUnfreeze = orchestration("Unfreeze", "unfreeze", rbac.NeedOperator,
	"Unfreeze the object: the daemon acts on it by itself again.")

// PostObjectActionProvision provisions an object.
var PostObjectActionProvision = orchestration("Provision", "provision", rbac.NeedAdmin,
	"Make what the configuration of the object describes, on the leader then on the other nodes, and start it.")

// PostObjectActionUnprovision unprovisions an object.
var PostObjectActionUnprovision = orchestration("Unprovision", "unprovision", rbac.NeedAdmin,
	"Destroy what provisioning made: the data is lost. The leader is last.")

// PostObjectActionPurge purges an object.
var PostObjectActionPurge = orchestration("Purge", "purge", rbac.NeedAdmin,
	"Stop, unprovision and delete the object: its data and its configuration are lost.")

// PostObjectActionDelete deletes an object.
var PostObjectActionDelete = orchestration("Delete", "delete", rbac.NeedAdmin,
	"Delete the configuration of the object on every node. Nothing is stopped nor unprovisioned.")

// PostObjectActionAbort aborts the orchestration of an object.
var PostObjectActionAbort = orchestration("Abort", "abort", rbac.NeedOperator,
	"Abort the orchestration in progress on the object. Actions already running end by themselves.")

// PostObjectActionRestart restarts an object.
var PostObjectActionRestart = Operation[ObjectRestart, OrchestrationQueued]{
	ID: "PostObjectActionRestart", Method: "POST", Path: OrchestrationPath + "restart", Tag: "object action",
	Need: rbac.NeedOperator, Errors: orchestrationErrors(),
	Doc: "Stop then start each running instance of the object, one node after the other." + orchestrationDoc,
	Example: func() (ObjectRestart, OrchestrationQueued) {
		return ObjectRestart{ObjectName: exampleName(), Body: &RestartOptions{Force: true}}, exampleQueued()
	},
}

const (
	// OrchestrationPath begins the paths of the actions on objects. A node without an
	// instance of the object passes them on to one that has.
	OrchestrationPath = "/api/object/path/{namespace}/{kind}/{name}/action/"
	orchestrationDoc  = " Answers at once with the id of the orchestration, which any node can be asked about. Refused with 409 while another orchestration of the object is in progress."
)

func orchestrationErrors() []int { return []int{404, 408, 409} }

func orchestration(id, verb string, need rbac.Need, doc string) Operation[ObjectName, OrchestrationQueued] {
	return Operation[ObjectName, OrchestrationQueued]{
		ID: "PostObjectAction" + id, Method: "POST", Path: OrchestrationPath + verb, Tag: "object action",
		Need: need, Doc: doc + orchestrationDoc, Errors: orchestrationErrors(),
		Example: func() (ObjectName, OrchestrationQueued) { return exampleName(), exampleQueued() },
	}
}

func exampleQueued() OrchestrationQueued {
	return OrchestrationQueued{OrchestrationID: "068b4fb0-ba3f-4d62-81e7-92ed88039239"}
}
