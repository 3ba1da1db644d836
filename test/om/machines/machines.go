//go:build lab_machines

// Package machines makes nodes that boot: containers of systemd-nspawn with a real
// systemd, joined by a bridge in a name space of its own. They lose power, reboot and
// are fenced; the agent is started by its unit.
package machines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Rack is a set of machines and what they share.
type Rack struct {
	dir, root string // files of the rack; the system all machines are copies of
	name      string // prefix of name spaces and control groups
	names     []string
	machines  map[string]*Machine
}

// Machine is a node with a system of its own.
type Machine struct {
	rack    *Rack
	name    string
	address string
	nspawn  *exec.Cmd
	powered bool // what a boot makes is there, in part at least
}

// groups is where control groups of the unified hierarchy are.
var groups = func() string {
	if _, err := os.Stat("/sys/fs/cgroup/unified/cgroup.procs"); err == nil {
		return "/sys/fs/cgroup/unified"
	}
	return "/sys/fs/cgroup"
}

// New makes the machines and the network between them. They are off.
func New(ctx context.Context, dir, root string, names ...string) (*Rack, error) {
	r := &Rack{dir: dir, root: root, name: fmt.Sprintf("hfm%d", os.Getpid()), names: names, machines: map[string]*Machine{}}
	if err := os.MkdirAll(filepath.Join(r.Shared(), "data"), 0o755); err != nil {
		return nil, err
	}
	if err := ip(ctx, "netns", "add", r.name); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"link", "add", "br0", "type", "bridge"}, {"addr", "add", "10.57.9.1/24", "dev", "br0"}, {"link", "set", "br0", "up"}, {"link", "set", "lo", "up"}} {
		if err := ip(ctx, append([]string{"-n", r.name}, args...)...); err != nil {
			return r, err
		}
	}
	for i, name := range names {
		r.machines[name] = &Machine{rack: r, name: name, address: fmt.Sprintf("10.57.9.%d", 11+i)}
	}
	return r, nil
}

// Shared is the directory that every machine sees at /mnt.
func (r *Rack) Shared() string { return filepath.Join(r.dir, "shared") }

// Machine returns a machine by its name.
func (r *Rack) Machine(name string) *Machine { return r.machines[name] }

// Close cuts the power of all machines and removes what they were made of.
func (r *Rack) Close() error {
	ctx := context.Background()
	var errs []error
	for _, m := range r.machines {
		errs = append(errs, m.Cut(ctx))
	}
	errs = append(errs, ip(ctx, "netns", "del", r.name))
	return errors.Join(errs...)
}

func (m *Machine) dir(parts ...string) string {
	return filepath.Join(append([]string{m.rack.dir, m.name}, parts...)...)
}

func (m *Machine) netns() string { return m.rack.name + "-" + m.name }

func (m *Machine) group() string { return filepath.Join(groups(), m.netns()) }

// Root is the file system of the machine, while it has power.
func (m *Machine) Root() string { return m.dir("mnt") }

