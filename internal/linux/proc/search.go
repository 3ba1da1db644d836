package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is a process that a search found.
type Found struct {
	Identity

	environ []string
}

// Env is the value of a variable in the environment the process was executed
// with; of one that is there twice, the last.
func (f Found) Env(name string) string {
	for _, e := range slices.Backward(f.environ) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// Search finds the processes alive whose environment holds every one of vars,
// each KEY=value, wherever they went: a process may leave its session, its parent
// and its control group, not the environment it was executed with. The running
// process is left out, and so are those whose environment the user may not read.
func Search(vars ...string) ([]Found, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []Found
	room := make([]byte, 16<<10)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		var held bool
		if held, room = holds(pid, vars, room); !held {
			continue
		}
		// Read again once the identity is known: the number may have been given
		// to another process meanwhile.
		id, err := Of(pid)
		if err != nil || !id.Alive() {
			continue
		}
		env, err := Environ(pid)
		if err != nil {
			continue
		}
		f := Found{Identity: id, environ: env}
		if !slices.ContainsFunc(vars, func(v string) bool {
			key, value, _ := strings.Cut(v, "=")
			return f.Env(key) != value
		}) {
			found = append(found, f)
		}
	}
	return found, nil
}

// holds reads the environment of a process in room, which it returns, larger when it
// had to be. It makes the least calls that can be: every process of the host is asked.
func holds(pid int, vars []string, room []byte) (bool, []byte) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, room
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	size := 0
	for {
		n, err := unix.Read(fd, room[size:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if size += max(n, 0); n <= 0 {
			break // no more of it, or the process ended
		}
		if size == len(room) {
			room = append(room, make([]byte, len(room))...)
		}
	}
	for _, v := range vars {
		if !bytes.Contains(room[:size], []byte(v)) {
			return false, room
		}
	}
	return size > 0, room
}
