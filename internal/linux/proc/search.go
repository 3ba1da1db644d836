package proc

import (
	"bytes"
	"context"
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
// and its control group, not the environment it was executed with. None escapes it
// by executing another program or by leaving a child meanwhile. The running process
// is left out, and so are those whose environment the user may not read, and one
// that needs more than a second to be executed.
func Search(ctx context.Context, vars ...string) ([]Found, error) {
	var found []Found
	room := make([]byte, environRoom)
	err := scan(ctx, func(pid int) verdict {
		if pid == os.Getpid() {
			return known
		}
		size, larger, err := read(pid, room)
		room = larger
		switch {
		case errors.Is(err, os.ErrPermission):
			return known
		case size == 0:
			return withoutEnviron(pid)
		case slices.ContainsFunc(vars, func(v string) bool { return !bytes.Contains(room[:size], []byte(v)) }):
			return known
		}
		f, v := match(pid, vars)
		if f != nil {
			found = append(found, *f)
		}
		return v
	})
	return found, err
}

// environRoom holds the environment of nearly every process.
const environRoom = 16 << 10

// match reads the environment of a process again once its identity is known: the
// number may have been given to another process meanwhile.
func match(pid int, vars []string) (*Found, verdict) {
	id, err := Of(pid)
	if err != nil || !id.Alive() {
		return nil, gone
	}
	env, err := environ(pid)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, gone
	case errors.Is(err, ErrExecuting):
		return nil, unknown
	case err != nil:
		return nil, known
	}
	f := Found{Identity: id, environ: env}
	if slices.ContainsFunc(vars, func(v string) bool {
		key, value, _ := strings.Cut(v, "=")
		return f.Env(key) != value
	}) {
		return nil, known
	}
	return &f, known
}

// withoutEnviron tells why the environment of a process reads as empty.
func withoutEnviron(pid int) verdict {
	p, err := Stat(pid)
	switch {
	case err != nil:
		return gone
	case p.Ended():
		return ended
	case p.kernel, p.bare:
		return known
	}
	return unknown
}

// read reads the environment of a process in room, which it returns, larger when it
// had to be: at once, for it may be gone from one call to the next. It makes the least
// calls that can be: every process of the host is asked.
func read(pid int, room []byte) (size int, _ []byte, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, room, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	for {
		n, err := unix.Pread(fd, room, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case n == len(room):
			room = make([]byte, 2*len(room))
		default:
			return max(n, 0), room, nil // 0 on an error: the process ended, or has none
		}
	}
}
