package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// InstanceAction is an action on the resources of an instance.
type InstanceAction struct {
	InstanceName
	Rid             string   `query:"rid" doc:"Only these resources: ids or groups, separated by commas." example:"app#1"`
	Tag             string   `query:"tag" doc:"Only the resources having one of these tags, separated by commas; a plus requires both." example:"web"`
	Subset          string   `query:"subset" doc:"Only the resources of these subsets, separated by commas."`
	To              string   `query:"to" doc:"Stop the sequence after this group or resource." example:"fs"`
	Force           bool     `query:"force" doc:"Act on standby resources and ignore what would refuse the action."`
	Leader          bool     `query:"leader" doc:"Provision or unprovision what is shared between nodes too."`
	StateOnly       bool     `query:"state_only" doc:"Only record the provisioned state, touch nothing."`
	DisableRollback bool     `query:"disable_rollback" doc:"Leave what was started when a later resource fails."`
	Confirm         bool     `query:"confirm" doc:"Confirm the tasks that ask for it."`
	Cron            bool     `query:"cron" doc:"Run the tasks their schedule would run now, and only those."`
	NoLock          bool     `query:"no_lock" doc:"Do not take the lock of the instance."`
	WaitLock        string   `query:"wait_lock" doc:"Wait for the lock of the instance this long." example:"30s"`
	Env             []string `query:"env,explode" doc:"NAME=value given to the tasks."`
	ConfigUpdatedAt string   `query:"config_updated_at" doc:"Refuse with 409 when the configuration on the node is older than this time, as OM-Last-Modified gives it." example:"2026-11-30T10:51:50.590123456+01:00"`
	Master          bool     `query:"master" doc:"For objects with encapsulated nodes, which there are none of yet: accepted and ignored."`
	Slave           []string `query:"slave" doc:"For objects with encapsulated nodes, which there are none of yet: accepted and ignored."`
	Slaves          bool     `query:"slaves" doc:"For objects with encapsulated nodes, which there are none of yet: accepted and ignored."`
	SessionID       string   `query:"session_id" doc:"Session the run belongs to; one is made when absent."`
}

// InstanceActionAccepted names the run that was submitted.
type InstanceActionAccepted struct {
	SessionID string `json:"session_id" format:"uuid" example:"7b9772c8-9a5e-4f7e-8c3d-3f1d3c1b8f10"`
	ExecID    string `json:"exec_id" format:"uuid" example:"d29abc32-2c0b-45ff-b639-508d5c19fbee"`
}

// PostInstanceActionStart starts an instance.
var PostInstanceActionStart = action("Start", "start", rbac.NeedOperator,
	"Start the resources of the instance, in order, on this node and now.")

// PostInstanceActionStop stops an instance.
var PostInstanceActionStop = action("Stop", "stop", rbac.NeedOperator,
	"Stop the resources of the instance, in reverse order, on this node and now.")

// PostInstanceActionRestart restarts an instance.
var PostInstanceActionRestart = action("Restart", "restart", rbac.NeedOperator,
	"Stop then start the instance.")

// PostInstanceActionShutdown shuts an instance down.
var PostInstanceActionShutdown = action("Shutdown", "shutdown", rbac.NeedOperator,
	"Stop the instance, its standby resources included.")

// PostInstanceActionBoot prepares an instance after a boot.
var PostInstanceActionBoot = action("Boot", "boot", rbac.NeedAdmin,
	"Do what a boot of the node asks of the instance: undo what a crash left, start the standby resources.")

// PostInstanceActionStartStandby starts the standby resources.
var PostInstanceActionStartStandby = action("StartStandby", "startstandby", rbac.NeedOperator,
	"Start the standby resources of the instance.")

// PostInstanceActionProvision provisions an instance.
var PostInstanceActionProvision = action("Provision", "provision", rbac.NeedAdmin,
	"Make what the resources describe, then start them. Without leader, what is shared between nodes is skipped.")

// PostInstanceActionUnprovision unprovisions an instance.
var PostInstanceActionUnprovision = action("Unprovision", "unprovision", rbac.NeedAdmin,
	"Destroy what the provisioning of the resources made: the data is lost.")

// PostInstanceActionRun runs the tasks of an instance.
var PostInstanceActionRun = action("Run", "run", rbac.NeedOperator,
	"Run the selected tasks and syncs of the instance.")

// PostInstanceActionFreeze freezes an instance.
var PostInstanceActionFreeze = action("Freeze", "freeze", rbac.NeedOperator,
	"Freeze the instance: the daemon no longer acts on it by itself.")

// PostInstanceActionUnfreeze unfreezes an instance.
var PostInstanceActionUnfreeze = action("Unfreeze", "unfreeze", rbac.NeedOperator,
	"Unfreeze the instance.")

// PostInstanceActionDelete deletes an instance.
var PostInstanceActionDelete = action("Delete", "delete", rbac.NeedAdmin,
	"Delete the configuration of the object on this node. Nothing is stopped.")

// PostInstanceActionStatus refreshes the status of an instance.
var PostInstanceActionStatus = action("Status", "status", rbac.NeedOperator,
	"Evaluate the status of the instance again.")

// PostInstanceActionInfo refreshes what the resources publish.
var PostInstanceActionInfo = action("Info", "info", rbac.NeedOperator,
	"Ask the resources of the instance for the keys they publish again.")

// PostInstanceActionPushResourceInfo is the old name of [PostInstanceActionInfo].
var PostInstanceActionPushResourceInfo = action("PushResourceInfo", "push/resource/info", rbac.NeedOperator,
	"Old name of the action info. Ask the resources of the instance for the keys they publish again.")

func action(id, verb string, need rbac.Need, doc string) Operation[InstanceAction, InstanceActionAccepted] {
	return Operation[InstanceAction, InstanceActionAccepted]{
		ID: "PostInstanceAction" + id, Method: "POST", Path: instancePath + "/action/" + verb, Tag: "instance action",
		Need: need, Errors: []int{404, 409, 503},
		Doc: doc + " Answers at once with the session and the run; GET …/daemon/exec/id/{id}?wait=5m holds until the run ends.",
		Example: func() (InstanceAction, InstanceActionAccepted) {
			return InstanceAction{InstanceName: exampleInstanceName(), Rid: "app#1"},
				InstanceActionAccepted{SessionID: exampleSession, ExecID: exampleExec}
		},
	}
}
