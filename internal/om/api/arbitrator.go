package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// VoteClaim asks this daemon, as the arbitrator of another cluster, for its vote.
type VoteClaim struct {
	_         struct{} `additionalProperties:"false"`
	ClusterID string   `json:"cluster_id" minLength:"1" maxLength:"128" doc:"Id of the cluster that is split."`
	Node      string   `json:"nodename" minLength:"1" maxLength:"255" doc:"Node that asks." example:"node1"`
	Members   []string `json:"members" maxItems:"10000" doc:"Nodes it hears, itself included." example:"[\"node1\"]"`
	Release   bool     `json:"release,omitempty" doc:"Give the vote back: the cluster is whole again."`
}

// Vote is a claim to a vote.
type Vote struct{ Body VoteClaim }

// VoteGrant is the answer to a claim.
type VoteGrant struct {
	Verdict string   `json:"verdict" enum:"granted,refused,released" doc:"Whether the part of the cluster that asks has the vote."`
	Wait    int64    `json:"wait_ms" doc:"How long the vote does not count yet, in milliseconds: those it was taken from are given the time to notice."`
	Lease   int64    `json:"lease_ms" doc:"How long the vote is good for, in milliseconds. It is asked for again before."`
	Holders []string `json:"holders" doc:"Nodes that have the vote."`
}

// VoteQuery names a cluster that has an exclusive vote.
type VoteQuery struct {
	ClusterID string `query:"cluster_id" required:"true" maxLength:"128" doc:"Id of the cluster."`
}

// VoteHolders are the nodes that have the vote.
type VoteHolders struct {
	Holders []string `json:"holders" doc:"None as long as the cluster is whole."`
}

// PostArbitratorVote asks for the exclusive vote of an arbitrator.
var PostArbitratorVote = Operation[Vote, VoteGrant]{
	ID: "PostArbitratorVote", Method: "POST", Path: "/api/arbitrator/vote", Tag: "arbitrator", Need: rbac.NeedHeartbeat, Max: 1 << 20, Errors: []int{503},
	Doc: "Ask this daemon for its vote, as the arbitrator of a cluster that is split. The first part of the cluster that asks gets it, the others are refused until the lease of every node that has it runs out, or it is given back. Votes are kept by user and cluster, in memory.",
	Example: func() (Vote, VoteGrant) {
		return Vote{Body: VoteClaim{ClusterID: exampleSession, Node: "node1", Members: []string{"node1"}}},
			VoteGrant{Verdict: "granted", Lease: 20000, Holders: []string{"node1"}}
	},
}

// GetArbitratorVote tells who has the exclusive vote of an arbitrator.
var GetArbitratorVote = Operation[VoteQuery, VoteHolders]{
	ID: "GetArbitratorVote", Method: "GET", Path: "/api/arbitrator/vote", Tag: "arbitrator", Need: rbac.NeedHeartbeat,
	Doc: "Tell which nodes of a cluster have the vote of this daemon. The nodes of the cluster ask it now and then, to see that they could get it.",
	Example: func() (VoteQuery, VoteHolders) {
		return VoteQuery{ClusterID: exampleSession}, VoteHolders{Holders: []string{}}
	},
}
