package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// SvcResources selects resources of a service.
type SvcResources struct {
	Namespace string `path:"namespace" doc:"Namespace of the service; root when it was created without one." example:"root"`
	Name      string `path:"name" doc:"Name of the service." example:"web1"`
	Rid       string `query:"rid" doc:"Only these resources: ids or groups, separated by commas." example:"fs#1"`
	Subset    string `query:"subset" doc:"Only the resources of these subsets, separated by commas."`
	Tag       string `query:"tag" doc:"Only the resources having one of these tags, separated by commas; a plus requires both."`
}

// PostSvcDisable disables a service, or resources of it.
var PostSvcDisable = svcSwitch("Disable", "disable", "Disable the service, or the selected resources of it: the disable keyword is set, actions leave them alone.")

// PostSvcEnable enables a service, or resources of it.
var PostSvcEnable = svcSwitch("Enable", "enable", "Enable the service, or the selected resources of it: the disable keyword is removed.")

func svcSwitch(id, action, doc string) Operation[SvcResources, None] {
	return Operation[SvcResources, None]{
		ID: "PostSvc" + id, Method: "POST", Path: "/api/object/path/{namespace}/svc/{name}/" + action, Tag: "object action",
		Need: rbac.NeedAdmin, Status: 204, Errors: []int{404, 409}, Doc: doc,
		Example: func() (SvcResources, None) { return SvcResources{Namespace: "root", Name: "web1", Rid: "fs#1"}, None{} },
	}
}
