//go:build lab_machines

// Package vm makes nodes that are whole machines: QEMU without acceleration, a kernel of
// their own and a real systemd, joined by a bridge in a name space of its own. They lose
// power, reboot, hang, are fenced, and their kernels panic.
package vm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Host is the address of the host in the network of the machines.
const Host = "10.58.9.1"

// Rack is a set of machines and what they share.
type Rack struct {
	dir, image string
	netns      string
	key        ssh.Signer
	names      []string
	machines   map[string]*Machine
	janitor    *exec.Cmd
	alive      io.Closer // the janitor waits for its end

	mu    sync.Mutex
	lines []Line
}

// Line is what a machine said on its serial line, and when it came here.
type Line struct {
	At            time.Time
	Machine, Text string
}

// Machine is a node with a kernel of its own.
type Machine struct {
	rack    *Rack
	name    string
	number  int
	address string

	mu    sync.Mutex
	boots int
	qemu  *exec.Cmd
	over  chan struct{} // closed once qemu has ended
	ssh   *ssh.Client
}

// New makes the disks of the machines and the network between them. They are off. Files
// of the directory shared are what each machine has in /mnt.
func New(ctx context.Context, image, shared string, names ...string) (*Rack, error) {
	dir, err := os.MkdirTemp("/var/tmp", "holdfast-vm.")
	if err != nil {
		return nil, err
	}
	r := &Rack{dir: dir, image: image, netns: fmt.Sprintf("hfv%d", os.Getpid()), names: names, machines: map[string]*Machine{}}
	// Whatever ends this process, the janitor removes what outlives it.
	r.janitor = exec.Command("sh", "-c", `trap "" INT TERM HUP; cat >/dev/null; ip netns del "$1"; rm -rf "$2"`, "janitor", r.netns, dir) //nolint:noctx // see above
	r.janitor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.alive, err = r.janitor.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.janitor.Start(); err != nil {
		return nil, err
	}
	return r, r.furnish(ctx, shared)
}

func (r *Rack) furnish(ctx context.Context, shared string) error {
	key, err := os.ReadFile(filepath.Join(r.image, "key"))
	if err != nil {
		return err
	}
	if r.key, err = ssh.ParsePrivateKey(key); err != nil {
		return err
	}
	disk := filepath.Join(r.dir, "shared")
	steps := [][]string{
		{"truncate", "-s", "64M", disk},
		{"mke2fs", "-q", "-t", "ext4", "-d", shared, disk},
		{"ip", "netns", "add", r.netns},
		{"ip", "-n", r.netns, "link", "set", "lo", "up"},
		{"ip", "-n", r.netns, "link", "add", "br0", "type", "bridge"},
		{"ip", "-n", r.netns, "addr", "add", Host + "/24", "dev", "br0"},
		{"ip", "-n", r.netns, "link", "set", "br0", "up"},
	}
	for i, name := range r.names {
		m := &Machine{rack: r, name: name, number: i + 1, address: fmt.Sprintf("10.58.9.%d", 11+i)}
		r.machines[name] = m
		steps = append(steps,
			[]string{"cp", "--sparse=always", filepath.Join(r.image, "disk"), m.file("disk")},
			[]string{"ip", "-n", r.netns, "tuntap", "add", "dev", "p-" + name, "mode", "tap"},
			[]string{"ip", "-n", r.netns, "link", "set", "p-" + name, "master", "br0", "up"})
	}
	for _, argv := range steps {
		if err := run(ctx, argv...); err != nil {
			return err
		}
	}
	return nil
}

// Machine returns a machine by its name.
func (r *Rack) Machine(name string) *Machine { return r.machines[name] }

// Close cuts the power of all machines and removes what they were made of.
func (r *Rack) Close() error {
	for _, m := range r.machines {
		m.Cut()
	}
	return errors.Join(r.alive.Close(), r.janitor.Wait())
}

