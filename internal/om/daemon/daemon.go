// Package daemon is the agent process: what it is made of, and how it begins and
// ends. [Run] reads top to bottom, each part after those it needs.
//
//	           +-------------------- inner ring --------------------+
//	disk ----> | discover -> state -> monitor -> executor -> om ... |
//	           |     \-> evaluate --^     ^                         |
//	           +----------- bus ---------- | ----------------------+
//	           +-------------------- outer ring --------------------+
//	           |  httpd: unix socket, TLS listener; watchdog        |
//	           +----------------------------------------------------+
//
// The outer ring ends first: nobody is answered by half a daemon. Services are
// not children of the daemon and keep running when it ends.
package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/arbitrator"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/bus"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/discover"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/evaluate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/relay"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/heartbeat/unicast"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/hook"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/httpd"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/logs"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/membership"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/nodemon"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/presented"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/reinstall"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/replicate"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/scheduler"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/setup"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/standing"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/state"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/witness"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/inventory"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/renewal/stored"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// Options are what a daemon works with.
type Options struct {
	Host    host.Host
	Version string
	Log     *slog.Logger
	Args    []string // command line of this process, to restart it; nil: a restart ends in [ErrRestart]
	Environ []string // environment of this process, that actions inherit
	Ready   func()   // called once the daemon answers; may be nil
}

// ErrRestart ends a daemon that was asked to restart and cannot do so itself.
var ErrRestart = errors.New("restart asked for")

