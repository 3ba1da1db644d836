package api

import (
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ScheduleItem is a job of an instance, or of a node.
type ScheduleItem Item[InstanceMeta, cluster.Schedule]

// ScheduleList is a list of [ScheduleItem].
type ScheduleList List[ScheduleItem]

// GetNodeSchedule lists the jobs of a node.
var GetNodeSchedule = Operation[NodeName, ScheduleList]{
	ID: "GetNodeSchedule", Method: "GET", Path: nodePath + "/schedule", Tag: "node", Need: rbac.NeedRoot, Errors: []int{404},
	Doc: "List what the node runs by itself, when it last did and when it will.",
	Example: func() (NodeName, ScheduleList) {
		return exampleNode(), exampleSchedule("", cluster.ScheduleConfig{Action: "checks", Schedule: "@10m", Key: "checks.schedule", MaxParallel: 1})
	},
}

// GetInstanceSchedule lists the jobs of an instance.
var GetInstanceSchedule = Operation[InstanceName, ScheduleList]{
	ID: "GetInstanceSchedule", Method: "GET", Path: instancePath + "/schedule", Tag: "instance", Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "List what the node runs by itself of an instance, when it last did and when it will.",
	Example: func() (InstanceName, ScheduleList) { return exampleInstanceName(), exampleTaskSchedule() },
}

// GetObjectSchedule lists the jobs of an object.
var GetObjectSchedule = Operation[ObjectName, ScheduleList]{
	ID: "GetObjectSchedule", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/schedule", Tag: "object", Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "List what runs by itself of an object, when it last did and when it will.",
	Example: func() (ObjectName, ScheduleList) { return exampleName(), exampleTaskSchedule() },
}

func exampleTaskSchedule() ScheduleList {
	return exampleSchedule("web1", cluster.ScheduleConfig{
		Action: "run", Schedule: "04:00-06:00 mon-fri", Key: "task#1.schedule", MaxParallel: 1, Require: "fs#1(up)", RequireProvisioned: true,
	})
}

func exampleSchedule(object string, c cluster.ScheduleConfig) ScheduleList {
	return ScheduleList{Kind: "ScheduleList", Items: []ScheduleItem{{
		Kind: "ScheduleItem", Meta: InstanceMeta{Object: object, Node: "node1"}, Data: cluster.Schedule{ScheduleConfig: c},
	}}}
}
