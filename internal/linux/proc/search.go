package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
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
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() || !holds(pid, vars) {
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

func holds(pid int, vars []string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(b) == 0 {
		return false
	}
	for _, v := range vars {
		if !bytes.Contains(b, []byte(v)) {
			return false
		}
	}
	return true
}
