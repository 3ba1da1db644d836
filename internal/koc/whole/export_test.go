package whole

import (
	"io/fs"
	"os"
)

// Named opens a file as it is done where files must have names.
func Named(dir string, mode fs.FileMode) (*os.File, error) { return named(dir, mode) }
