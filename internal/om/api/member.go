package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// EnrollOrder says which node to enroll.
type EnrollOrder struct {
	_        struct{} `additionalProperties:"false"`
	Node     string   `json:"node" minLength:"1" doc:"Location of the node to enroll: [scheme://]host[:port]." example:"node2"`
	Token    string   `json:"token" minLength:"1" doc:"Token with the join role, made by the node to enroll."`
	JoinAddr string   `json:"join_addr,omitempty" doc:"Location of this node for the node to enroll; a name the certificate of this node is valid for when absent." example:"https://node1:1215"`
	Timeout  string   `json:"timeout,omitempty" doc:"Life of the token handed to the node to enroll: it must outlive its drain. 1h when absent." example:"1h"`
}

// Enroll enrolls a node.
type Enroll struct{ Body EnrollOrder }

// Enrolled names a node that accepted to join.
type Enrolled struct {
	Node string `json:"node" doc:"The name the node calls itself." example:"node2"`
}

// EvictOrder says which node leaves the cluster.
type EvictOrder struct {
	_          struct{} `additionalProperties:"false"`
	Node       string   `json:"nodename" minLength:"1" doc:"Node to evict; not the one that serves the request." example:"node2"`
	Credential string   `json:"credential,omitempty" doc:"<user>:<password> of a user to create on the evicted node, with the root grant." example:"admin:secret"`
	Timeout    string   `json:"timeout,omitempty" doc:"Most the leave may last. 1h when absent." example:"1h"`
}

// Evict evicts a node.
type Evict struct{ Body EvictOrder }

// Candidate names a node that joins the cluster.
type Candidate struct {
	Node string   `query:"node" required:"true" doc:"Name of the node." example:"node2"`
	Addr []string `query:"addr,explode" doc:"Addresses of the node, for the certificate of the cluster." example:"[\"192.0.2.2\"]"`
}

// Member names a node that leaves the cluster.
type Member struct {
	Node   string `query:"node" required:"true" doc:"Name of the node." example:"node2"`
	Reason string `query:"reason" doc:"Why, when it gives up joining." example:"the drain failed"`
}

// JoinFile is a configuration that a joining node needs.
type JoinFile struct {
	Path     string    `json:"path" example:"system/sec/ca"`
	Modified time.Time `json:"modified"`
	Data     []byte    `json:"data" doc:"The file, in base64."`
}

// JoinFiles are the configurations that a joining node needs to be of the cluster.
type JoinFiles struct {
	Cluster string     `json:"cluster" doc:"Id of the cluster."`
	Name    string     `json:"name" doc:"Name of the cluster." example:"brave-otter"`
	Files   []JoinFile `json:"files"`
}

// JoinOrder orders a node to join a cluster.
type JoinOrder struct {
	_       struct{} `additionalProperties:"false"`
	Node    string   `json:"node" minLength:"1" doc:"Location of a node of the cluster: [scheme://]host[:port]." example:"https://node1:1215"`
	Token   string   `json:"token" minLength:"1" doc:"Token with the join role, made by that cluster."`
	Timeout string   `json:"timeout,omitempty" doc:"Most the join may last. 1h when absent." example:"1h"`
}

// DaemonJoin orders a node to join a cluster.
type DaemonJoin struct {
	NodeName
	Body JoinOrder
}

// LeaveOrder orders a node to leave its cluster.
type LeaveOrder struct {
	_          struct{} `additionalProperties:"false"`
	Node       string   `json:"node,omitempty" doc:"Peer that removes the node from the cluster; any of them when absent." example:"node1"`
	Credential string   `json:"credential,omitempty" doc:"<user>:<password> of a user to create on the node, with the root grant." example:"admin:secret"`
	Timeout    string   `json:"timeout,omitempty" doc:"Most the leave may last. 1h when absent." example:"1h"`
	Drain      bool     `json:"drain,omitempty" doc:"Drain the node first; else a node that is not drained is refused."`
}

// DaemonLeave orders a node to leave its cluster.
type DaemonLeave struct {
	NodeName
	Body LeaveOrder
}

// PostClusterEnroll enrolls a node.
var PostClusterEnroll = Operation[Enroll, Enrolled]{
	ID: "PostClusterEnroll", Method: "POST", Path: "/api/cluster/enroll", Tag: "cluster", Need: rbac.NeedRoot, Errors: []int{409, 502, 504},
	Doc: "Order a node that is alone in its cluster to join this one. Answers as soon as the node has accepted; what can be refused is refused before. " +
		"The events JoinSuccess, JoinIgnored, JoinError and NodeAlive of this node tell the rest.",
	Example: func() (Enroll, Enrolled) {
		return Enroll{Body: EnrollOrder{Node: "node2", Token: "header.claims.signature", Timeout: "1h"}}, Enrolled{Node: "node2"}
	},
}