// Lines are what the machines have said so far.
func (r *Rack) Lines() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Line(nil), r.lines...)
}

// Dial connects to an address in the network of the machines.
func (r *Rack) Dial(ctx context.Context, address string) (c net.Conn, err error) {
	err = r.inside(func() error {
		// A literal address: the thread that is inside makes the socket.
		c, err = new(net.Dialer).DialContext(ctx, "tcp4", address)
		return err
	})
	return c, err
}

// Listen waits for the machines at a port of the host.
func (r *Rack) Listen(ctx context.Context, port string) (l net.Listener, err error) {
	err = r.inside(func() error {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(Host, port))
		return err
	})
	return l, err
}

// inside calls f on a thread that is in the name space. The thread comes back: machines
// end with the thread that started them.
func (r *Rack) inside(f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }()
	there, err := os.Open(filepath.Join("/run/netns", r.netns))
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	err = f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return err // the thread stays locked, and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

func (m *Machine) file(name string) string { return filepath.Join(m.rack.dir, m.name+"."+name) }

// Boot gives the machine power, and waits until its system is up.
func (m *Machine) Boot(ctx context.Context) error {
	if err := m.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var last string
	err := retry.Until(ctx, retry.Policy{Interval: time.Second}, func(ctx context.Context) (bool, error) {
		if !m.On() {
			return false, errors.New("it is off")
		}
		out, err := m.Run(ctx, "systemctl", "is-system-running")
		last = strings.TrimSpace(out)
		if last == "" && err != nil {
			last = err.Error()
		}
		return last == "running" || last == "degraded", nil
	})
	if err != nil {
		return fmt.Errorf("%s does not boot (%s): %w\n%s", m.name, last, err, m.Console())
	}
	return nil
}

func (m *Machine) start() error {
	var hosts []string
	for _, name := range m.rack.names {
		hosts = append(hosts, name+":"+m.rack.machines[name].address)
	}
	m.boots++
	// The clock is the one that follows the host, however slow the processor is.
	kernel := "console=ttyS0,115200 root=/dev/vda rw quiet net.ifnames=0 panic=1 mitigations=off audit=0 nowatchdog tsc=unstable clocksource=hpet" +
		" systemd.show_status=0 systemd.journald.forward_to_console=1 systemd.hostname=" + m.name + " machine.address=" + m.address + "/24 machine.hosts=" + strings.Join(hosts, ",")
	argv := []string{
		"netns", "exec", m.rack.netns, "qemu-system-x86_64", "-name", m.name,
		"-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max", "-M", "q35", "-smp", "1", "-m", "512",
		"-nodefaults", "-no-user-config", "-display", "none",
		// What would boot again ends: the test plays the firmware.
		"-no-reboot",
		"-kernel", filepath.Join(m.rack.image, "vmlinuz"), "-initrd", filepath.Join(m.rack.image, "initrd"), "-append", kernel,
		"-drive", "if=none,id=root,format=raw,cache=unsafe,file=" + m.file("disk"), "-device", "virtio-blk-pci,drive=root",
		"-drive", "if=none,id=shared,format=raw,readonly=on,file.locking=off,file=" + filepath.Join(m.rack.dir, "shared"), "-device", "virtio-blk-pci,drive=shared",
		"-netdev", "tap,id=net,script=no,downscript=no,ifname=p-" + m.name, "-device", fmt.Sprintf("virtio-net-pci,netdev=net,mac=52:54:00:58:09:%02x", m.number),
		"-device", "virtio-rng-pci", "-serial", "file:" + m.file(fmt.Sprintf("console-%d", m.boots)),
		"-chardev", "stdio,id=line,signal=off", "-serial", "chardev:line",
	}
	qemu := exec.Command("ip", argv...) //nolint:noctx // the machine outlives the call
	qemu.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	var complaints bytes.Buffer
	qemu.Stderr = &complaints
	line, err := qemu.StdoutPipe()
	if err != nil {
		return err
	}
	if err := qemu.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	m.mu.Lock()
	m.qemu, m.over = qemu, over
	m.mu.Unlock()
	go func() {
		defer close(over)
		m.rack.hear(m.name, line)
		_ = qemu.Wait()
	}()
	return nil
}

