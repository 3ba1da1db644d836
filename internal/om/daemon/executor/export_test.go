package executor

// Reason is the error a command has ended with.
func (j Job) Reason(words string) string { return j.reason(words) }
