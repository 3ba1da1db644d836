package fs

import (
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// guard knows the directories that belong to the system or to the agent: no
// object may own, change or remove them.
type guard []string

// newGuard guards the system, the directories of the agent, and all that is
// above them.
func newGuard(paths host.Paths) guard {
	var g guard
	for _, dir := range append([]string{
		"/bin", "/boot", "/dev", "/dev/pts", "/dev/shm", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/media", "/mnt",
		"/opt", "/proc", "/root", "/run", "/run/lock", "/run/user", "/sbin", "/srv", "/sys", "/tmp", "/usr/bin", "/usr/include", "/usr/lib",
		"/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/local/bin", "/usr/local/etc", "/usr/local/lib", "/usr/local/sbin", "/usr/local/share",
		"/usr/sbin", "/usr/share", "/usr/src", "/var/cache", "/var/lib", "/var/lock", "/var/log", "/var/mail", "/var/opt", "/var/run",
		"/var/spool", "/var/tmp",
	}, paths.Etc(), paths.Var(), paths.Log(), paths.Run(), paths.Shm(), paths.Root) {
		for dir = filepath.Clean("/" + dir); !slices.Contains(g, dir); dir = filepath.Dir(dir) {
			g = append(g, dir)
		}
	}
	return g
}

// name refuses a directory by its name.
func (g guard) name(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("path %q is not absolute: write it from the root, as /srv/data", dir)
	}
	if slices.Contains(g, filepath.Clean(dir)) {
		return guarded(dir)
	}
	return nil
}

// identity refuses a directory by what it is, whatever links and mounts led to it.
func (g guard) identity(dir string, info iofs.FileInfo) error {
	for _, known := range g {
		if its, err := os.Stat(known); err == nil && os.SameFile(its, info) {
			return guarded(dir)
		}
	}
	return nil
}

func guarded(dir string) error {
	return fmt.Errorf("%s is a directory of the system or of the agent: give the object a directory of its own, as /srv/data", dir)
}
