package journal

import (
	"os"
	"strconv"
	"syscall"
)

// Carries reports whether what is written to a file goes to the journal already:
// stream is what systemd says of it in the environment, as JOURNAL_STREAM. A process
// inherits the variable, and may have the file changed.
func Carries(file *os.File, stream string) bool {
	if stream == "" {
		return false
	}
	info, err := file.Stat()
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == strconv.FormatUint(uint64(s.Dev), 10)+":"+strconv.FormatUint(uint64(s.Ino), 10) //nolint:unconvert,nolintlint // the widths differ between systems
}
