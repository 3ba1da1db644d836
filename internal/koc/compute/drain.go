package compute

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/progress"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/drain"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// hostVersion is the microversion of the requests about a host: each cloud of
// today has it, and servers that are evacuated still run afterwards.
const hostVersion = "2.79"

func hostFlags(verb string) []command.Flag {
	return append([]command.Flag{
		{Name: "dry-run", Help: "Show what would move, and move nothing"},
		{Name: "target-host", Value: "<host>", Help: "Move all servers to this host, not to those the scheduler finds", Complete: "host"},
		{Name: "max-servers", Value: "<count>", Type: command.Natural, Help: "Move no more than this many"},
		command.Parallel(),
	}, noun.WaitFlags("each server has left the host, not only until nova has agreed to "+verb+" it", moveTimeout)...)
}

func hostDrain() command.Command {
	return command.Command{
		Short: "Move the servers of a host that is up to others",
		Long: "Servers move while they run, smallest first; with --cold each is shut down, moved, started again and confirmed. " +
			"A server that the way cannot take is skipped, and the way that can is named. " +
			"Unless the host is disabled the scheduler may put new servers on it: --disable prevents that.",
		Args: []command.Arg{{Name: "<host>", Help: "The host to empty", Complete: "host"}},
		Flags: append(
			hostFlags("move"),
			command.Flag{Name: "cold", Help: "Shut servers down to move them; implies --wait"},
			command.Flag{Name: "confirm", Value: "true|false", Optional: "true", Attached: true, Choices: []string{"true", "false"}, Help: "Whether to confirm what --cold has moved (default true)"},
			command.Flag{Name: "disable", Help: "Disable the compute service of the host first"},
			command.Flag{Name: "disable-reason", Value: "<reason>", Default: "koc compute host drain", Help: "Why it is disabled; needs --disable"},
		),
		Output: command.Listed, NoWatch: true,
		Run: func(ctx context.Context, c *command.Call) error {
			if c.Given("confirm") && !c.Is("cold") {
				return command.Reject("--confirm needs --cold: a live migration has nothing to confirm")
			}
			if c.Given("disable-reason") && !c.Is("disable") {
				return command.Reject("--disable-reason needs --disable")
			}
			verb := drain.Live
			if c.Is("cold") {
				verb = drain.Cold
			}
			return emptyHost(ctx, c, verb)
		},
	}
}

func hostEvacuate() command.Command {
	return command.Command{
		Short: "Rebuild the servers of a host that is down on others",
		Long: "Make sure that the host is really dead: a server that still runs there and is rebuilt elsewhere runs twice, and ruins its volumes. " +
			"Servers whose disks were on the host alone begin again from their images.",
		Args:   []command.Arg{{Name: "<host>", Help: "The host that has failed", Complete: "host"}},
		Flags:  hostFlags("evacuate"),
		Output: command.Listed, NoWatch: true,
		Run: func(ctx context.Context, c *command.Call) error {
			return emptyHost(ctx, c, drain.Evacuate)
		},
	}
}

func emptyHost(ctx context.Context, c *command.Call, verb drain.Verb) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	s.Service = s.Default(hostVersion)
	if err := s.needs("2.56", verb.String()); err != nil {
		return err
	}
	timeout, err := moveLimit(c)
	if err != nil {
		return err
	}
	m := &hostMover{servers: s, host: c.Text("<host>"), target: c.Text("target-host"), verb: verb}
	if err := m.check(ctx); err != nil {
		return err
	}
	runner := &drain.Runner{
		Cloud: m, Steps: progress.New(c.Streams), Live: c.Streams.ErrTTY,
		Host: m.host, Verb: verb, Limit: c.Int("max-servers"), Parallel: c.Int("parallel"), Timeout: timeout,
		Wait: c.Is("wait") || verb == drain.Cold, Confirm: verb == drain.Cold && c.Text("confirm") != "false", DryRun: c.Is("dry-run"),
	}
	results, failed := runner.Run(ctx)
	if results == nil && failed != nil {
		return failed
	}
	if len(results) == 0 {
		c.Notef("koc: host %s has no servers\n", m.host)
	}
	if err := c.List(titled([]string{"Server", "Name", "Status", "Result", "Target Host", "Detail"}), m.rows(results, runner.DryRun)); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if bad, tried := drain.Failures(results); bad > 0 {
		return fmt.Errorf("%d of %d servers could not be moved off host %q", bad, tried, m.host)
	}
	return nil
}

// moveLimit is how long one server may take.
func moveLimit(c *command.Call) (time.Duration, error) {
	if !c.Given("wait-timeout") {
		return moveTimeout, nil
	}
	d, err := noun.ParseDuration(c.Text("wait-timeout"))
	if err != nil {
		return 0, command.Reject("--wait-timeout: %v", err)
	}
	if d == 0 {
		d = moveTimeout
	}
	return d, nil
}

// hostMover is Nova for a runner.
type hostMover struct {
	*servers

	host, target string
	verb         drain.Verb
}

func (m *hostMover) rows(results []drain.Result, plan bool) func(func([]any, error) bool) {
	return func(yield func([]any, error) bool) {
		for _, r := range results {
			var target any
			switch {
			case r.Server.Host != m.host && r.Server.Host != "":
				target = r.Server.Host
			case plan && r.Outcome == drain.WouldMove && m.target != "", r.Outcome == drain.Accepted && m.target != "":
				target = m.target
			}
			if !yield([]any{r.Server.ID, r.Server.Name, r.Server.Status, string(r.Outcome), target, r.Detail}, nil) {
				return
			}
		}
	}
}

