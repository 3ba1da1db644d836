package verb

import "context"

// Completer is implemented by a backend that knows what may be typed.
type Completer interface {
	// Complete returns the values of a nature that start with prefix, for the
	// objects selected. It never fails: what is not known is not offered.
	Complete(ctx context.Context, what, selector, prefix string) []string
}

// What a value completes to.
const (
	CompleteObjects     = "objects"
	CompleteNodes       = "nodes"
	CompleteKeywords    = "keywords"
	CompleteAssignments = "assignments" // keywords followed by their value
	CompleteSections    = "sections"
	CompleteResources   = "resources"
	CompleteStatuses    = "statuses"
	CompleteFiles       = "files" // and objects
)

// Completes returns what the value of a flag is, "" when it is free text.
func Completes(flag string) string {
	switch flag {
	case "node", "impersonate":
		return CompleteNodes
	case "kw", "set":
		return CompleteAssignments
	case "unset":
		return CompleteKeywords
	case "delete", "section":
		return CompleteSections
	case "rid", "to":
		return CompleteResources
	case "config", "from":
		return CompleteFiles
	case "status":
		return CompleteStatuses
	}
	return ""
}
