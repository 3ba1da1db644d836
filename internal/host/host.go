// Package host is the operating-system seam: how the rest of the tree runs
// commands and finds its files. It is the only user of os/exec. Package
// hosttest has the doubles.
package host

// Host is what the agent knows of the machine it runs on.
type Host struct {
	Runner   Runner
	Paths    Paths
	Hostname string // short, lower case: the node name
	Self     string // path of the running executable
}
