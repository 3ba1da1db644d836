package container_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/host"
)

// double is an engine in memory. What it answers is what podman 4.3 and docker 28
// were seen to answer; their differences included.
type double struct {
	engine string // podman or docker
	driver string // of control groups, what docker says

	mu         sync.Mutex
	images     map[string]string // reference to identity
	registry   map[string]string // what a pull finds
	containers []*box
	ran        [][]string
	inputs     []string
	mute       bool  // it does not answer
	dies       int   // exit status containers end with at once, when not zero
	runFails   error // once the container is made
	stubborn   bool  // a stop fails
}

type box struct {
	id, name, image, status      string
	exitCode                     int
	hostname, network, pid, ipc  string
	cgroupParent                 string
	tty, privileged, readOnly    bool
	entrypoint, cmd, env, labels []string
}

var _ host.Runner = (*double)(nil)

func newDouble(engine string) *double {
	return &double{
		engine: engine, driver: "cgroupfs",
		images: map[string]string{"localhost/inside:1": "31ad8ea31a05"}, registry: map[string]string{"docker.io/library/far:1": "f00d"},
	}
}

// Start implements [host.Runner]: a driver of containers leaves nothing running.
func (d *double) Start(c host.Cmd) (host.Process, error) {
	return nil, fmt.Errorf("%s is left running", host.Quote(c.Argv))
}

// Run implements [host.Runner].
func (d *double) Run(ctx context.Context, c host.Cmd) (out host.Output, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return host.Output{}, err
	}
	d.ran = append(d.ran, slices.Clone(c.Argv))
	d.inputs = append(d.inputs, string(c.Stdin))
	defer func() { // as [host.Runner] says
		most := cmp.Or(c.Keep, 1<<20)
		out.Stdout = out.Stdout[max(0, len(out.Stdout)-most):]
	}()
	if c.Argv[0] != d.engine {
		return host.Output{}, fmt.Errorf("run %s: %w", c.Argv[0], exec.ErrNotFound)
	}
	if d.mute {
		return d.fail(c, 125, "Cannot connect to the engine")
	}
	argv := c.Argv[1:]
	if len(argv) > 2 && argv[0] == "--cgroup-manager" {
		argv = argv[2:]
	}
	switch argv[0] {
	case "container":
		return d.inspect(c, argv[len(argv)-1])
	case "ps":
		return d.list(argv)
	case "info":
		return host.Output{Stdout: []byte(d.driver + "\n")}, nil
	case "image":
		id, ok := d.images[argv[len(argv)-1]]
		if !ok {
			return d.fail(c, 125, "Error: "+argv[len(argv)-1]+": image not known")
		}
		return host.Output{Stdout: []byte(d.digest(id) + "\n")}, nil
	case "pull":
		id, ok := d.registry[argv[len(argv)-1]]
		if !ok {
			return d.fail(c, 125, "Error: initializing source: pinging container registry: connection refused")
		}
		d.images[argv[len(argv)-1]] = id
		return host.Output{}, nil
	case "run":
		return d.run(c, argv[1:])
	}
	b := d.find(argv[len(argv)-1])
	if b == nil {
		return d.fail(c, 1, "Error: no container with name or ID found: no such container")
	}
	return d.change(c, b, argv)
}

func (d *double) change(c host.Cmd, b *box, argv []string) (host.Output, error) {
	switch argv[0] {
	case "start":
		b.status, b.exitCode = "running", 0
		if d.dies != 0 {
			b.status, b.exitCode = "exited", d.dies
		}
	case "stop":
		if d.stubborn {
			return d.fail(c, 125, "Error: given PID did not die within timeout")
		}
		b.status = "exited"
	case "kill":
		if !slices.Contains(argv, "--signal") {
			b.status, b.exitCode = "exited", 137
		}
	case "unpause":
		b.status = "running"
	case "rm":
		d.containers = slices.DeleteFunc(d.containers, func(o *box) bool { return o == b })
	default:
		return d.fail(c, 125, "Error: unknown command "+argv[0])
	}
	return host.Output{Stdout: []byte(b.id + "\n")}, nil
}

func (d *double) fail(c host.Cmd, code int, message string) (host.Output, error) {
	return host.Output{Stdout: []byte("[]\n"), Stderr: []byte(message + "\n")}, &host.ExitError{Argv: c.Argv, Code: code, Stderr: message}
}

func (d *double) digest(id string) string {
	if d.engine == "docker" {
		return "sha256:" + id
	}
	return id
}

func (d *double) find(name string) *box {
	for _, b := range d.containers {
		if b.name == name || b.id == name {
			return b
		}
	}
	return nil
}