// PostClusterEvict evicts a node.
var PostClusterEvict = Operation[Evict, Problem]{
	ID: "PostClusterEvict", Method: "POST", Path: "/api/cluster/evict", Tag: "cluster", Need: rbac.NeedRoot, Errors: []int{404, 409, 502, 504},
	Doc: "Order a drained node to leave the cluster. Answers as soon as the node has accepted. A node that is not frozen, or has an instance that is not down, is refused with 409. " +
		"The events LeaveSuccess, LeaveIgnored and LeaveError of this node tell the rest.",
	Example: func() (Evict, Problem) {
		return Evict{Body: EvictOrder{Node: "node2", Credential: "admin:secret", Timeout: "1h"}},
			Problem{Title: "background cluster leave has been called", Detail: "node node2 is leaving the cluster", Status: 200}
	},
}

// PostClusterJoin adds a node to the cluster.
var PostClusterJoin = Operation[Candidate, None]{
	ID: "PostClusterJoin", Method: "POST", Path: "/api/cluster/join", Tag: "cluster", Need: rbac.NeedJoin, Errors: []int{409},
	Doc:     "Add a node to the nodes of the cluster, and its names to the certificate. It is what a joining node asks. A node that is of the cluster already is left as it is, and refused when another one of that name is alive.",
	Example: func() (Candidate, None) { return Candidate{Node: "node2", Addr: []string{"192.0.2.2"}}, None{} },
}

// GetClusterJoin returns what a joining node needs.
var GetClusterJoin = Operation[None, JoinFiles]{
	ID: "GetClusterJoin", Method: "GET", Path: "/api/cluster/join", Tag: "cluster", Need: rbac.NeedJoin,
	Doc: "Return the configurations that a joining node needs: that of the cluster, with its secret, and those of the certificates, keys and users of the namespace system.",
	Example: func() (None, JoinFiles) {
		return None{}, JoinFiles{Cluster: "2f6a0f3c-0a9e-4a3c-9c59-0d1f4f9a3c11", Name: "brave-otter", Files: []JoinFile{
			{Path: "cluster", Modified: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), Data: []byte("[cluster]\nname = brave-otter\n")},
		}}
	},
}

// PostClusterLeave removes a node from the cluster.
var PostClusterLeave = Operation[Member, None]{
	ID: "PostClusterLeave", Method: "POST", Path: "/api/cluster/leave", Tag: "cluster", Need: rbac.NeedLeave, Errors: []int{409},
	Doc:     "Remove a node from the nodes of the cluster. It is what a leaving node asks a peer. A node that is not of the cluster is no error.",
	Example: func() (Member, None) { return Member{Node: "node2"}, None{} },
}

// PostDaemonJoin orders a node to join a cluster.
var PostDaemonJoin = Operation[DaemonJoin, Enrolled]{
	ID: "PostDaemonJoin", Method: "POST", Path: daemonPath + "/action/join", Tag: "daemon", Need: rbac.NeedJoin, Errors: []int{404, 409, 502, 504},
	Doc: "Order the node to leave its cluster, where it must be alone, and to join another one. Answers once the node has accepted, its instances running; it is then drained, " +
		"its configurations go to the backup directory and those of the cluster take their place, and its daemon restarts.",
	Example: func() (DaemonJoin, Enrolled) {
		return DaemonJoin{NodeName: exampleNode(), Body: JoinOrder{Node: "https://node1:1215", Token: "header.claims.signature", Timeout: "1h"}}, Enrolled{Node: "node2"}
	},
}

// PostDaemonLeave orders a node to leave its cluster.
var PostDaemonLeave = Operation[DaemonLeave, Problem]{
	ID: "PostDaemonLeave", Method: "POST", Path: daemonPath + "/action/leave", Tag: "daemon", Need: rbac.NeedRoot, Errors: []int{404, 409, 502, 504},
	Doc: "Order the node to leave its cluster. Answers once the node has accepted; a peer then removes it from the cluster, its configurations go to the backup directory, " +
		"and its daemon restarts in a cluster of its own.",
	Example: func() (DaemonLeave, Problem) {
		return DaemonLeave{NodeName: exampleNode(), Body: LeaveOrder{Drain: true, Timeout: "1h"}},
			Problem{Title: "background cluster leave has been called", Detail: "node node2 is leaving the cluster", Status: 200}
	},
}
