package launch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultPath is where commands are searched when the environment does not say.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Find returns the file a command name designates: a name with a slash is a
// file, another is searched in path, a list of directories separated by colons.
func Find(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			continue // the current directory is not searched
		}
		file := filepath.Join(dir, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if _, missing := os.Stat(file); missing == nil && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("command %q: not found in %s", name, path)
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("command %s: is a directory", file)
	}
	if info.Mode()&0o111 == 0 {
		return fmt.Errorf("command %s: is not executable: %w", file, fs.ErrPermission)
	}
	return nil
}
