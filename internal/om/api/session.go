package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ExecKill says which execs get a signal: the selection of the list.
type ExecKill struct {
	ExecQuery
	Signal string `query:"signal" doc:"Name or number of the signal, TERM by default." example:"TERM"`
	DryRun bool   `query:"dry_run" doc:"Answer what would get the signal, and send none."`
}

// ProcessQuery narrows a list of processes.
type ProcessQuery struct {
	NodeName
	Sub      string `query:"sub" doc:"Only the processes submitted by this part: api, imon, nmon or scheduler." example:"imon"`
	Selector string `query:"selector" doc:"Only the processes of the objects this expression selects." example:"web*"`
	Rid      string `query:"rid" doc:"Only the processes about this resource." example:"task#1"`
}

// ProcessKill names processes by their id.
type ProcessKill struct {
	NodeName
	Pid []int `query:"pid,explode" doc:"Process ids, as listed; repeat it for several."`
}

// Process is a command the daemon runs now.
type Process struct {
	Node         string    `json:"node" example:"node1"`
	Pid          int       `json:"pid" example:"3871250"`
	Object       string    `json:"object" example:"web1"`
	StartedAt    time.Time `json:"started_at"`
	Elapsed      string    `json:"elapsed" example:"18ms"`
	Sub          string    `json:"sub" doc:"Part of the daemon that submitted it." example:"imon"`
	Sid          string    `json:"sid" doc:"Session." format:"uuid"`
	GlobalExpect string    `json:"global_expect" doc:"Goal of the orchestration it is part of; empty outside of one." example:"started"`
	Cmd          string    `json:"cmd" example:"om web1 instance start"`
	Rid          string    `json:"rid" doc:"Resource whose schedule fired; empty for the others."`
}

// ProcessList is a list of [Process].
type ProcessList List[Process]

// DeleteDaemonExecs sends a signal to what the daemon runs.
var DeleteDaemonExecs = Operation[ExecKill, ExecList]{
	ID: "DeleteDaemonExecs", Method: "DELETE", Path: daemonPath + "/exec", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "Send a signal to the execs that run and that the parameters select, and to what they started; an exec that waits for its turn is dropped. " +
		"Something must narrow the selection: exec_id, session_id, orchestration_id, selector, origin or rid. Answers the execs that got the signal, an empty list when none runs.",
	Example: func() (ExecKill, ExecList) {
		run := exampleExecution()
		run.State, run.Pid, run.EndedAt, run.ExitCode, run.Error = StateRunning, 3955881, nil, nil, ""
		return ExecKill{ExecQuery: ExecQuery{NodeName: exampleNode(), SessionID: exampleSession}, Signal: "TERM"}, ExecList{Kind: "ExecList", Items: []Exec{run}}
	},
}

// GetDaemonProcesses lists what the daemon runs, with the process ids.
var GetDaemonProcesses = Operation[ProcessQuery, ProcessList]{
	ID: "GetDaemonProcess", Method: "GET", Path: daemonPath + "/process", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "List the commands the daemon runs now, the oldest first. The execs in the state running are the same, and more is said of them.",
	Example: func() (ProcessQuery, ProcessList) {
		return ProcessQuery{NodeName: exampleNode(), Selector: "web*"}, ProcessList{Kind: "ProcessList", Items: []Process{{
			Node: "node1", Pid: 3871250, Object: "web1", StartedAt: time.Date(2026, 9, 11, 12, 31, 23, 0, time.UTC), Elapsed: "18ms",
			Sub: "imon", Sid: exampleSession, GlobalExpect: "started", Cmd: "om web1 instance start",
		}}}
	},
}

// DeleteDaemonProcesses ends processes of the daemon.
var DeleteDaemonProcesses = Operation[ProcessKill, None]{
	ID: "DeleteDaemonProcess", Method: "DELETE", Path: daemonPath + "/process", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404, 409}, Status: 204,
	Doc: "Send TERM to processes of the daemon. Only a process the daemon runs can be named: 409 for another, and then nothing is sent. " +
		"An id may be given to another process between a list and this call: naming the exec is safer.",
	Example: func() (ProcessKill, None) {
		return ProcessKill{NodeName: exampleNode(), Pid: []int{3871250}}, None{}
	},
}