// check makes sure that the verb is the right one for the host, once and before
// anything is done.
func (m *hostMover) check(ctx context.Context) error {
	o, err := m.findService(ctx, m.host, "nova-compute")
	if err != nil {
		return err
	}
	up := o.Text("state") == "up"
	switch {
	case m.verb == drain.Evacuate && up:
		return fmt.Errorf("host %q is up: 'compute host drain' moves its servers. If it has failed and nova does not know yet, "+
			"'compute service set --down %s nova-compute' tells it", m.host, m.host)
	case m.verb != drain.Evacuate && !up:
		return fmt.Errorf("host %q is down: 'compute host evacuate' rebuilds its servers elsewhere", m.host)
	}
	if err := m.checkTarget(ctx); err != nil {
		return err
	}
	c := m.c
	switch {
	case m.verb == drain.Evacuate || o.Text("status") == "disabled" || c.Is("dry-run"):
		return nil
	case c.Is("disable"):
		body := object("status", "disabled", "disabled_reason", c.Text("disable-reason"))
		if err := m.tell(ctx, http.MethodPut, "/os-services/"+url.PathEscape(o.Text("id")), body); err != nil {
			return fmt.Errorf("disable host %q: %w", m.host, err)
		}
	default:
		c.Notef("koc: host %s is enabled: the scheduler may put new servers on it (--disable prevents that)\n", m.host)
	}
	return nil
}

// checkTarget makes sure that the target host can take servers.
func (m *hostMover) checkTarget(ctx context.Context) error {
	if m.target == "" {
		return nil
	}
	if m.target == m.host {
		return command.Reject("--target-host %s is the host itself", m.target)
	}
	o, err := m.findService(ctx, m.target, "nova-compute")
	switch {
	case err != nil:
		return fmt.Errorf("--target-host: %w", err)
	case o.Text("state") != "up":
		return fmt.Errorf("--target-host: host %q is down", m.target)
	case o.Text("status") != "enabled":
		return fmt.Errorf("--target-host: host %q is disabled, so that nova sends no server there: 'compute service set --enable %s nova-compute'", m.target, m.target)
	}
	return nil
}

func (m *hostMover) drained(o noun.Object) drain.Server {
	return drain.Server{
		ID: o.Text("id"), Name: o.Text("name"), Host: o.Text("OS-EXT-SRV-ATTR:host"),
		Status: o.Text("status"), Task: o.Text("OS-EXT-STS:task_state"), Fault: m.c.Cloud.Mask(o.Text("fault.message")), RAM: o.Int("flavor.ram"),
	}
}

// Servers implements [drain.Cloud].
func (m *hostMover) Servers(ctx context.Context) ([]drain.Server, error) {
	q := url.Values{"all_tenants": {"True"}, "host": {m.host}}
	wanted := noun.Wanted{}
	for _, name := range [...]string{"id", "name", "status", "OS-EXT-SRV-ATTR:host", "OS-EXT-STS:task_state", "flavor"} {
		wanted[name] = nil
	}
	var found []drain.Server
	for o, err := range noun.Pages(ctx, m.Service, "/servers/detail", q, "servers", 0, wanted) {
		if err != nil {
			return nil, err
		}
		// Who is no administrator gets the filter ignored, and own servers of all hosts.
		s := m.drained(o)
		if s.Host != m.host {
			return nil, fmt.Errorf("nova does not tell which servers are on host %q: this takes an administrator", m.host)
		}
		found = append(found, s)
	}
	return found, nil
}

// Move implements [drain.Cloud].
func (m *hostMover) Move(ctx context.Context, s drain.Server) error {
	var target any
	if m.target != "" {
		target = m.target
	}
	switch m.verb {
	case drain.Cold:
		if target == nil {
			return m.act(ctx, s.ID, "migrate", nil)
		}
		return m.act(ctx, s.ID, "migrate", object("host", target))
	case drain.Evacuate:
		return m.act(ctx, s.ID, "evacuate", object("host", target))
	case drain.Live:
	}
	return m.act(ctx, s.ID, "os-migrateLive", noun.Object{{Name: "host", Value: target}, {Name: "block_migration", Value: "auto"}})
}

// Look implements [drain.Cloud].
func (m *hostMover) Look(ctx context.Context, id string) (drain.Server, error) {
	o, err := m.get(ctx, id)
	if noun.IsNotFound(err) {
		return drain.Server{}, drain.ErrGone
	}
	return m.drained(o), err
}

// Confirm implements [drain.Cloud].
func (m *hostMover) Confirm(ctx context.Context, id string) error {
	return m.act(ctx, id, "confirmResize", nil)
}

// Reason implements [drain.Cloud]: it is what the newest action of the server
// failed with. Nova tells that from microversion 2.84 on.
func (m *hostMover) Reason(ctx context.Context, id string) string {
	list, err := m.ask(ctx, cloud.Request{Path: serverPath(id, "os-instance-actions"), Query: url.Values{"limit": {"1"}}})
	if err != nil || len(list.Objects("instanceActions")) == 0 {
		return ""
	}
	request := list.Objects("instanceActions")[0].Text("request_id")
	var answer noun.Object
	if err := m.Default("2.84").Do(ctx, cloud.Request{Path: serverPath(id, "os-instance-actions", request), Into: &answer}); err == nil {
		for _, event := range answer.Object("instanceAction").Objects("events") {
			if why := event.Text("details"); why != "" && event.Text("result") == "Error" {
				return strings.TrimSpace(render.Plain(why))
			}
		}
	}
	return fmt.Sprintf("nova gave up (request %s)", request)
}
