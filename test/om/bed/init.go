package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// control is the descriptor of the control socket in pid 1 of a node.
const control = 3

// plan is what a node is made of, for the process that becomes its pid 1.
type plan struct {
	Name     string
	Number   int
	Dir      string // of the node
	Shared   string
	Boot     string // id of the boot
	Networks int
	VarSize  string
	Group    bool // it has a control group
}

// message is what the bed and pid 1 of a node say on the control socket.
type message struct {
	Op     string   `json:"op"`
	ID     int      `json:"id,omitempty"`
	Argv   []string `json:"argv,omitempty"`
	Env    []string `json:"env,omitempty"`
	Pid    int      `json:"pid,omitempty"`
	Signal int      `json:"signal,omitempty"`
	Status int      `json:"status,omitempty"`
	Error  string   `json:"error,omitempty"`
	Text   string   `json:"text,omitempty"`
}

// boot is the first half of a boot: the name spaces are new, what is in them is not.
func boot(text string) error {
	runtime.LockOSThread() // the name space of control groups is that of a thread
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(p.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := mounts(p); err != nil {
		return err
	}
	if err := up("lo", nil); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	taps := make([]int, p.Networks)
	for i := range taps {
		name := "eth" + strconv.Itoa(i)
		fd, err := tap(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := up(name, net.ParseIP(address(i, p.Number)).To4()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		taps[i] = fd
	}
	if err := unix.Sendmsg(control, []byte(`{"op":"taps"}`), unix.UnixRights(taps...), nil, 0); err != nil {
		return fmt.Errorf("pass the interfaces: %w", err)
	}
	for _, fd := range taps {
		_ = unix.Close(fd)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", []string{roleInit + "/" + p.Name}, []string{"PATH=/usr/bin:/bin"})
}

// mounts gives a node the directories of its own.
func mounts(p plan) error {
	mount := func(source, target, kind string, flags uintptr, data string) error {
		if err := unix.Mount(source, target, kind, flags, data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", source, target, err)
		}
		return nil
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	variable := func() error { return mount(filepath.Join(p.Dir, "var"), "/var", "", unix.MS_BIND|unix.MS_REC, "") }
	if p.VarSize != "" {
		variable = func() error {
			out, err := exec.CommandContext(context.Background(), "/bin/mount", "-o", "loop,noatime", filepath.Join(p.Dir, "var.img"), "/var").CombinedOutput()
			if err != nil {
				return fmt.Errorf("mount /var: %w: %s", err, out)
			}
			return nil
		}
	}
	// The directory of the bed may be below one that is hidden here: it comes first.
	steps := []func() error{
		func() error { return mount(p.Shared, Mount, "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return mount(filepath.Join(p.Dir, "etc"), "/etc", "", unix.MS_BIND|unix.MS_REC, "") },
		func() error { return mount("proc", "/proc", "proc", 0, "") },
		func() error { return files(p, mount) },
		variable,
		func() error { return mount("run", "/run", "tmpfs", 0, "mode=755") },
		func() error { return mount("shm", "/dev/shm", "tmpfs", 0, "mode=1777") },
		func() error { return groups(p, mount) },
		func() error { return mount("tmp", "/tmp", "tmpfs", 0, "mode=1777") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/var/lib", "/var/log", "/var/tmp", "/run/lock", "/run/bed"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	_ = os.Symlink("/run", "/var/run")
	return nil
}

// files hides two files of the kernel: the id of the boot, which is one of this node
// and not of the host, and the trigger that would end the host.
func files(p plan, mount func(string, string, string, uintptr, string) error) error {
	id, trigger := filepath.Join(p.Dir, "boot_id"), filepath.Join(p.Dir, "trigger")
	if err := os.WriteFile(id, []byte(p.Boot+"\n"), 0o600); err != nil {
		return err
	}
	if err := mount(id, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if _, err := os.Stat(triggerFile); err != nil {
		return nil //nolint:nilerr // a kernel without one
	}
	_ = os.Remove(trigger)
	if err := unix.Mkfifo(trigger, 0o600); err != nil {
		return err
	}
	return mount(trigger, triggerFile, "", unix.MS_BIND, "")
}

const triggerFile = "/proc/sysrq-trigger"

// groups shows a node the control groups below its own, when it has one.
func groups(p plan, mount func(string, string, string, uintptr, string) error) error {
	if !p.Group {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("a name space of control groups: %w", err)
	}
	if err := mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return err
	}
	return mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, "")
}

// tap makes an interface whose other end is a descriptor.
func tap(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return -1, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	return fd, unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
}

// up gives an interface an address and sets it up.
func up(name string, ip net.IP) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if ip != nil {
		for _, set := range []struct {
			request uint
			value   []byte
		}{{unix.SIOCSIFADDR, ip}, {unix.SIOCSIFNETMASK, net.CIDRMask(24, 32)}} {
			if err := request.SetInet4Addr(set.value); err != nil {
				return err
			}
			if err := unix.IoctlIfreq(fd, set.request, request); err != nil {
				return err
			}
		}
		if request, err = unix.NewIfreq(name); err != nil {
			return err
		}
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING | unix.IFF_MULTICAST | unix.IFF_BROADCAST)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// king is pid 1 of a node.
type king struct {
	conn *net.UnixConn

	mu       sync.Mutex
	subjects map[int]int // pid to id of the command
}

// reign is the second half of a boot: pid 1 runs commands and reaps, until the bed is
// gone.
func reign() error {
	conn, err := unixConn(os.NewFile(control, "control"))
	if err != nil {
		return err
	}
	k := &king{conn: conn, subjects: map[int]int{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			k.reap()
		}
	}()
	if trigger, err := os.OpenFile(triggerFile, os.O_RDWR, 0); err == nil {
		go k.watch(trigger)
	}
	if err := k.tell(message{Op: "ready"}); err != nil {
		return err
	}
	for {
		m, fds, err := receive(k.conn)
		if err != nil {
			return nil //nolint:nilerr // the bed is gone: so is the node
		}
		switch m.Op {
		case "run":
			k.run(m, fds)
		case "signal":
			_ = unix.Kill(m.Pid, syscall.Signal(m.Signal))
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
}

// watch ends the node when the trigger is pulled.
func (k *king) watch(trigger *os.File) {
	b := make([]byte, 16)
	n, err := trigger.Read(b)
	if err != nil {
		return
	}
	_ = k.tell(message{Op: "trigger", Text: string(bytes.TrimSpace(b[:n]))})
	os.Exit(1)
}

func (k *king) tell(m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = k.conn.Write(b)
	return err
}

func (k *king) run(m message, fds []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd)
	}
	program, err := look(m.Argv[0])
	pid := 0
	if err == nil {
		pid, err = syscall.ForkExec(program, m.Argv, &syscall.ProcAttr{
			Dir: "/", Env: m.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		_ = k.tell(message{Op: "started", ID: m.ID, Error: m.Argv[0] + ": " + err.Error()})
		return
	}
	k.subjects[pid] = m.ID
	_ = k.tell(message{Op: "started", ID: m.ID, Pid: pid})
}

// look finds a program in [path].
func look(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, name), nil
		}
	}
	return "", errors.New("no such program in " + path)
}

// path is that of the commands on a node.
const path = Mount + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (k *king) reap() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
		id, ok := k.subjects[pid]
		if !ok {
			continue
		}
		delete(k.subjects, pid)
		_ = k.tell(message{Op: "ended", ID: id, Status: int(status)})
	}
}

// receive reads one message, and the descriptors that came with it.
func receive(conn *net.UnixConn) (m message, fds []int, err error) {
	b, oob := make([]byte, 1<<16), make([]byte, unix.CmsgSpace(4*16))
	n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
	if err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, nil, net.ErrClosed
	}
	if oobn > 0 {
		all, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return m, nil, err
		}
		for i := range all {
			got, err := unix.ParseUnixRights(&all[i])
			if err != nil {
				return m, nil, err
			}
			fds = append(fds, got...)
		}
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return m, fds, json.Unmarshal(b[:n], &m)
}
