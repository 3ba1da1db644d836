package remote

// LoginError says that a context needs a login before anything else.
type LoginError struct {
	Context string
	Reason  string
}

// Error says what to do.
func (e *LoginError) Error() string {
	return "context " + e.Context + ": " + e.Reason + ": log in with: ox context login --context " + e.Context
}

// LoginContext names the context.
func (e *LoginError) LoginContext() string { return e.Context }
