package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
)

func TestADaemonThatCannotWriteItsPidIsADaemon(t *testing.T) {
	t.Parallel()
	paths := host.Paths{Root: t.TempDir()}
	// No file can take the place of a directory: so is a disk without room.
	if err := os.MkdirAll(filepath.Join(paths.Pid(), "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}

	p, err := acquire(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	if p.unsigned == nil {
		t.Error("nothing says that the id is not written")
	}
	if err := p.release(); err != nil {
		t.Error(err)
	}
}
