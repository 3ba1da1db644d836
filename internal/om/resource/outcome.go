package resource

// AlreadyUpError tells that a start found up what it was to start: a success, with
// nothing to undo.
type AlreadyUpError struct{ What string }

// Error names what is up.
func (e *AlreadyUpError) Error() string { return "already up: " + e.What }

// UntouchedError tells that a start was refused before it started anything: there
// is nothing to undo, and what runs is not its own.
type UntouchedError struct{ Err error }

// Error is the reason.
func (e *UntouchedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UntouchedError) Unwrap() error { return e.Err }
