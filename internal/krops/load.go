package krops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// lookup reads the environment of a process. Package config must tell a variable
// that is empty from one that is not there.
func lookup(p program.Process) config.Lookup {
	return func(name string) (string, bool) {
		for _, pair := range p.Environ {
			if key, value, ok := strings.Cut(pair, "="); ok && key == name {
				return value, true
			}
		}
		return "", false
	}
}

// load reads the configuration at a path.
func load(path string) (*config.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read bootstrap config '%s': %w", path, err)
	}
	return config.Parse(path, text, app.Nearest)
}

// variable is one of the environment, "" when it is not there.
func variable(p program.Process, name string) string {
	value, _ := lookup(p)(name)
	return value
}

// repository is where a configuration belongs to: the directory of the file,
// wherever links lead.
func repository(path string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find the repository of %s: %w", path, err)
	}
	return dir, nil
}
