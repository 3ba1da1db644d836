package bed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

var often = retry.Policy{Interval: 10 * time.Millisecond}

// Node is a machine of the bed.
type Node struct {
	Name   string
	bed    *Bed
	number int
	dir    string // its disk

	boots sync.Mutex // one boot or end at a time
	mu    sync.Mutex
	life  *life // nil when the power is off
	fell  []string
}

// life is a node from a boot to its end.
type life struct {
	init *exec.Cmd
	conn *net.UnixConn
	gone chan struct{} // closed when pid 1 and all others have ended
	// buried is closed when nothing of it is left here either.
	buried chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]*Process
}

// Process is a command that runs on a node.
type Process struct {
	Pid     int // as the node sees it
	node    *Node
	started chan error
	ended   chan struct{}
	status  syscall.WaitStatus
}

// ErrNoNameSpaces is the error of a host that lets this user make no name spaces.
var ErrNoNameSpaces = errors.New("this user may not make here what a node needs")

// ErrDown is the error of what needs a node that is up.
var ErrDown = errors.New("the node is down")

// format makes the disk of a node.
func (n *Node) format(ctx context.Context) error {
	for _, dir := range []string{"etc", "var"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			return err
		}
	}
	if size := n.bed.o.VarSize; size != "" {
		out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", filepath.Join(n.dir, "var.img"), size).CombinedOutput()
		if err != nil {
			return fmt.Errorf("make a file system: %w: %s", err, out)
		}
	}
	etc := filepath.Join(n.dir, "etc")
	for _, name := range []string{"passwd", "group", "protocols", "services", "ld.so.cache", "localtime", "mke2fs.conf"} {
		err := copyFile(filepath.Join("/etc", name), filepath.Join(etc, name), 0o644)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_ = os.Symlink("/proc/mounts", filepath.Join(etc, "mtab"))
	for name, text := range map[string]string{
		"hosts": n.bed.hosts(), "hostname": n.Name + "\n", "nsswitch.conf": "hosts: files\n", "resolv.conf": "",
	} {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Etc is the /etc of the node, seen from here.
func (n *Node) Etc() string { return filepath.Join(n.dir, "etc") }

// Var is the /var of the node, seen from here, when it is a directory.
func (n *Node) Var() string { return filepath.Join(n.dir, "var") }

// Address is that of an interface of the node.
func (n *Node) Address(network int) string { return address(network, n.number) }

// Boot powers the node on. It must be off.
func (n *Node) Boot(ctx context.Context) error {
	n.boots.Lock()
	defer n.boots.Unlock()
	if n.alive() != nil {
		return fmt.Errorf("%s is up already", n.Name)
	}
	here, there, err := socketPair()
	if err != nil {
		return err
	}
	p := plan{
		Name: n.Name, Number: n.number, Dir: n.dir, Shared: n.bed.Shared(), Boot: uuid.NewString(),
		Networks: n.bed.o.Networks, VarSize: n.bed.o.VarSize, Group: n.bed.group != "",
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	console, err := os.OpenFile(filepath.Join(n.dir, "console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = console.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", string(text))
	cmd.Args[0] = roleBoot
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{there}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	if n.bed.group != "" {
		group := filepath.Join(n.bed.group, n.Name)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		dir, err := os.Open(group)
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	err = cmd.Start()
	_ = there.Close()
	if err != nil {
		_ = here.Close()
		return fmt.Errorf("%w: %w", ErrNoNameSpaces, err)
	}
	l := &life{init: cmd, conn: here, gone: make(chan struct{}), buried: make(chan struct{}), waiting: map[int]*Process{}}
	go func() {
		_ = cmd.Wait()
		n.ended(cmd.ProcessState)
		close(l.gone)
	}()
	taps, err := l.begin(ctx)
	if err != nil {
		_ = cmd.Process.Kill()
		<-l.gone
		said, _ := os.ReadFile(console.Name())
		return fmt.Errorf("%w: %s: %w", ErrNoNameSpaces, strings.TrimSpace(string(said)), errors.Join(err, here.Close()))
	}
	for i, tap := range taps {
		n.bed.network.plug(i, n.Name, tap)
	}
	n.mu.Lock()
	n.life = l
	n.mu.Unlock()
	go n.listen(l)
	return nil
}

// ended notes that the node asked the kernel for its end: pid 1 has ended by the
// signal that stands for it.
func (n *Node) ended(state *os.ProcessState) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGHUP {
		return
	}
	n.mu.Lock()
	n.fell = append(n.fell, "b")
	n.mu.Unlock()
}

// begin waits until pid 1 reigns.
func (l *life) begin(ctx context.Context) (taps []int, err error) {
	deadline := time.Now().Add(30 * time.Second)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	for {
		m, fds, err := receive(l.conn)
		if err != nil {
			return nil, fmt.Errorf("pid 1 does not answer: %w", err)
		}
		if m.Op == "taps" {
			taps = fds
		}
		if m.Op == "ready" {
			return taps, l.conn.SetReadDeadline(time.Time{})
		}
	}
}

// listen hears what pid 1 says.
func (n *Node) listen(l *life) {
	for {
		m, _, err := receive(l.conn)
		if err != nil {
			break
		}
		if m.Op == "trigger" {
			n.bed.network.unplug(n.Name)
			n.mu.Lock()
			n.fell = append(n.fell, m.Text)
			n.mu.Unlock()
			continue
		}
		l.mu.Lock()
		p := l.waiting[m.ID]
		if m.Op == "ended" {
			delete(l.waiting, m.ID)
		}
		l.mu.Unlock()
		switch {
		case p == nil:
		case m.Op == "started" && m.Error != "":
			p.started <- errors.New(m.Error)
		case m.Op == "started":
			p.Pid = m.Pid
			p.started <- nil
		case m.Op == "ended":
			p.status = syscall.WaitStatus(m.Status)
			close(p.ended)
		}
	}
	<-l.gone
	n.bed.network.unplug(n.Name)
	_ = l.conn.Close()
	l.mu.Lock()
	for id, p := range l.waiting {
		delete(l.waiting, id)
		p.status = syscall.WaitStatus(syscall.SIGKILL)
		select {
		case p.started <- ErrDown:
		default:
		}
		close(p.ended)
	}
	l.mu.Unlock()
	n.mu.Lock()
	if n.life == l {
		n.life = nil
	}
	n.mu.Unlock()
	close(l.buried)
}

func (n *Node) alive() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// Up says whether the node has power.
func (n *Node) Up() bool { return n.alive() != nil }

// Fell lists how the node ended by itself: what was written to the trigger of the kernel,
// "c" for a crash and "b" for a reboot, or "b" when the kernel was asked to boot again.
func (n *Node) Fell() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.fell...)
}

// KillAll kills every process of the node but pid 1: its kernel lives, closes the
// connections and refuses new ones.
func (n *Node) KillAll() error { return n.Signal(-1, syscall.SIGKILL) }

// PowerOff ends the node as a loss of power does: its peers hear nothing more.
func (n *Node) PowerOff() error {
	n.boots.Lock()
	defer n.boots.Unlock()
	l := n.alive()
	if l == nil {
		return nil
	}
	n.bed.network.unplug(n.Name)
	if err := l.init.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-l.buried
	return nil
}

// Signal sends a signal to a process of the node; -1 is every one but pid 1.
func (n *Node) Signal(pid int, s syscall.Signal) error {
	l := n.alive()
	if l == nil {
		return fmt.Errorf("%s: %w", n.Name, ErrDown)
	}
	if err := l.tell(message{Op: "signal", Pid: pid, Signal: int(s)}); err != nil {
		return fmt.Errorf("%s: %w: %w", n.Name, ErrDown, err)
	}
	return nil
}

// Freeze stops every process of the node, as a suspended machine.
func (n *Node) Freeze() error { return n.Signal(-1, syscall.SIGSTOP) }

// Thaw lets them run again.
func (n *Node) Thaw() error { return n.Signal(-1, syscall.SIGCONT) }

func (l *life) tell(m message, fds ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = l.conn.WriteMsgUnix(b, rights, nil)
	return err
}

// Start starts a command on the node. What it prints goes to out.
func (n *Node) Start(ctx context.Context, out *os.File, argv ...string) (*Process, error) {
	l := n.alive()
	if l == nil {
		return nil, fmt.Errorf("%s: %w", n.Name, ErrDown)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	if out == nil {
		out = null
	}
	p := &Process{node: n, started: make(chan error, 1), ended: make(chan struct{})}
	l.mu.Lock()
	l.last++
	id := l.last
	l.waiting[id] = p
	l.mu.Unlock()
	fd := int(out.Fd())
	env := []string{"PATH=" + path, "HOME=/root", "USER=root", "LANG=C.UTF-8", "TERM=dumb"}
	if err := l.tell(message{Op: "run", ID: id, Argv: argv, Env: env}, int(null.Fd()), fd, fd); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", n.Name, ErrDown, err)
	}
	select {
	case err := <-p.started:
		return p, err
	case <-l.gone:
		return nil, fmt.Errorf("%s: %w", n.Name, ErrDown)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Wait waits for the end of the command, whose exit code it returns: 128 and more is
// that of a signal.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return -1, ctx.Err()
	}
	if p.status.Signaled() {
		return 128 + int(p.status.Signal()), nil
	}
	return p.status.ExitStatus(), nil
}

// Kill sends a signal to the command.
func (p *Process) Kill(s syscall.Signal) error { return p.node.Signal(p.Pid, s) }

// Run runs a command on the node and returns what it printed. An exit code other
// than 0 is an [*ExitError].
func (n *Node) Run(ctx context.Context, argv ...string) (string, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return "", err
	}
	p, err := n.Start(ctx, write, argv...)
	_ = write.Close()
	if err != nil {
		return "", errors.Join(err, read.Close())
	}
	var out bytes.Buffer
	said := make(chan struct{})
	go func() {
		_, _ = io.Copy(&out, read)
		close(said)
	}()
	code, err := p.Wait(ctx)
	if err != nil {
		_ = p.Kill(syscall.SIGKILL)
		_ = read.Close()
		return "", fmt.Errorf("%s: %s: %w", n.Name, strings.Join(argv, " "), err)
	}
	// A service that was started keeps the pipe open: it is not waited for.
	_ = read.SetReadDeadline(time.Now().Add(time.Second))
	<-said
	_ = read.Close()
	if code != 0 {
		return out.String(), &ExitError{Node: n.Name, Argv: argv, Code: code, Said: out.String()}
	}
	return out.String(), nil
}

// ExitError is the error of a command that ended with another code than 0.
type ExitError struct {
	Node string
	Argv []string
	Code int
	Said string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s: %s: exit code %d: %s", e.Node, strings.Join(e.Argv, " "), e.Code, strings.TrimSpace(e.Said))
}

// DaemonLog is where the daemon of the node prints, seen from here.
func (n *Node) DaemonLog() string { return filepath.Join(n.bed.Shared(), "log", n.Name) }

// StartDaemon starts the daemon of the node, and returns when it answers.
func (n *Node) StartDaemon(ctx context.Context) error {
	_, err := n.Run(ctx, "sh", "-c", "exec setsid om daemon run >>"+Mount+"/log/"+n.Name+" 2>&1 </dev/null &")
	if err != nil {
		return err
	}
	return n.AwaitDaemon(ctx)
}

// AwaitDaemon returns when the daemon answers.
func (n *Node) AwaitDaemon(ctx context.Context) error {
	return retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		_, err := n.Run(ctx, "om", "daemon", "running")
		if errors.Is(err, ErrDown) {
			return false, err
		}
		return err == nil, nil
	})
}

