package object

// NotFoundError says that an object does not exist.
type NotFoundError struct{ What string }

// Error names the object.
func (e *NotFoundError) Error() string { return e.What + ": object not found" }

// ExitCode is the exit status of a command ended by this error.
func (e *NotFoundError) ExitCode() int { return 2 }
