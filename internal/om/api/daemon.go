package api

import (
	"encoding/json"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// EventQuery selects the events of a stream.
type EventQuery struct {
	NodeName
	Filter   []string `query:"filter,explode" doc:"Kind, labels and data an event must have; repeat it for alternatives." example:"InstanceStatusUpdated,path=web1,.instance_status.avail=up"`
	Selector string   `query:"selector" doc:"Only the events of the objects this expression selects." example:"web*"`
	Limit    int64    `query:"limit" minimum:"0" doc:"End after this many events." example:"1"`
	Duration string   `query:"duration" doc:"End after this long." example:"10s"`
	Replay   bool     `query:"replay" doc:"First send the present state as events labelled from=cache."`
	Cache    bool     `query:"cache" deprecated:"true" doc:"Old name of replay."`
}

// EventStream is a stream of server-sent events: "event" is the kind, "id" the
// number of the event in the stream, "data" one line of JSON whose first member
// is "labels". A reader too slow to follow receives an event of kind resync; one
// whose access ends, an event of kind end that says why, last.
type EventStream struct {
	RawBody []byte `contentType:"text/event-stream"`
}

// Resync is the kind of the event that tells a reader it lost some.
const Resync = "resync"

// StreamEnd is the kind of the last event of a stream that ends before its reader
// wanted: its data, a [StreamEnding], says why.
const StreamEnd = "end"

// TokenExpired is the reason of the end of a stream whose reader may go on with
// another token.
const TokenExpired = "the token has expired"

// StreamEnding is why a stream ended.
type StreamEnding struct {
	Reason string `json:"reason" example:"the token has expired"`
}

// Event is an event of a stream, stamped by the client on arrival.
type Event struct {
	Kind string          `json:"kind"`
	ID   uint64          `json:"id"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// DaemonPid names the process that was asked to end.
type DaemonPid struct {
	Pid int `json:"pid" example:"2615"`
}

// DaemonRestarting names the process that was asked to begin again, and says so.
type DaemonRestarting struct {
	DaemonPid

	Title  string `json:"title" example:"OK"`
	Detail string `json:"detail" example:"the daemon of node1 restarts"`
	Status int    `json:"status" example:"200"`
}

// DaemonShutdown asks a daemon to stop the services of its node, then itself.
type DaemonShutdown struct {
	NodeName
	Duration string `query:"duration" doc:"Give up after this long." example:"5m"`
}

// States of an exec and of an orchestration.
const (
	StateQueued    = "queued" // of an exec that waits for a free slot
	StateRunning   = "running"
	StateSucceeded = "succeeded"
	StateFailed    = "failed"
	StateAborted   = "aborted"
)

// ExecQuery narrows a list of execs.
type ExecQuery struct {
	NodeName
	State           string `query:"state" enum:"queued,running,succeeded,failed" doc:"Only the execs in this state."`
	Origin          string `query:"origin" doc:"Only the execs submitted by this part: api, imon, nmon or scheduler." example:"api"`
	Selector        string `query:"selector" doc:"Only the execs of the objects this expression selects." example:"web*"`
	SessionID       string `query:"session_id" doc:"Only the execs of this session."`
	ExecID          string `query:"exec_id" doc:"Only this exec."`
	OrchestrationID string `query:"orchestration_id" doc:"Only the execs of this orchestration."`
	Rid             string `query:"rid" doc:"Only the execs about this resource." example:"task#1"`
}

// Exec is one run of one command for one object on one node.
type Exec struct {
	Node            string     `json:"node" example:"node1"`
	State           string     `json:"state" enum:"queued,running,succeeded,failed" example:"failed"`
	ExecID          string     `json:"exec_id" format:"uuid"`
	SessionID       string     `json:"session_id" format:"uuid"`
	OrchestrationID string     `json:"orchestration_id,omitempty"`
	Path            string     `json:"path" example:"web1"`
	Rid             string     `json:"rid,omitempty"`
	Origin          string     `json:"origin" example:"api"`
	Pid             int        `json:"pid,omitempty" doc:"Process id, while it runs."`
	StartedAt       time.Time  `json:"started_at"`
	EndedAt         *time.Time `json:"ended_at,omitempty" doc:"Absent while it runs."`
	ExitCode        *int       `json:"exit_code,omitempty" doc:"What a shell would report; -1 when it never ran, absent while it runs."`
	Command         string     `json:"command" example:"om web1 instance start"`
	Error           string     `json:"error,omitempty"`
}

// ExecList is a list of [Exec].
type ExecList List[Exec]

// WaitQuery asks for one exec or orchestration, or for its end.
type WaitQuery struct {
	NodeName
	ID   string `path:"id" doc:"Id of the exec or of the orchestration." example:"d29abc32-2c0b-45ff-b639-508d5c19fbee"`
	Wait string `query:"wait" doc:"Hold the answer until the end, at most this long." example:"5m"`
}

// OrchestrationQuery narrows a list of orchestrations.
type OrchestrationQuery struct {
	NodeName
	State    string `query:"state" enum:"running,succeeded,failed,aborted" doc:"Only the orchestrations in this state."`
	Selector string `query:"selector" doc:"Only the orchestrations of the objects this expression selects." example:"web*"`
}

// Orchestration is one expectation of the cluster about one object.
type Orchestration struct {
	OrchestrationID string     `json:"orchestration_id" format:"uuid"`
	State           string     `json:"state" enum:"running,succeeded,failed,aborted" example:"succeeded"`
	Path            string     `json:"path" example:"web1"`
	GlobalExpect    string     `json:"global_expect" example:"started"`
	AcceptedBy      string     `json:"accepted_by" doc:"Node that was asked; empty on the nodes that only learned of it." example:"node1"`
	StartedAt       time.Time  `json:"started_at"`
	EndedAt         *time.Time `json:"ended_at,omitempty" doc:"Absent while it runs."`
	Reason          string     `json:"reason,omitempty" doc:"Why it failed."`
}

// OrchestrationList is a list of [Orchestration].
type OrchestrationList List[Orchestration]

// GetDaemonEvents streams events.
var GetDaemonEvents = Operation[EventQuery, EventStream]{
	ID: "GetDaemonEvents", Method: "GET", Path: daemonPath + "/event", Tag: "daemon", Need: rbac.Known, Errors: []int{404},
	Doc: "Stream the events of the daemon as they happen. Events of objects in namespaces the caller may not read are left out. Comments keep the connection alive.",
	Example: func() (EventQuery, EventStream) {
		return EventQuery{NodeName: exampleNode(), Filter: []string{"InstanceStatusUpdated,path=web1"}},
			EventStream{RawBody: []byte("event: InstanceStatusUpdated\nid: 0\ndata: {\"labels\":{\"node\":\"node1\",\"path\":\"web1\"},\"path\":\"web1\"}\n\n")}
	},
}

// PostDaemonStop stops the daemon.
var PostDaemonStop = Operation[NodeName, DaemonPid]{
	ID: "PostDaemonStop", Method: "POST", Path: daemonPath + "/action/stop", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc:     "Stop the daemon of the node. Services keep running. The process ends after the answer.",
	Example: func() (NodeName, DaemonPid) { return exampleNode(), DaemonPid{Pid: 2615} },
}

// PostDaemonRestart restarts the daemon.
var PostDaemonRestart = Operation[NodeName, DaemonRestarting]{
	ID: "PostDaemonRestart", Method: "POST", Path: daemonPath + "/action/restart", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Restart the daemon of the node, from the program file as it now is. Services keep running.",
	Example: func() (NodeName, DaemonRestarting) {
		return exampleNode(), DaemonRestarting{DaemonPid: DaemonPid{Pid: 2615}, Title: "OK", Detail: "the daemon of node1 restarts", Status: 200}
	},
}

// PostDaemonShutdown shuts the node down, as far as services are concerned.
var PostDaemonShutdown = Operation[DaemonShutdown, DaemonPid]{
	ID: "PostDaemonShutdown", Method: "POST", Path: daemonPath + "/action/shutdown", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404, 408, 409},
	Doc: "Shut down the svc and vol instances of the node, then stop its daemon. Answers once the instances are down; an instance that does not stop leaves the daemon running.",
	Example: func() (DaemonShutdown, DaemonPid) {
		return DaemonShutdown{NodeName: exampleNode(), Duration: "5m"}, DaemonPid{Pid: 2615}
	},
}

// GetDaemonExecs lists what the daemon ran and runs.
var GetDaemonExecs = Operation[ExecQuery, ExecList]{
	ID: "GetDaemonExecs", Method: "GET", Path: daemonPath + "/exec", Tag: "daemon", Need: rbac.AnyRole, Errors: []int{404},
	Doc: "List the commands the daemon runs and the last ones it ran, the oldest first. What the daemon remembers is bounded by count and by age. " + followDoc,
	Example: func() (ExecQuery, ExecList) {
		return ExecQuery{NodeName: exampleNode(), State: StateFailed}, ExecList{Kind: "ExecList", Items: []Exec{exampleExecution()}}
	},
}

// GetDaemonExec returns one exec, or waits for its end.
var GetDaemonExec = Operation[WaitQuery, Exec]{
	ID: "GetDaemonExec", Method: "GET", Path: daemonPath + "/exec/id/{id}", Tag: "daemon", Need: rbac.AnyRole, Errors: []int{404, 408, 410},
	Doc: "Return one exec. With wait the answer is held until it ends, 408 if it is still running by then. 410 when the daemon no longer knows the id. " + followDoc,
	Example: func() (WaitQuery, Exec) {
		return WaitQuery{NodeName: exampleNode(), ID: exampleExec}, exampleExecution()
	},
}

// GetDaemonOrchestrations lists orchestrations.
var GetDaemonOrchestrations = Operation[OrchestrationQuery, OrchestrationList]{
	ID: "GetDaemonOrchestrations", Method: "GET", Path: daemonPath + "/orchestration", Tag: "daemon", Need: rbac.AnyRole, Errors: []int{404},
	Doc: "List the orchestrations in progress and the last ones that ended, the oldest first. " + followDoc,
	Example: func() (OrchestrationQuery, OrchestrationList) {
		return OrchestrationQuery{NodeName: exampleNode()}, OrchestrationList{Kind: "OrchestrationList", Items: []Orchestration{exampleOrchestration()}}
	},
}

// GetDaemonOrchestration returns one orchestration, or waits for its end.
var GetDaemonOrchestration = Operation[WaitQuery, Orchestration]{
	ID: "GetDaemonOrchestration", Method: "GET", Path: daemonPath + "/orchestration/id/{id}", Tag: "daemon", Need: rbac.AnyRole, Errors: []int{404, 408, 410},
	Doc: "Return one orchestration. With wait the answer is held until it ends, 408 if it is still running by then. 410 when the daemon no longer knows the id. " + followDoc,
	Example: func() (WaitQuery, Orchestration) {
		return WaitQuery{NodeName: exampleNode(), ID: exampleQueued().OrchestrationID, Wait: "5m"}, exampleOrchestration()
	},
}

// followDoc is said by the operations that follow what was asked.
const followDoc = "Only shows what concerns the objects of the namespaces where the caller is guest: who asked may follow. The rest is for root."

const daemonPath = nodePath + "/daemon"

func exampleExecution() Exec {
	at, code := time.Date(2026, 9, 11, 12, 31, 23, 0, time.UTC), 1
	end := at.Add(35 * time.Millisecond)
	return Exec{
		Node: "node1", State: StateFailed, ExecID: exampleExec, SessionID: exampleSession, Path: "web1", Origin: "api",
		StartedAt: at, EndedAt: &end, ExitCode: &code, Command: "om web1 instance start --rid nosuch", Error: "exit status 1",
	}
}

func exampleOrchestration() Orchestration {
	at := time.Date(2026, 9, 11, 12, 31, 23, 0, time.UTC)
	end := at.Add(4 * time.Second)
	return Orchestration{
		OrchestrationID: exampleQueued().OrchestrationID, State: StateSucceeded, Path: "web1", GlobalExpect: "started",
		AcceptedBy: "node1", StartedAt: at, EndedAt: &end,
	}
}