// DaemonPid is the process id of the daemon on the node.
func (n *Node) DaemonPid(ctx context.Context) (int, error) {
	text, err := n.Run(ctx, "cat", "/var/lib/opensvc/osvcd.pid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

// KillDaemon sends a signal to the daemon alone.
func (n *Node) KillDaemon(ctx context.Context, s syscall.Signal) error {
	pid, err := n.DaemonPid(ctx)
	if err != nil {
		return err
	}
	return n.Signal(pid, s)
}

// StepClock steps the wall clock of the daemon, by whole seconds.
func (n *Node) StepClock(ctx context.Context, by time.Duration) error {
	pid, err := n.DaemonPid(ctx)
	if err != nil {
		return err
	}
	_, err = n.Run(ctx, "service", "clock", strconv.Itoa(pid), strconv.Itoa(int(by/time.Second)))
	return err
}

// FillDisk leaves no room in the /var of the node, which needs one of a size.
func (n *Node) FillDisk(ctx context.Context) error {
	_, err := n.Run(ctx, "sh", "-c", "dd if=/dev/zero of=/var/filled bs=64k >/dev/null 2>&1; dd if=/dev/zero of=/var/filled bs=1k oflag=append conv=notrunc >/dev/null 2>&1; true")
	return err
}

// EmptyDisk undoes it.
func (n *Node) EmptyDisk(ctx context.Context) error {
	_, err := n.Run(ctx, "rm", "-f", "/var/filled")
	return err
}

// StopDaemon stops the daemon as an operator does; services stay.
func (n *Node) StopDaemon(ctx context.Context) error {
	_, err := n.Run(ctx, "om", "daemon", "stop")
	return err
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	here, there := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	conn, err := unixConn(here)
	if err != nil {
		return nil, nil, errors.Join(err, there.Close())
	}
	return conn, there, nil
}

// unixConn is the connection of a socket, which it closes.
func unixConn(f *os.File) (*net.UnixConn, error) {
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T is no unix socket", conn), conn.Close())
	}
	return c, nil
}
