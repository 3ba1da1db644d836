package host

import "path/filepath"

// Paths roots every file of the agent. The zero Paths are those of an installed
// agent; with a Root (OSVC_ROOT_PATH) everything, sockets and flags included,
// lives under it and needs no privilege.
type Paths struct{ Root string }

// Etc is the configuration directory.
func (p Paths) Etc() string { return p.at("/etc/opensvc", "etc") }

// Var is the state directory.
func (p Paths) Var() string { return p.at("/var/lib/opensvc", "var") }

// Log is the log directory.
func (p Paths) Log() string { return p.at("/var/log/opensvc", "log") }

// Run is the directory of what does not survive a reboot.
func (p Paths) Run() string { return p.at("/run/opensvc", "run") }

// Shm is the directory of flag files: memory backed, empty after a boot.
func (p Paths) Shm() string { return p.at("/dev/shm/opensvc", "shm") }

// Socket is the unix socket of the daemon.
func (p Paths) Socket() string { return filepath.Join(p.Var(), "lsnr", "http.sock") }

// UserSocket is the unix socket of the daemon for local accounts and sidecars: the
// daemon sees who connects. It is below a directory that may be mounted alone.
func (p Paths) UserSocket() string {
	return filepath.Join(p.at("/run/opensvc-ux", "ux"), "http.sock")
}

// Pid is the file holding the process id of the daemon.
func (p Paths) Pid() string { return filepath.Join(p.Var(), "osvcd.pid") }

// Locks is the directory of lock files.
func (p Paths) Locks() string { return filepath.Join(p.Var(), "lock") }

func (p Paths) at(installed, rooted string) string {
	if p.Root == "" {
		return installed
	}
	return filepath.Join(p.Root, rooted)
}
