package discover_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfast-ops/holdfast/internal/om/daemon/discover"
)

// The watcher sends its errors under a lock that adding a watch takes: a loop that
// adds and receives would wait for itself.
func TestErrorsOfTheWatcherNeverWaitForTheLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errs := make(chan error)
		kept := discover.Drained(errs)
		first := errors.New("first")

		errs <- first
		for range 10 {
			errs <- errors.New("another") // nobody receives
		}
		close(errs)
		synctest.Wait()

		if err := <-kept; !errors.Is(err, first) {
			t.Errorf("kept %v, want one error", err)
		}
	})
}
