package heartbeat

import "fmt"

// Reason is why a frame is not believed.
type Reason string

// The reasons.
const (
	Malformed     Reason = "malformed"
	Foreign       Reason = "foreign"        // of another cluster
	UnknownSender Reason = "unknown sender" // of no node of the cluster
	UnknownKey    Reason = "unknown key"    // sealed with a secret that is not known here
	Forged        Reason = "forged"         // it does not open
	Lie           Reason = "lie"            // it opens, and says what cannot be
)

// RefusedError says why a frame is not believed.
type RefusedError struct {
	Reason Reason
	Sender string // who the frame says it is of; empty: it does not even say so
	Detail string
}

// Error implements error.
func (r *RefusedError) Error() string {
	if r.Sender == "" {
		return "a frame is ignored: " + r.Detail
	}
	return fmt.Sprintf("a frame of %q is ignored: %s", r.Sender, r.Detail)
}

func refusal(why Reason, sender, format string, args ...any) *RefusedError {
	return &RefusedError{Reason: why, Sender: sender, Detail: fmt.Sprintf(format, args...)}
}
