package cluster

// Arbitrator is a server that votes when the cluster is not whole.
type Arbitrator struct {
	Name      string
	URI       string
	Insecure  bool
	Weight    int
	Exclusive bool   // it gives its votes to one part of the cluster only
	Username  string // of an exclusive one
	Password  string // the sec object that holds it
}
