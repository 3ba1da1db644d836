package host

import "time"

// NewPatientRunner returns a runner that leaves that long between TERM and KILL.
func NewPatientRunner(grace time.Duration) Runner { return runner{grace: grace} }