// Install makes the disk of the machine, once: change is called with its root.
func (m *Machine) Install(ctx context.Context, change func(root string) error) error {
	if err := m.mount(ctx); err != nil {
		return err
	}
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for _, name := range m.rack.names {
		fmt.Fprintf(&hosts, "%s %s\n", m.rack.machines[name].address, name)
	}
	for file, text := range map[string]string{"etc/hostname": m.name + "\n", "etc/hosts": hosts.String()} {
		if err := os.WriteFile(filepath.Join(m.Root(), file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(change(m.Root()), run(ctx, "umount", m.Root()))
}

func (m *Machine) mount(ctx context.Context) error {
	for _, d := range []string{"up", "work", "mnt"} {
		if err := os.MkdirAll(m.dir(d), 0o755); err != nil {
			return err
		}
	}
	return run(ctx, "mount", "-t", "overlay", "-o",
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", m.rack.root, m.dir("up"), m.dir("work")), "overlay", m.Root())
}

// Boot gives the machine power, and waits until its system is up.
func (m *Machine) Boot(ctx context.Context) error {
	if err := m.boot(ctx); err != nil {
		return errors.Join(err, m.Cut(context.WithoutCancel(ctx)))
	}
	return nil
}

func (m *Machine) boot(ctx context.Context) error {
	m.powered = true
	if err := m.mount(ctx); err != nil {
		return err
	}
	port := "p-" + m.name
	for _, args := range [][]string{
		{"netns", "add", m.netns()},
		{"-n", m.rack.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", m.netns()},
		{"-n", m.rack.name, "link", "set", port, "master", "br0", "up"},
		{"-n", m.netns(), "link", "set", "lo", "up"},
		{"-n", m.netns(), "addr", "add", m.address + "/24", "dev", "eth0"},
		{"-n", m.netns(), "link", "set", "eth0", "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return err
		}
	}
	if err := m.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var last string
	err := retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, func(ctx context.Context) (bool, error) {
		out, _ := m.Run(ctx, "systemctl", "is-system-running")
		last = strings.TrimSpace(out)
		return last == "running" || last == "degraded", nil
	})
	if err != nil {
		console, _ := os.ReadFile(m.dir("console"))
		return fmt.Errorf("%s does not boot (%s): %w\n%s", m.name, last, err, console)
	}
	return nil
}

// start runs nspawn in control groups of the machine, so that one write ends it all.
func (m *Machine) start() error {
	var enter []string
	for _, hierarchy := range []string{groups(), "/sys/fs/cgroup/systemd"} {
		if _, err := os.Stat(filepath.Join(hierarchy, "cgroup.procs")); err != nil {
			continue
		}
		g := filepath.Join(hierarchy, m.netns())
		if err := os.MkdirAll(g, 0o755); err != nil {
			return err
		}
		enter = append(enter, filepath.Join(g, "cgroup.procs"))
	}
	console, err := os.OpenFile(m.dir("console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = console.Close() }()
	var script strings.Builder
	for _, procs := range enter {
		fmt.Fprintf(&script, "echo $$ >%s\n", procs)
	}
	script.WriteString(`exec systemd-nspawn "$@"`)
	m.nspawn = exec.Command("sh", "-ec", script.String(), "nspawn", //nolint:noctx // the machine outlives the call
		"-q", "-D", m.Root(), "-M", m.name, "--register=no", "--keep-unit", "--network-namespace-path=/run/netns/"+m.netns(),
		"--capability=all", "--drop-capability=CAP_SYS_RESOURCE", "--resolv-conf=off", "--timezone=off", "--console=pipe",
		"--bind="+m.rack.Shared()+":/mnt", "-b", "systemd.show_status=0")
	m.nspawn.Stdout, m.nspawn.Stderr = console, console
	m.nspawn.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return m.nspawn.Start()
}

// leader is the first process of the system, as the host knows it.
func (m *Machine) leader() (string, error) {
	b, err := os.ReadFile(filepath.Join(m.group(), "payload/init.scope/cgroup.procs"))
	if err != nil {
		return "", fmt.Errorf("%s has no power: %w", m.name, err)
	}
	pid, _, ok := strings.Cut(string(b), "\n")
	if !ok {
		return "", fmt.Errorf("%s has no power", m.name)
	}
	return pid, nil
}

// Run runs a command as root of the machine.
func (m *Machine) Run(ctx context.Context, argv ...string) (string, error) {
	pid, err := m.leader()
	if err != nil {
		return "", err
	}
	enter := []string{"-t", pid, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--", "env", "-i", "HOME=/root", "PATH=/mnt/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	c := exec.CommandContext(ctx, "nsenter", append(enter, argv...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %s: %w: %s%s", m.name, strings.Join(argv, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

// On reports whether the machine has power.
func (m *Machine) On() bool {
	_, err := m.leader()
	return err == nil
}

// Cut takes its power away: every process of it is killed at once, with a cut cable,
// so that nobody is told.
func (m *Machine) Cut(ctx context.Context) error {
	if !m.powered {
		return nil
	}
	_ = ip(ctx, "-n", m.rack.name, "link", "set", "p-"+m.name, "down")
	for _, w := range []struct{ file, value string }{{"cgroup.kill", "1"}, {"cgroup.freeze", "0"}} {
		if err := os.WriteFile(filepath.Join(m.group(), w.file), []byte(w.value), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return m.clear(ctx)
}

// Freeze stops every process of the machine where it is, or lets them go on.
func (m *Machine) Freeze(stop bool) error {
	value := "0"
	if stop {
		value = "1"
	}
	return os.WriteFile(filepath.Join(m.group(), "cgroup.freeze"), []byte(value), 0)
}

// Rebooted waits until the machine went down by itself, and boots it again: the
// part of the firmware.
func (m *Machine) Rebooted(ctx context.Context) error {
	if err := m.clear(ctx); err != nil {
		return err
	}
	return m.Boot(ctx)
}

// clear waits for the end of the machine, and removes what a boot makes.
func (m *Machine) clear(ctx context.Context) error {
	if m.nspawn != nil && m.nspawn.Process != nil {
		_ = m.nspawn.Wait()
	}
	m.nspawn, m.powered = nil, false
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond}, func(context.Context) (bool, error) {
		b, err := os.ReadFile(filepath.Join(m.group(), "cgroup.events"))
		return errors.Is(err, os.ErrNotExist) || bytes.Contains(b, []byte("populated 0")), nil
	})
	// Processes that just ended may still hold the mounts for a moment.
	unmount := func(ctx context.Context) (bool, error) { return run(ctx, "umount", "-R", m.Root()) == nil, nil }
	_ = ip(ctx, "-n", m.rack.name, "link", "del", "p-"+m.name)
	errs := []error{err, retry.Until(ctx, retry.Policy{Interval: 50 * time.Millisecond}, unmount), ip(ctx, "netns", "del", m.netns())}
	for _, hierarchy := range []string{groups(), "/sys/fs/cgroup/systemd"} {
		g := filepath.Join(hierarchy, m.netns())
		if _, err := os.Stat(g); err == nil {
			errs = append(errs, run(ctx, "find", g, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"))
		}
	}
	return errors.Join(errs...)
}

func ip(ctx context.Context, args ...string) error { return run(ctx, "ip", args...) }

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
