package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// LogLevel is how much is logged.
type LogLevel struct {
	_     struct{} `additionalProperties:"false"`
	Level string   `json:"level" enum:"debug,info,warn,error,fatal,panic,none" doc:"Lines below this level are not logged." example:"info"`
}

// LogControl sets the level of the log of a daemon.
type LogControl struct {
	NodeName
	Body LogLevel
}

// ListenerName names a listener of a daemon.
type ListenerName struct {
	NodeName
	Name string `path:"name" doc:"Name of the listener: inet is the one of the network, ux the root socket." example:"inet"`
}

// ListenerLogControl sets the level of the log of a listener.
type ListenerLogControl struct {
	ListenerName
	Body LogLevel
}

// AuditQuery says what of the log is listened to.
type AuditQuery struct {
	NodeName
	Level   string   `query:"level" enum:"error,warn,info,debug,trace" doc:"Only the lines of this level and above; trace is everything."`
	Sub     []string `query:"sub,explode" doc:"Only the lines of this part of the daemon; repeat it for more." example:"monitor"`
	Preempt bool     `query:"preempt" doc:"End the audit in progress."`
}

// PostDaemonLogControl turns the log of the daemon up or down.
var PostDaemonLogControl = Operation[LogControl, Problem]{
	ID: "PostDaemonLogControl", Method: "POST", Path: daemonPath + "/log/control", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Set the level of what the daemon logs, until it restarts. Its listeners are told the same.",
	Example: func() (LogControl, Problem) {
		return LogControl{NodeName: exampleNode(), Body: LogLevel{Level: "info"}}, *NewProblem(200, "the daemon of node1 logs at level info")
	},
}

// PostDaemonAudit streams the log of the daemon.
var PostDaemonAudit = Operation[AuditQuery, EventStream]{
	ID: "PostDaemonAudit", Method: "POST", Path: daemonPath + "/audit", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404, 409},
	Doc: "Stream what the daemon logs as it does, whatever the level of its log, until the client leaves. An event of kind log has a line as JSON, one of kind resync tells how many lines were lost, one of kind end says that another audit took over. One audit at a time: 409 while another one runs, unless preempt is set.",
	Example: func() (AuditQuery, EventStream) {
		return AuditQuery{NodeName: exampleNode(), Level: "debug", Sub: []string{"monitor"}},
			EventStream{RawBody: []byte("event: log\nid: 0\ndata: {\"time\":\"2026-11-30T10:51:50.590123456+01:00\",\"level\":\"DEBUG\",\"msg\":\"decision\",\"object\":\"web1\"}\n\n")}
	},
}

// PostDaemonListenerStart starts a listener.
var PostDaemonListenerStart = listenerAction("Start", "start", "Start the listener, when it was stopped.", "is started")

// PostDaemonListenerStop stops a listener.
var PostDaemonListenerStop = listenerAction("Stop", "stop", "Stop the listener, until it is started or the daemon restarts. Requests in progress end first. The root socket is not stopped: it ends with the daemon.", "is stopped")

// PostDaemonListenerRestart restarts a listener.
var PostDaemonListenerRestart = listenerAction("Restart", "restart", "Stop the listener, then start it. Requests in progress end first.", "is restarted")

// PostDaemonListenerLogControl turns the log of a listener up or down.
var PostDaemonListenerLogControl = Operation[ListenerLogControl, Problem]{
	ID: "PostDaemonListenerLogControl", Method: "POST", Path: listenerPath + "/log/control", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Set the level of what is logged of the requests of a listener, until the daemon restarts.",
	Example: func() (ListenerLogControl, Problem) {
		return ListenerLogControl{ListenerName: exampleListener(), Body: LogLevel{Level: "warn"}}, *NewProblem(200, "listener inet of node1 logs at level warn")
	},
}

const listenerPath = daemonPath + "/listener/name/{name}"

func exampleListener() ListenerName { return ListenerName{NodeName: exampleNode(), Name: "inet"} }

func listenerAction(id, action, doc, done string) Operation[ListenerName, Problem] {
	return Operation[ListenerName, Problem]{
		ID: "PostDaemonListener" + id, Method: "POST", Path: listenerPath + "/action/" + action, Tag: "daemon", Need: rbac.NeedRoot,
		Errors: []int{404, 409}, Doc: doc,
		Example: func() (ListenerName, Problem) {
			return exampleListener(), *NewProblem(200, "listener inet of node1 "+done)
		},
	}
}
