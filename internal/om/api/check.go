package api

// Check is a measure of the health of a node.
type Check struct {
	Driver string `json:"driver" doc:"What was looked at: a filesystem, the memory, a link…" example:"fs_u"`
	Path   string `json:"path" doc:"Which one." example:"/srv"`
	Name   string `json:"name" doc:"Which measure of it." example:"/dev/vdb1"`
	Value  int64  `json:"value" example:"42"`
	Unit   string `json:"unit" example:"%"`
}

// CheckItem is a measure of the health of a node.
type CheckItem Item[NodeMeta, Check]

// CheckList is a list of [CheckItem].
type CheckList List[CheckItem]

// GetNodeSystemCheck lists the measures of the health of a node.
var GetNodeSystemCheck = system("Check", "check", "the measures of the health", CheckList{Kind: "CheckList", Items: []CheckItem{
	{Kind: "CheckItem", Meta: NodeMeta{Node: "node1"}, Data: Check{Driver: "fs_u", Path: "/srv", Name: "/dev/vdb1", Value: 42, Unit: "%"}},
}})

// PostNodeActionChecks measures the health of a node.
var PostNodeActionChecks = report("Checks", "checks", "Measure the health of the node: how full filesystems, memory and swap are, the state of links, bonds and arrays.")
