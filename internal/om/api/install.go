package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// Installed is what a resource wrote.
type Installed struct {
	Rid   string   `json:"rid" example:"fs#1"`
	Files []string `json:"files" doc:"Absolute names of the files whose content changed." nullable:"false"`
}

// InstanceInstalled posts an [Installed].
type InstanceInstalled struct {
	ObjectName
	Body Installed
}

// PostInstanceInstalled tells the daemon the files a resource laid down.
var PostInstanceInstalled = Operation[InstanceInstalled, None]{
	ID: "PostInstanceInstalled", Method: "POST", Path: "/api/instance/path/{namespace}/{kind}/{name}/installed", Tag: "instance",
	Need: rbac.ThroughSocket, Trusted: true, Errors: []int{404},
	Doc: "Tell the daemon the files a resource of this node wrote, which it publishes as a FileInstalled event. For the agent itself.",
	Example: func() (InstanceInstalled, None) {
		return InstanceInstalled{ObjectName: exampleName(), Body: Installed{Rid: "fs#1", Files: []string{"/srv/web1/etc/app.conf"}}}, None{}
	},
}
