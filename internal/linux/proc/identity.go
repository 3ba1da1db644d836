package proc

import (
	"os"
	"strings"
)

// Identity names one process for ever: no other process, of this boot or of
// another, has the same.
type Identity struct {
	Pid       int    `json:"pid"`
	StartTime uint64 `json:"start_time"` // clock ticks since the boot
	BootID    string `json:"boot_id"`
}

// Self is the identity of the running process. It survives an exec.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of is the identity of the process that has pid now.
func Of(pid int) (Identity, error) {
	p, err := Stat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := BootID()
	if err != nil {
		return Identity{}, err
	}
	return Identity{Pid: p.Pid, StartTime: p.StartTime, BootID: boot}, nil
}

// BootID names the current boot of the machine.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// IsZero reports whether id names no process.
func (id Identity) IsZero() bool { return id.Pid == 0 }

// Alive reports whether the process is still running. A process that ended and
// waits to be collected is not alive.
func (id Identity) Alive() bool {
	if id.IsZero() || !id.ThisBoot() {
		return false
	}
	p, err := Stat(id.Pid)
	return err == nil && p.StartTime == id.StartTime && !p.Ended()
}

// ThisBoot reports whether the process was started since the machine booted.
func (id Identity) ThisBoot() bool {
	boot, err := BootID()
	return err == nil && boot == id.BootID
}

// Session returns the processes of the table that belong to the session led by
// id, and started no earlier than it, the leader included. When another process
// has taken the number of the leader the session cannot be its own any more, and
// there is none.
func (id Identity) Session(table []Process) []Identity {
	var members []Identity
	for _, p := range table {
		if p.Pid == id.Pid && p.StartTime != id.StartTime {
			return nil
		}
		if p.Session == id.Pid && p.StartTime >= id.StartTime && !p.Ended() {
			members = append(members, Identity{Pid: p.Pid, StartTime: p.StartTime, BootID: id.BootID})
		}
	}
	return members
}
