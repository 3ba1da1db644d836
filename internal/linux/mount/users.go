package mount

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Users says who uses a mounted filesystem, as "process 42 (nginx): /srv/web/log", as
// far as this process may see.
func Users(p Point) []string {
	var users []string
	below, _ := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) { return i.Parent != p.ID, false })
	for _, m := range below {
		users = append(users, "the mount at "+m.Mountpoint)
	}
	backing, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, name := range backing {
		if b, err := os.ReadFile(name); err == nil && within(strings.TrimSpace(string(b)), p.Dir) {
			users = append(users, "/dev/"+filepath.Base(filepath.Dir(filepath.Dir(name))))
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		if what := uses(dir, p); what != "" {
			comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
			users = append(users, fmt.Sprintf("process %s (%s): %s", filepath.Base(dir), strings.TrimSpace(string(comm)), what))
		}
	}
	return users
}

// uses returns what of a filesystem a process uses; "" for nothing.
func uses(process string, p Point) string {
	for _, link := range []string{"cwd", "root", "exe"} {
		name := filepath.Join(process, link)
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		is := mountOf(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) == p.ID
		_ = unix.Close(fd)
		if is {
			return target(name)
		}
	}
	fds, _ := filepath.Glob(process + "/fdinfo/*")
	for _, info := range fds {
		if mountOf(info) == p.ID {
			return target(filepath.Join(process, "fd", filepath.Base(info)))
		}
	}
	return mapped(process, p)
}

func target(link string) string {
	to, err := os.Readlink(link)
	if err != nil {
		return "a file"
	}
	return to
}

// mountOf reads the mount an open file is of.
func mountOf(fdinfo string) int {
	b, err := os.ReadFile(fdinfo)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			if id, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
				return id
			}
		}
	}
	return -1
}

// mapped finds a file of the filesystem in the memory of a process.
func mapped(process string, p Point) string {
	f, err := os.Open(filepath.Join(process, "maps"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	device := fmt.Sprintf("%02x:%02x", unix.Major(p.Device), unix.Minor(p.Device))
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) >= 6 && words[3] == device && within(words[5], p.Dir) {
			return words[5]
		}
	}
	return ""
}

func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
