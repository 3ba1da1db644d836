package api

import "net/http"

// Problem is the body of every refusal (RFC 9457). It is an error.
type Problem struct { //nolint:errname // the name RFC 9457 gives it
	Type   string `json:"type,omitempty" doc:"What kind of refusal it is, when the status does not say enough." example:"instance-not-found"`
	Title  string `json:"title" doc:"The status, in words." example:"Not Found"`
	Detail string `json:"detail" doc:"What was refused and why, naming the thing." example:"object svc1 does not exist"`
	Status int    `json:"status" doc:"The HTTP status." example:"404"`
}

// The types of the refusals that share a status.
const (
	TypeNoInstance  = "instance-not-found"   // the object exists, not on that node
	TypeUnsupported = "action-not-supported" // objects of that kind have no such action
	TypeNoKey       = "key-not-found"        // the object exists, and has no such key
)

// NewProblem returns the refusal of status for the reason detail.
func NewProblem(status int, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Detail: detail, Status: status}
}

// Error returns the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Detail
}

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of problem documents.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// ExitCode returns the exit code of a command ended by this refusal: 2 when
// the object, or its key, does not exist, 3 when its instance does not, 4 when the action does
// not, else 1.
func (p *Problem) ExitCode() int {
	switch {
	case p.Type == TypeNoInstance:
		return 3
	case p.Type == TypeUnsupported:
		return 4
	case p.Status == http.StatusNotFound, p.Type == TypeNoKey:
		return 2
	}
	return 1
}
