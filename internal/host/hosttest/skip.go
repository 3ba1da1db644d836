package hosttest

import (
	"fmt"
	"os"
)

// Skipper is what Skip needs of a *testing.T.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Skip skips a test for want of something it names. Where HOLDFAST_FORBID_SKIP
// is set, as it is in the lab and in continuous integration, whatever a test
// wants has to be there: it fails instead.
func Skip(tb Skipper, format string, args ...any) {
	tb.Helper()
	message := fmt.Sprintf(format, args...)
	if os.Getenv("HOLDFAST_FORBID_SKIP") != "" { //nolint:forbidigo // a switch of the test run, not of the product
		tb.Fatalf("%s (skips are forbidden here)", message)
	}
	tb.Skipf("%s", message)
}