func (r *Rack) hear(machine string, from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		line := Line{time.Now(), machine, strings.TrimSpace(lines.Text())}
		r.mu.Lock()
		r.lines = append(r.lines, line)
		r.mu.Unlock()
	}
}

// On reports whether the machine has power.
func (m *Machine) On() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.qemu == nil {
		return false
	}
	select {
	case <-m.over:
		return false
	default:
		return true
	}
}

// Console is what the kernel and the journal of the machine said since it last had power
// given.
func (m *Machine) Console() string {
	b, _ := os.ReadFile(m.file(fmt.Sprintf("console-%d", m.boots)))
	return string(b)
}

// Cut takes its power away, and returns once nothing of it lives.
func (m *Machine) Cut() {
	_ = m.signal(syscall.SIGKILL)
	m.mu.Lock()
	over, client := m.over, m.ssh
	m.ssh = nil
	m.mu.Unlock()
	if client != nil {
		_ = client.Close()
	}
	if over != nil {
		<-over
	}
}

// Hang stops the machine where it is: it neither answers nor ends.
func (m *Machine) Hang() error { return m.signal(syscall.SIGSTOP) }

func (m *Machine) signal(s syscall.Signal) error {
	if !m.On() {
		return fmt.Errorf("%s has no power", m.name)
	}
	return m.qemu.Process.Signal(s)
}

// Cable connects the machine to the others, or cuts it off.
func (m *Machine) Cable(ctx context.Context, connected bool) error {
	state := "down"
	if connected {
		state = "up"
	}
	return run(ctx, "ip", "-n", m.rack.netns, "link", "set", "p-"+m.name, state)
}

// Run runs a command as root of the machine.
func (m *Machine) Run(ctx context.Context, argv ...string) (string, error) {
	return m.run(ctx, nil, argv...)
}

// Write makes a file of the machine that only root can read.
func (m *Machine) Write(ctx context.Context, path, text string) error {
	_, err := m.run(ctx, strings.NewReader(text), "sh", "-ec", `umask 077; mkdir -p "${0%/*}"; cat >"$0"`, path)
	return err
}

func (m *Machine) run(ctx context.Context, stdin io.Reader, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client, err := m.connect(ctx)
	if err != nil {
		return "", err
	}
	// A machine may be gone without a word: only a new connection helps then.
	stop := context.AfterFunc(ctx, func() { m.forget(client) })
	defer stop()
	session, err := client.NewSession()
	if err != nil {
		m.forget(client)
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	defer func() { _ = session.Close() }()
	var out, errs bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = stdin, &out, &errs
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	if err := session.Run(strings.Join(quoted, " ")); err != nil {
		if _, exited := errors.AsType[*ssh.ExitError](err); !exited {
			m.forget(client)
		}
		return out.String(), fmt.Errorf("%s: %s: %w: %s%s", m.name, strings.Join(argv, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

// connect returns the one connection that is kept: making it takes a second of the
// processor of the machine.
func (m *Machine) connect(ctx context.Context) (*ssh.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ssh != nil {
		return m.ssh, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := m.rack.Dial(ctx, net.JoinHostPort(m.address, "22"))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	conn, channels, requests, err := ssh.NewClientConn(c, m.address, &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(m.rack.key)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // nobody else is in that network
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	m.ssh = ssh.NewClient(conn, channels, requests)
	return m.ssh, nil
}

func (m *Machine) forget(client *ssh.Client) {
	_ = client.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ssh == client {
		m.ssh = nil
	}
}

func run(ctx context.Context, argv ...string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return nil
}
