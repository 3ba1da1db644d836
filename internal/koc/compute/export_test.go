package compute

// NewKey is for the tests.
func NewKey(comment string) (public, private string, err error) { return newKey(comment) }
