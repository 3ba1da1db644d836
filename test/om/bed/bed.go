// Package bed makes nodes of an agent out of name spaces of this host, joins them
// with a network of its own, and breaks them on purpose.
//
//	test ---- control socket ----> pid 1 of a node     one per node: runs commands,
//	  |                                                reaps, ends when the test ends
//	  +------ Network <--- tap --- eth0 of a node      a switch in this process: cuts,
//	                                                   loses, delays, counts frames
//
// A node has name spaces of its own for mounts, processes, network, host name, IPC
// and, as root, control groups. Its /etc and /var are directories of the bed, its
// /run, /tmp and /dev/shm are in memory, its boot has an id of its own, and what the
// agent writes to the trigger of the kernel ends the node, not the host. Where the
// kernel lets users make name spaces of their own, no privilege is needed.
//
// Nothing outlives the process that made the bed, however it ends: pid 1 of each node
// sees its control socket close, and the kernel ends the rest. A janitor removes files
// and control groups.
package bed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Options say what a bed is made of.
type Options struct {
	Nodes    []string          // names; default: node1, node2, node3
	Programs map[string]string // what is at /mnt/bin of every node: name to file
	Networks int               // interfaces of each node, eth0…; default: 1
	VarSize  string            // size of a file system for each /var, as root; "": a directory
	Dir      string            // where the files go; "": a new directory for temporary files
	Seed     uint64            // of the frames that are lost
}

// Bed is a set of nodes and the network between them.
type Bed struct {
	o       Options
	dir     string
	group   string // control group of the bed, "" without one
	network *Network
	nodes   map[string]*Node
	client  *Node
	janitor *exec.Cmd
	life    io.Closer // the janitor works when it closes

	closing sync.Once
	closed  error
}

// Client is the name of the node that has no agent.
const Client = "client"

// Mount is where a node sees the directory of the bed that all nodes share.
const Mount = "/mnt"

// New makes a bed: its nodes run, without an agent.
func New(ctx context.Context, o Options) (b *Bed, err error) {
	if len(o.Nodes) == 0 {
		o.Nodes = []string{"node1", "node2", "node3"}
	}
	if o.Networks == 0 {
		o.Networks = 1
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "holdfast-bed."); err != nil {
			return nil, err
		}
	}
	b = &Bed{o: o, dir: o.Dir, network: newNetwork(o.Seed), nodes: map[string]*Node{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	b.makeGroup()
	if err := b.hireJanitor(ctx); err != nil {
		return b, err
	}
	if err := b.share(); err != nil {
		return b, err
	}
	for i, name := range append([]string{Client}, o.Nodes...) {
		n := &Node{Name: name, bed: b, number: i + 1, dir: filepath.Join(b.dir, "nodes", name)}
		if i == 0 {
			b.client = n
		} else {
			b.nodes[name] = n
		}
		if err := n.format(ctx); err != nil {
			return b, err
		}
		if err := n.Boot(ctx); err != nil {
			return b, fmt.Errorf("boot %s: %w", name, err)
		}
	}
	return b, nil
}

// Node returns the node of a name; there must be one.
func (b *Bed) Node(name string) *Node {
	n := b.nodes[name]
	if n == nil {
		panic("no node " + name + " in this bed")
	}
	return n
}

// Nodes are those with an agent, in order.
func (b *Bed) Nodes() []*Node {
	nodes := make([]*Node, len(b.o.Nodes))
	for i, name := range b.o.Nodes {
		nodes[i] = b.nodes[name]
	}
	return nodes
}

// Client returns the node that has no agent.
func (b *Bed) Client() *Node { return b.client }

// Network is what joins the nodes.
func (b *Bed) Network() *Network { return b.network }

// Shared is the directory that every node sees at [Mount].
func (b *Bed) Shared() string { return filepath.Join(b.dir, "shared") }

// Close ends every node and removes what the bed has made.
func (b *Bed) Close() error {
	b.closing.Do(func() {
		var errs []error
		for _, n := range b.nodes {
			errs = append(errs, n.PowerOff())
		}
		if b.client != nil {
			errs = append(errs, b.client.PowerOff())
		}
		if b.janitor != nil {
			errs = append(errs, b.life.Close(), b.janitor.Wait())
		}
		b.closed = errors.Join(errs...)
	})
	return b.closed
}

// share makes the directory that all nodes see.
func (b *Bed) share() error {
	bin := filepath.Join(b.Shared(), "bin")
	for _, dir := range []string{bin, filepath.Join(b.Shared(), "data"), filepath.Join(b.Shared(), "log")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for name, file := range b.o.Programs {
		if err := copyFile(file, filepath.Join(bin, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// hosts is the /etc/hosts of every node. The names of the second network are those
// of the nodes with a "-1".
func (b *Bed) hosts() string {
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n::1 localhost\n")
	for i, name := range append([]string{Client}, b.o.Nodes...) {
		for network := range b.o.Networks {
			text.WriteString(address(network, i+1) + " " + name)
			if network > 0 {
				text.WriteString("-" + strconv.Itoa(network))
			}
			text.WriteString("\n")
		}
	}
	return text.String()
}

// address is that of the interface of a node on a network.
func address(network, number int) string {
	return "10.88." + strconv.Itoa(network) + "." + strconv.Itoa(10+number)
}

func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// makeGroup makes the control group of the bed, where root may.
func (b *Bed) makeGroup() {
	if os.Geteuid() != 0 {
		return
	}
	for _, top := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.procs")); err != nil {
			continue
		}
		name := make([]byte, 6)
		_, _ = rand.Read(name)
		group := filepath.Join(top, "holdfast-bed."+hex.EncodeToString(name))
		if os.Mkdir(group, 0o755) == nil {
			b.group = group
		}
		return
	}
}

// hireJanitor starts the process that cleans up after this one.
func (b *Bed) hireJanitor(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	b.janitor = exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe")
	b.janitor.Args = []string{roleJanitor, b.dir, b.group}
	b.janitor.Stdin = read
	b.janitor.Stderr = os.Stderr
	b.janitor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := b.janitor.Start(); err != nil {
		b.janitor = nil
		return errors.Join(err, write.Close())
	}
	b.life = write
	return nil
}

// Main does what this process was started for, when it was started by a bed, and
// does not return then. Programs that use a bed call it first.
func Main() {
	role, _, _ := strings.Cut(os.Args[0], "/")
	var err error
	switch role {
	case roleJanitor:
		err = cleanUp(os.Args[1], os.Args[2])
	case roleBoot:
		err = boot(os.Args[1])
	case roleInit:
		err = reign()
	default:
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// What a process of a bed is called.
const (
	roleJanitor = "bed-janitor"
	roleBoot    = "bed-boot"
	roleInit    = "bed-init"
)
