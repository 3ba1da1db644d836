package instance

import "github.com/holdfast-ops/holdfast/internal/om/object"

// Plan is what an action will do, in order.
type Plan struct {
	Path   object.Path
	Action Action
	Sets   []Set
}

// Set is a group of resources done together: one after the other, or at once.
type Set struct {
	Group    string // "app"
	Subset   string // empty: the resources without a subset
	Parallel bool
	Steps    []Step
}

// Step is what is done to one resource.
type Step struct {
	RID  string
	Verb string // what the driver is asked: start, stop...
	Skip string // why nothing is done, empty when something is
}
