package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// LogSelection says which lines of a log are wanted.
type LogSelection struct {
	Filter []string `query:"filter,explode" doc:"Field a line must have, and its value: SID, EID, ORCHESTRATION_ID, OBJ_PATH, RID (a glob), NODE, LEVEL or any other. A field given again is an alternative, another one a condition more." example:"ORCHESTRATION_ID=068b4fb0-ba3f-4d62-81e7-92ed88039239"`
	Grep   string   `query:"grep" doc:"Regular expression the message must match." example:"exit code"`
	Follow bool     `query:"follow" doc:"Then send new lines as they come."`
	Lines  int      `query:"lines" minimum:"1" maximum:"10000" doc:"How many of the last lines to send; 50 when it is not given." example:"200"`
	Level  string   `query:"level" enum:"debug,info,warn,error" doc:"The least severe level wanted; info when it is not given."`
}

// LogQuery selects lines of the log of a node.
type LogQuery struct {
	NodeName
	LogSelection
	Paths []string `query:"paths,explode" doc:"Only the lines about these objects." example:"web1"`
}

// InstanceLogQuery selects lines of the log of a node about one object.
type InstanceLogQuery struct {
	InstanceName
	LogSelection
}

// LogStream is a stream of server-sent events: each event named log carries a line
// as one line of JSON, the oldest first. When lines are followed an event named live
// says that the last lines were sent and that new ones come from there on.
type LogStream struct {
	RawBody []byte `contentType:"text/event-stream"`
}

// Names of the events of a [LogStream].
const (
	LogLine = "log"
	LogLive = "live"
)

// GetNodeLogs streams the log of a node.
var GetNodeLogs = Operation[LogQuery, LogStream]{
	ID: "GetNodeLogs", Method: "GET", Path: nodePath + "/log", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Send the last lines of the log of the node, and with follow those that come, as server-sent events. Comments keep the connection alive.",
	Example: func() (LogQuery, LogStream) {
		return LogQuery{NodeName: exampleNode(), LogSelection: LogSelection{Filter: []string{"SID=" + exampleSession}}}, exampleLog()
	},
}

// GetInstanceLogs streams the log of an instance.
var GetInstanceLogs = Operation[InstanceLogQuery, LogStream]{
	ID: "GetInstanceLogs", Method: "GET", Path: instancePath + "/log", Tag: "instance", Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "Send the last lines of the log of the node about this object, and with follow those that come, as server-sent events. Comments keep the connection alive.",
	Example: func() (InstanceLogQuery, LogStream) {
		return InstanceLogQuery{InstanceName: exampleInstanceName(), LogSelection: LogSelection{Lines: 200}}, exampleLog()
	},
}

func exampleLog() LogStream {
	return LogStream{RawBody: []byte("event: log\nid: 0\ndata: {\"at\":\"2026-09-11T12:31:23.09Z\",\"level\":\"info\",\"message\":\"touch /run/web1\",\"node\":\"node1\",\"path\":\"web1\",\"rid\":\"app#1\"}\n\n")}
}
