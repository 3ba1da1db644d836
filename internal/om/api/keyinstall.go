package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// KeyInstall asks for the files made of keys.
type KeyInstall struct {
	InstanceName
	Key       string `query:"name" doc:"The key, or a pattern as *.conf; none is every key." example:"app.conf"`
	SessionID string `query:"session_id" doc:"Session the runs belong to; one is made when absent."`
}

// KeyInstallItem names the run that lays files down in an instance.
type KeyInstallItem Item[InstanceMeta, InstanceActionAccepted]

// KeyInstallList is a list of [KeyInstallItem].
type KeyInstallList List[KeyInstallItem]

// PostInstanceActionKeyInstall lays files down again. It needs what changing a key
// needs, which has the same effect.
var PostInstanceActionKeyInstall = Operation[KeyInstall, KeyInstallList]{
	ID: "PostInstanceActionKeyInstall", Method: "POST", Path: instancePath + "/action/key/install", Tag: "instance action",
	Need: rbac.NeedAdmin, Errors: []int{404, 503},
	Doc: "Lay down again the files that install lines made from keys of a cfg, sec or usr, in the instances of the node that have them. Answers at once with these instances and a run for each; GET …/daemon/exec/id/{id}?wait=5m holds until the run ends.",
	Example: func() (KeyInstall, KeyInstallList) {
		in := InstanceName{NodeName: exampleNode(), ObjectName: ObjectName{Namespace: "ns1", Kind: "cfg", Name: "app"}}
		return KeyInstall{InstanceName: in, Key: "app.conf"}, KeyInstallList{Kind: "KeyInstallList", Items: []KeyInstallItem{{
			Kind: "KeyInstallItem", Meta: InstanceMeta{Object: "ns1/svc/web1", Node: "node1"},
			Data: InstanceActionAccepted{SessionID: exampleSession, ExecID: exampleExec},
		}}}
	},
}
