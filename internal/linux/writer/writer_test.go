//go:build linux

package writer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/linux/writer"
)

func TestAFileIsBusyUntilItsWriterClosesIt(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}

	during, err := writer.Busy(name)

	if err != nil || !during {
		t.Errorf("busy %v, %v while it is written", during, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := writer.Busy(name); err != nil || after {
		t.Errorf("busy %v, %v once it is closed", after, err)
	}
}
