package event

// JoinRequest says that a node asks to be of the cluster.
type JoinRequest struct {
	CandidateNode string `json:"candidate_node"`
}

// JoinSuccess says that a node was added to the nodes of the cluster.
type JoinSuccess struct {
	AddedNode string `json:"added_node"`
}

// JoinIgnored says that a node which asks to join is of the cluster already.
type JoinIgnored struct {
	CandidateNode string `json:"candidate_node"`
}

// JoinError says that a node does not join, and why.
type JoinError struct {
	CandidateNode string `json:"candidate_node"`
	Reason        string `json:"reason"`
}

// LeaveRequest says that a node asks not to be of the cluster any more.
type LeaveRequest struct {
	CandidateNode string `json:"candidate_node"`
}

// LeaveSuccess says that a node was removed from the nodes of the cluster.
type LeaveSuccess struct {
	RemovedNode string `json:"removed_node"`
}

// LeaveIgnored says that a node which asks to leave is not of the cluster.
type LeaveIgnored struct {
	CandidateNode string `json:"candidate_node"`
}

// LeaveError says that a node does not leave, and why.
type LeaveError struct {
	CandidateNode string `json:"candidate_node"`
	Reason        string `json:"reason"`
}

// Kind implements [Event].
func (JoinRequest) Kind() string { return "JoinRequest" }

// Labels implements [Event].
func (e JoinRequest) Labels() map[string]string { return candidate(e.CandidateNode) }

// Kind implements [Event].
func (JoinSuccess) Kind() string { return "JoinSuccess" }

// Labels implements [Event].
func (e JoinSuccess) Labels() map[string]string { return map[string]string{"added_node": e.AddedNode} }

// Kind implements [Event].
func (JoinIgnored) Kind() string { return "JoinIgnored" }

// Labels implements [Event].
func (e JoinIgnored) Labels() map[string]string { return candidate(e.CandidateNode) }

// Kind implements [Event].
func (JoinError) Kind() string { return "JoinError" }

// Labels implements [Event].
func (e JoinError) Labels() map[string]string { return candidate(e.CandidateNode) }

// Kind implements [Event].
func (LeaveRequest) Kind() string { return "LeaveRequest" }

// Labels implements [Event].
func (e LeaveRequest) Labels() map[string]string { return candidate(e.CandidateNode) }

// Kind implements [Event].
func (LeaveSuccess) Kind() string { return "LeaveSuccess" }

// Labels implements [Event].
func (e LeaveSuccess) Labels() map[string]string {
	return map[string]string{"removed_node": e.RemovedNode}
}

// Kind implements [Event].
func (LeaveIgnored) Kind() string { return "LeaveIgnored" }

// Labels implements [Event].
func (e LeaveIgnored) Labels() map[string]string { return candidate(e.CandidateNode) }

// Kind implements [Event].
func (LeaveError) Kind() string { return "LeaveError" }

// Labels implements [Event].
func (e LeaveError) Labels() map[string]string { return candidate(e.CandidateNode) }

func candidate(node string) map[string]string { return map[string]string{"candidate_node": node} }