func (d *double) inspect(c host.Cmd, name string) (host.Output, error) {
	b := d.find(name)
	if b == nil {
		return d.fail(c, 125, "Error: inspecting object: no such container "+name)
	}
	labels := map[string]string{}
	for _, l := range b.labels {
		k, v, _ := strings.Cut(l, "=")
		labels[k] = v
	}
	var entrypoint any = b.entrypoint
	if d.engine == "podman" {
		entrypoint = strings.Join(b.entrypoint, " ")
	}
	out, err := json.Marshal([]any{map[string]any{
		"Id": b.id, "Name": b.name, "Image": d.digest(b.image),
		"State":      map[string]any{"Status": b.status, "ExitCode": b.exitCode},
		"Config":     map[string]any{"Hostname": b.hostname, "Tty": b.tty, "Cmd": b.cmd, "Entrypoint": entrypoint, "Labels": labels, "Env": b.env},
		"HostConfig": map[string]any{"Privileged": b.privileged, "ReadonlyRootfs": b.readOnly, "NetworkMode": b.network, "PidMode": b.pid, "IpcMode": b.ipc, "CgroupParent": b.cgroupParent},
	}})
	return host.Output{Stdout: out}, err
}

// list is ps: the identities of the containers that match every filter.
func (d *double) list(argv []string) (host.Output, error) {
	var out bytes.Buffer
	for _, b := range d.containers {
		match := slices.Contains(argv, "--all") || b.status == "running"
		for i, word := range argv {
			if word != "--filter" {
				continue
			}
			key, value, _ := strings.Cut(argv[i+1], "=")
			switch key {
			case "name":
				ok, err := regexp.MatchString(value, b.name)
				if err != nil {
					return host.Output{}, err
				}
				match = match && ok
			case "label":
				match = match && slices.Contains(b.labels, value)
			}
		}
		if match {
			fmt.Fprintln(&out, b.id)
		}
	}
	return host.Output{Stdout: out.Bytes()}, nil
}

// run reads the options as the engines do: those without a value after a blank are
// told by their equal sign.
func (d *double) run(c host.Cmd, argv []string) (host.Output, error) {
	b := &box{id: fmt.Sprintf("%064x", len(d.ran)), status: "running"}
	i := 0
	for ; i < len(argv) && argv[i] != "--"; i++ {
		name, value, valued := strings.Cut(argv[i], "=")
		if !strings.HasPrefix(name, "--") {
			return d.fail(c, 125, "Error: unexpected word "+argv[i])
		}
		if !valued {
			i++
			value = argv[i]
		}
		switch name {
		case "--name":
			b.name = value
		case "--hostname":
			b.hostname = value
		case "--network":
			b.network = value
		case "--pid":
			b.pid = value
		case "--ipc":
			b.ipc = value
		case "--cgroup-parent":
			b.cgroupParent = value
		case "--tty":
			b.tty = value == "true"
		case "--privileged":
			b.privileged = value == "true"
		case "--read-only":
			b.readOnly = value == "true"
		case "--entrypoint":
			b.entrypoint = []string{value}
		case "--env":
			b.env = append(b.env, value)
		case "--env-file":
			b.env = append(b.env, strings.Split(strings.TrimSuffix(string(c.Stdin), "\n"), "\n")...)
		case "--label":
			b.labels = append(b.labels, value)
		case "--detach", "--pull", "--interactive", "--init", "--user", "--workdir", "--uts", "--userns", "--dns-search", "--sysctl", "--device", "--volume", "--shm-size", "--cap-add":
		default:
			return d.fail(c, 125, "Error: unknown flag: "+name)
		}
	}
	id, ok := d.images[argv[i+1]]
	if !ok {
		return d.fail(c, 125, "Error: "+argv[i+1]+": image not known")
	}
	if d.find(b.name) != nil {
		return d.fail(c, 125, "Error: the container name is already in use")
	}
	b.image, b.cmd = id, argv[i+2:]
	d.containers = append(d.containers, b)
	if d.runFails != nil {
		b.status = "created"
		return d.fail(c, 126, d.runFails.Error())
	}
	if d.dies != 0 || slices.Contains(argv, "--detach=false") {
		b.status, b.exitCode = "exited", d.dies
	}
	if slices.Contains(argv, "--detach=false") && d.dies != 0 {
		return d.fail(c, d.dies, "")
	}
	return host.Output{Stdout: []byte(b.id + "\n")}, nil
}

// commands are the command lines run so far that begin so, after the engine.
func (d *double) commands(verb string) (found [][]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, argv := range d.ran {
		if slices.Contains(argv[:min(len(argv), 4)], verb) {
			found = append(found, argv)
		}
	}
	return found
}

// with changes the engine between two actions.
func (d *double) with(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}
