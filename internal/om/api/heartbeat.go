package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// HeartbeatName names a heartbeat of a node.
type HeartbeatName struct {
	NodeName
	Name string `path:"name" doc:"Name of the heartbeat, as it is configured; its number will do." example:"hb#1"`
}

// HeartbeatRotation is a change of the secret that heartbeats are sealed with.
type HeartbeatRotation struct {
	ID string `json:"id" format:"uuid" doc:"The HeartbeatRotateSuccess and HeartbeatRotateError events have it." example:"3f0e0f5e-6a55-4c7e-a7d5-61a1b5b6f6ad"`
}

// PostClusterHeartbeatRotate changes the secret of the cluster.
var PostClusterHeartbeatRotate = Operation[None, HeartbeatRotation]{
	ID: "PostClusterHeartbeatRotate", Method: "POST", Path: "/api/cluster/hb/rotate", Tag: "cluster", Need: rbac.NeedRoot, Errors: []int{409},
	Doc: "Give the cluster another secret, which the heartbeats are sealed with once every node that is heard has it. No beat is lost. The answer comes when the secret is written; a HeartbeatRotateSuccess event says that every node has it, a HeartbeatRotateError event that some do not after five minutes: they get it when they are back. 409 while another rotation is in progress.",
	Example: func() (None, HeartbeatRotation) {
		return None{}, HeartbeatRotation{ID: "3f0e0f5e-6a55-4c7e-a7d5-61a1b5b6f6ad"}
	},
}

// PostDaemonHeartbeatStart starts a heartbeat.
var PostDaemonHeartbeatStart = heartbeatAction("Start", "start", "Start the heartbeat, when it was stopped.", "is started")

// PostDaemonHeartbeatStop stops a heartbeat.
var PostDaemonHeartbeatStop = heartbeatAction("Stop", "stop", "Stop the heartbeat, until it is started or the daemon restarts. The peers that no other heartbeat hears take this node for dead after their timeout, and it takes them for dead.", "is stopped")

// PostDaemonHeartbeatRestart restarts a heartbeat.
var PostDaemonHeartbeatRestart = heartbeatAction("Restart", "restart", "Stop the heartbeat, then start it.", "is restarted")

const heartbeatPath = daemonPath + "/hb/name/{name}"

func exampleHeartbeat() HeartbeatName { return HeartbeatName{NodeName: exampleNode(), Name: "hb#1"} }

func heartbeatAction(id, action, doc, done string) Operation[HeartbeatName, Problem] {
	return Operation[HeartbeatName, Problem]{
		ID: "PostDaemonHeartbeat" + id, Method: "POST", Path: heartbeatPath + "/action/" + action, Tag: "daemon", Need: rbac.NeedRoot,
		Errors: []int{404, 409}, Doc: doc,
		Example: func() (HeartbeatName, Problem) {
			return exampleHeartbeat(), *NewProblem(200, "heartbeat hb#1 of node1 "+done)
		},
	}
}
