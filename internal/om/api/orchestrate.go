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

// PostObjectActionStart starts an object.
var PostObjectActionStart = orchestration("Start", "start", rbac.NeedOperator,
	"Start the object where its placement policy says. The flag left by a stop is cleared, a freeze is left as it is.")

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
	ID: "PostObjectActionRestart", Method: "POST", Path: orchestrationPath + "restart", Tag: "object action",
	Need: rbac.NeedOperator, Errors: orchestrationErrors(),
	Doc: "Stop then start each running instance of the object, one node after the other." + orchestrationDoc,
	Example: func() (ObjectRestart, OrchestrationQueued) {
		return ObjectRestart{ObjectName: exampleName(), Body: &RestartOptions{Force: true}}, exampleQueued()
	},
}

const (
	orchestrationPath = "/api/object/path/{namespace}/{kind}/{name}/action/"
	orchestrationDoc  = " Answers at once with the id of the orchestration, which any node can be asked about. Refused with 409 while another orchestration of the object is in progress."
)

func orchestrationErrors() []int { return []int{404, 408, 409} }

func orchestration(id, verb string, need rbac.Need, doc string) Operation[ObjectName, OrchestrationQueued] {
	return Operation[ObjectName, OrchestrationQueued]{
		ID: "PostObjectAction" + id, Method: "POST", Path: orchestrationPath + verb, Tag: "object action",
		Need: need, Doc: doc + orchestrationDoc, Errors: orchestrationErrors(),
		Example: func() (ObjectName, OrchestrationQueued) { return exampleName(), exampleQueued() },
	}
}

func exampleQueued() OrchestrationQueued {
	return OrchestrationQueued{OrchestrationID: "068b4fb0-ba3f-4d62-81e7-92ed88039239"}
}
