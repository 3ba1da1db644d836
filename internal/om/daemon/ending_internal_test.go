package daemon

import (
	"context"
	"log/slog"
	"testing"
)

// Told to end while it restarts, a daemon ends: whoever told it waits for that.
func TestASignalDuringARestartEndsTheDaemon(t *testing.T) {
	t.Parallel()
	e := &ending{cancel: func() {}, log: slog.New(slog.DiscardHandler)}
	told, tell := context.WithCancel(t.Context())
	defer tell()
	if e.again(told) {
		t.Error("it begins again, and nobody asked")
	}
	e.Restart()
	if !e.again(told) {
		t.Error("it does not begin again")
	}
	tell()
	if e.again(told) {
		t.Error("it begins again after it was told to end")
	}
}
