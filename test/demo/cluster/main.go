// Command cluster is the demonstration of three nodes: a service that moves under a
// client that keeps asking, a node that loses its power, the service back. The nodes
// are name spaces of this host, so it needs no privilege where users may make some.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
	"github.com/holdfast-ops/holdfast/test/om/trial"
)

func main() {
	bed.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if errors.Is(err, bed.ErrNoNameSpaces) {
		fmt.Fprintf(os.Stderr, "\nThe demonstration of three nodes is left out: its nodes are name spaces with a network of their own.\n"+
			"%v.\nRun it as root, or let users make name spaces (sysctl user.max_user_namespaces,\n"+
			"kernel.apparmor_restrict_unprivileged_userns) and have the device /dev/net/tun.\n", err)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demonstration failed:", err)
		os.Exit(1)
	}
}

// demo is the demonstration under way.
type demo struct {
	*trial.Trial
	client *trial.Client
	bold   func(string) string
}

func (d *demo) say(text string) { d.print("\n%s\n", d.bold("# "+text)) }

// print prints; whoever does not listen misses it.
func (d *demo) print(format string, a ...any) { _, _ = fmt.Fprintf(os.Stdout, format, a...) }

// on runs a command on node1 as one would type it.
func (d *demo) on(ctx context.Context, line string) error { return d.at(ctx, "node1", line) }

func (d *demo) at(ctx context.Context, node, line string) error {
	d.print("%s$ %s\n", node, line)
	out, err := d.Node(node).Run(ctx, "sh", "-c", line)
	d.print("%s", out)
	return err
}

// up waits until node1 knows that an object is up: its client knows first.
func (d *demo) up(ctx context.Context, p object.Path) error {
	return d.Await(ctx, 20*time.Second, p.String()+" is up", func(ctx context.Context) (bool, error) {
		v, err := d.View(ctx, d.Node("node1"))
		return err == nil && v.Cluster.Object[p.String()].Avail == "up", nil
	})
}

// told prints what the client saw since the last time.
func (d *demo) told(ctx context.Context, node string) error {
	err := d.Await(ctx, 30*time.Second, "the client is answered by "+node, func(context.Context) (bool, error) {
		return d.client.Who() == node, nil
	})
	for _, o := range d.client.Since() {
		if o.To == 0 {
			d.print("client: no answer any more\n")
			continue
		}
		d.print("client: answered by %s, then nobody for %v, then by %s\n", o.Before, o.For().Round(time.Millisecond), o.By)
	}
	return err
}

func run(ctx context.Context) (err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "holdfast-demo.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	service := filepath.Join(dir, "service")
	build := exec.CommandContext(ctx, "go", "build", "-o", service, "./test/om/bed/service")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the service: %w: %s", err, out)
	}
	d := &demo{bold: bold()}
	b, err := bed.New(ctx, bed.Options{Programs: map[string]string{"om": "bin/om", "service": service}})
	if err != nil {
		return err
	}
	t := trial.On(b)
	d.Trial = t
	defer func() { err = errors.Join(err, t.Close()) }()
	web := object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}
	steps := []func() error{
		func() error {
			d.say("Three nodes, each with an agent of its own: make them one cluster")
			return d.start(ctx)
		},
		func() error { return d.enroll(ctx, "node2") },
		func() error { return d.enroll(ctx, "node3") },
		func() error { return t.AwaitAll(ctx) },
		func() error { return d.on(ctx, "om node ls") },
		func() error {
			d.say("A service that any of them can run, one at a time, and its address")
			return d.Create(ctx, web, trial.Floating("web", address))
		},
		func() error { return d.on(ctx, "om web config show") },
		func() error { return d.on(ctx, "om web unfreeze --wait --time 20s") },
		func() error {
			d.client, err = t.Ask(ctx, trial.Port, address)
			return err
		},
		func() error {
			return d.Await(ctx, 20*time.Second, "web answers", func(context.Context) (bool, error) { return d.client.Who() != "", nil })
		},
		func() error { return d.up(ctx, web) },
		func() error { d.client.Since(); return d.on(ctx, "om mon") },
		func() error {
			d.say("Move it, under a client that asks every 10 ms")
			return d.on(ctx, "om web switch --to node2 --wait --time 20s")
		},
		func() error { return d.told(ctx, "node2") },
		func() error {
			d.say("Cut the power of node2")
			return t.Node("node2").PowerOff()
		},
		func() error {
			return d.Await(ctx, 30*time.Second, "web answers elsewhere", func(context.Context) (bool, error) {
				return d.client.Who() != "" && d.client.Who() != "node2", nil
			})
		},
		func() error { return d.told(ctx, d.client.Who()) },
		func() error { return d.up(ctx, web) },
		func() error { return d.on(ctx, "om mon") },
		func() error {
			d.say("Power it on again: it comes back, the service stays where it is")
			return t.Revive(ctx, t.Node("node2"))
		},
		func() error { return t.AwaitAll(ctx) },
		func() error { return d.on(ctx, "om web explain") },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	stamps, err := t.Stamps("web")
	if err != nil {
		return err
	}
	if broken := witness.Check(stamps, witness.Promise{}); len(broken) > 0 {
		return fmt.Errorf("two instances lived at once: %v", broken)
	}
	d.print("\nNever were there two of them. %.0f seconds.\n", time.Since(began).Seconds())
	return nil
}

// address moves with the service.
const address = "10.88.0.100"

// start starts the agents. The first knows periods that suit a demonstration.
func (d *demo) start(ctx context.Context) error {
	etc := filepath.Join(d.Node("node1").Etc(), "opensvc")
	err := errors.Join(os.Mkdir(etc, 0o700), os.WriteFile(filepath.Join(etc, "cluster.conf"), []byte(trial.Short), 0o600))
	for _, n := range d.Nodes() {
		err = errors.Join(err, n.StartDaemon(ctx))
	}
	return err
}

func (d *demo) enroll(ctx context.Context, node string) error {
	token := "/mnt/" + node + ".token"
	return errors.Join(
		d.at(ctx, node, "umask 077; om daemon auth --role join --duration 10m >"+token),
		d.on(ctx, "om cluster enroll --node "+node+" --token "+token+" --wait"),
	)
}

// bold is how headings are printed.
func bold() func(string) string {
	info, err := os.Stdout.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("NO_COLOR") != "" {
		return strings.TrimSpace
	}
	return func(s string) string { return "\x1b[1m" + s + "\x1b[m" }
}