// Run is the daemon, until ctx ends or it is asked to end through its API.
func Run(ctx context.Context, o Options) (err error) {
	began := time.Now()
	process, err := acquire(ctx, o.Host.Paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.release()) }()

	control := logs.New(o.Log.Handler())
	o.Log = control.Logger("daemon")
	if process.unsigned != nil {
		o.Log.Warn("the daemon runs, its process id is not written", slog.Any("err", process.unsigned))
	}
	if err := membership.Resume(o.Host.Paths, control.Logger("membership")); err != nil {
		return err
	}
	removeLeftovers(o.Host.Paths, began, o.Log)
	drivers := all.Registry()
	configs := store.New(o.Host, drivers.Sections)
	data := datastore.New(configs)
	making := setup.Options{Node: o.Host.Hostname, Store: configs, Data: data, Log: o.Log, Now: began, Addresses: addresses()}
	identity, err := setup.Run(ctx, making)
	if err != nil {
		return err
	}
	tokens, err := auth.NewTokens(identity.TokenKey, identity.ClusterID)
	if err != nil {
		return err
	}
	tokens = tokens.Naming(identity.Authority)

	boot, err := proc.BootID()
	if err != nil {
		o.Log.Warn("boots of the node are not followed", slog.Any("err", err))
	}
	events := bus.New(o.Host.Hostname)
	states := state.New(o.Host.Hostname, events)
	engine := &instance.Engine{Host: o.Host, Store: configs, Registry: drivers, Log: o.Log, Data: data.Decode, Keys: data, Environ: inherited(o.Environ)}
	book := logbook.Open(o.Host.Paths)
	runs := executor.New(executor.Options{
		Host: o.Host, Env: inherited(o.Environ), Bus: events, Log: control.Logger("executor"), History: historyFile(o.Host.Paths, "execs"), Outcome: outcomes(book),
	})
	pool := evaluate.New(evaluate.Options{Evaluator: engine, State: states, Log: control.Logger("evaluate")})
	discovery := discover.New(discover.Options{
		Paths: o.Host.Paths, Loader: engine, Settings: settings{configs, o.Log}.read,
		State: states, Bus: events, Evaluate: pool, Log: control.Logger("discover"),
	})
	self := &node{name: o.Host.Hostname, state: states, log: o.Log}
	told := ctx // ends when this process is told to
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ending := &ending{cancel: cancel, node: self, state: states, executor: runs, log: o.Log}
	var objects *monitor.Monitor
	var heartbeats *heartbeat.Manager
	work := &deeds{executor: runs, ending: ending, log: o.Log}
	nodes := nodemon.New(nodemon.Options{
		Paths: o.Host.Paths, State: states, Bus: events, Log: control.Logger("node monitor"), Ready: discovery.Ready(), BootID: boot, KernelArgs: kernelArgs(),
		Power: monitor.SysRq{Paths: o.Host.Paths}, Freeze: work.freeze, Empty: work.empty,
		FreezeInstance: func(p object.Path) error { return engine.SetFrozen(p, true) },
		Voter:          &arbitrator.Prober{Password: passwords(data)}, Stonith: configs.Stonith, Runner: o.Host.Runner,
		Forget:  func(node string) { heartbeats.Forget(node) },
		Pace:    func() time.Duration { return heartbeats.Pace() },
		Changed: func() { objects.Reconsider() },
	})
	ending.nodes = nodes
	objects = monitor.New(monitor.Options{
		Paths: o.Host.Paths, Runner: o.Host.Runner, State: states, Bus: events, Log: control.Logger("monitor"),
		Executor: runs, Evaluate: pool, Discover: discovery, Flags: engine, Locks: engine,
		Power: monitor.SysRq{Paths: o.Host.Paths}, Ready: discovery.Ready(), BootID: boot, History: historyFile(o.Host.Paths, "orchestrations"),
		Quorum: nodes.Quorum, Fences: nodes.Fences, Fencer: nodes, LeftAt: nodes.LeftAt(),
		Acked: func(peer string, p object.Path) bool { return heartbeats.Acked(peer, p) },
	})
	files := reinstall.New(reinstall.Options{
		Bus: events, State: states, Instances: engine, Executor: runs, Log: o.Log, Ready: discovery.Ready(),
	})
	schedules := scheduler.New(scheduler.Options{
		Paths: o.Host.Paths, State: states, Bus: events, Log: o.Log, Evaluate: pool, Executor: runs, NodeJobs: instance.NodeCommands(),
		Inform: func(ctx context.Context, p object.Path) error {
			_, err := engine.Info(ctx, p, instance.Request{}, true)
			return err
		},
	})
	deaths := witness.New(witness.Options{Bus: events, Evaluate: pool, Log: o.Log})
	sign := func() (tls.Certificate, error) { return setup.Sign(making) }
	certificates := presented.New(presented.Options{
		Objects: stored.Objects{Store: configs, Node: o.Host.Hostname}, Bus: events, Log: o.Log,
		Own: setup.Certificate(), First: identity.Certificate, Sign: sign,
	})
	listeners := &listeners{
		socket: o.Host.Paths.Socket(), cert: certificates.For, state: states, bus: events, log: control.Logger("listener"),
		tried: make(chan struct{}), asked: make(chan struct{}, 1),
	}
	parts := inventory.Node{Host: o.Host, Store: configs, Version: o.Version}
	for _, spec := range drivers.Specs() {
		parts.Drivers = append(parts.Drivers, spec.ID())
	}
	if _, err := parts.Scan(); err != nil {
		o.Log.Warn("the capabilities of the node are not known", slog.Any("err", err))
	}
	members := membership.New(membership.Options{
		Host: o.Host, Store: configs, Data: data, Sections: drivers.Sections, Tokens: tokens, Authority: identity.Authority,
		State: states, Bus: events, Discover: discovery, Peers: peers{states}, Log: control.Logger("membership"), Addresses: addresses, Sign: sign,
		Compat: compat, Drain: drainWith(nodes), Running: running(runs), Restart: ending.Restart, Ready: discovery.Ready(),
	})
	hub := unicast.NewHub()
	heartbeats = heartbeat.New(heartbeat.Options{
		Node: o.Host.Hostname, State: states, Bus: events, Log: control.Logger("heartbeat"), Ready: discovery.Ready(), Compat: compat,
		Settings: beats{configs, o.Host.Hostname, o.Log, &standing.Conditions{}}.read,
		Drivers:  media(unicast.Options{Hub: hub, Shared: listenerPort(states), Dial: unicast.Dial, Listen: unicast.Listen(certificates.For)}, states, data),
	})
	copies := replicate.New(replicate.Options{
		Paths: o.Host.Paths, Store: configs, State: states, Bus: events, Discover: discovery, Log: control.Logger("replicate"), Ready: discovery.Ready(),
		Fetch:  &fetcher{peers: peers{states}, node: o.Host.Hostname, tokens: tokens, authority: identity.Authority},
		Freeze: func(p object.Path) error { return engine.SetFrozen(p, true) },
		Retire: retire(objects),
	})
	hooks := hook.New(hook.Options{Store: configs, Bus: events, Runner: o.Host.Runner, Env: inherited(o.Environ), Log: o.Log})
	admitted := newAccess(configs, o.Log)
	server := httpd.New(httpd.Options{
		Node: o.Host.Hostname, Pid: os.Getpid(), Owner: os.Geteuid(), Started: began, Log: control.Logger("api"), Tokens: tokens,
		Credentials: credentials(o.Host, configs, data, admitted), Limit: admitted.limit,
		State: states, Bus: events, Store: configs, Drivers: drivers, Discover: discovery,
		Monitor: objects, Executor: runs, Schedules: schedules, Logs: book, Instances: engine, Inventory: parts, Ending: ending,
		Nodes: nodes, Votes: arbitrator.NewVotes(), Members: members, Listeners: listeners, Copies: copies, Control: control, Peers: peers{states}, Roots: authorities(identity.Authority),
		Heartbeats: rotor{heartbeats, data}, Beats: hub.Serve,
		Relay: relay.NewStore(), Relays: relays(configs, data, o.Host.Hostname), HeartbeatDisks: disks{configs, o.Host},
	})
	listeners.server = server
	accounts := &userSocket{path: o.Host.Paths.UserSocket(), runner: o.Host.Runner, server: server, state: states, bus: events, log: o.Log}
	keeper := &keeper{socket: o.Host.Paths.Socket(), version: o.Version, bus: events, log: o.Log, ready: o.Ready, again: ending.restarts.Load, began: began}

	self.start(cluster.NodeStatus{Agent: o.Version, API: api.Version, Compat: compat, IsLeader: true})
	inner := []part{
		{"executor", runs.Run},
		{"evaluate", pool.Run},
		{"witness", deaths.Run},
		{"reinstall", files.Run},
		{"hooks", hooks.Run},
		{"monitor", objects.Run},
		{"scheduler", schedules.Run},
		{"discover", discovery.Run},
		{"load", self.measure},
		{"node monitor", nodes.Run},
		{"membership", members.Run},
		{"heartbeats", heartbeats.Run},
		{"replicate", copies.Run},
		{"settings", followMaxParallel(events, runs)},
		{"secrets", resealer{resealing(data, states), events, o.Log, resealAgain, &standing.Conditions{}}.run},
		{"lock", process.watch},
	}
	outer := []part{{"socket", listeners.serveSocket}, {"certificates", certificates.Run}, {"listener", listeners.serveTLS}, {"user socket", accounts.run}, {"keeper", keeper.run}, {"farewell", farewell{ending, heartbeats.Leave}.run}}
	err = rings(ctx, inner, discovery.Ready(), outer)
	o.Log.Info("daemon stopped", slog.Duration("dur", time.Since(began)))
	if err == nil && ending.again(told) {
		return errors.Join(process.release(), restart(o))
	}
	return err
}

// compat is the version of what daemons say to one another.
const compat = 1

// restart replaces this process by the program file as it now is.
func restart(o Options) error {
	if o.Args == nil {
		return ErrRestart
	}
	if err := syscall.Exec(o.Host.Self, o.Args, o.Environ); err != nil { //nolint:gosec // this program, as it was started
		return fmt.Errorf("restart %s: %w", o.Host.Self, err)
	}
	return nil
}

// addresses are those of this node that a certificate may name.
func addresses() []net.IP {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the names remain
	}
	var usable []net.IP
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			usable = append(usable, n.IP)
		}
	}
	return usable
}
