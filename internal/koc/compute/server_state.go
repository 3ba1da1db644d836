package compute

import (
	"context"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// stateVerb is a command that moves servers into a state by one action.
type stateVerb struct {
	verb, short, done string
	action            string
	status            string // that --wait waits for; "" is no waiting
	version           string // the microversion it is new in
	negotiated        string // see openServers
	flags             []command.Flag
	one               bool // takes one server, not many
	allProjects       bool
	body              func(s *servers) (any, error)
}

func serverStateCommands() []command.Entry {
	verbs := []stateVerb{
		{verb: "start", short: "Start servers", done: "Started", action: "os-start", status: "ACTIVE", allProjects: true},
		{verb: "stop", short: "Stop servers", done: "Stopped", action: "os-stop", status: "SHUTOFF", allProjects: true},
		{verb: "pause", short: "Pause servers", done: "Paused", action: "pause", status: "PAUSED", negotiated: "2.73"},
		{verb: "unpause", short: "Let paused servers go on", done: "Unpaused", action: "unpause", status: "ACTIVE", negotiated: "2.73"},
		{verb: "suspend", short: "Suspend servers", done: "Suspended", action: "suspend", status: "SUSPENDED", negotiated: "2.73"},
		{verb: "resume", short: "Resume suspended servers", done: "Resumed", action: "resume", status: "ACTIVE", negotiated: "2.73"},
		{verb: "restore", short: "Restore servers that are deleted softly", done: "Restored", action: "restore", status: "ACTIVE"},
		{
			verb: "lock", short: "Lock servers against what their users ask for", done: "Locked", action: "lock", body: lockReason,
			flags: []command.Flag{{Name: "reason", Value: "<reason>", Help: "Why the servers are locked (microversion 2.73)"}},
		},
		{verb: "unlock", short: "Unlock servers", done: "Unlocked", action: "unlock"},
		{verb: "unrescue", short: "Take a server out of rescue mode", done: "Unrescued", action: "unrescue", status: "ACTIVE", one: true},
		{verb: "dump create", short: "Crash servers so that they write a dump of their memory", done: "Dumped", action: "trigger_crash_dump", version: "2.17"},
	}
	entries := make([]command.Entry, 0, len(verbs)+3)
	for _, v := range verbs {
		entries = append(entries, command.Entry{Name: "server " + v.verb, Build: v.build})
	}
	return append(entries,
		command.Entry{Name: "server reboot", Build: serverReboot},
		command.Entry{Name: "server shelve", Build: serverShelve},
		command.Entry{Name: "server unshelve", Build: serverUnshelve},
	)
}

func (v stateVerb) build() command.Command {
	flags := v.flags
	if v.allProjects {
		flags = append(flags, allProjects("Find servers of all projects by their names"))
	}
	if v.status != "" {
		flags = append(flags, noun.WaitFlags("the servers are "+v.status, 10*time.Minute)...)
	}
	cmd := command.Command{Short: v.short, Flags: flags, Run: v.run}
	if v.one {
		cmd.Args = []command.Arg{serverArg(v.verb)}
	} else {
		cmd.Args = []command.Arg{serverArgs(v.verb)}
		cmd.Flags = append(cmd.Flags, command.Parallel())
	}
	return cmd
}

func (v stateVerb) run(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, v.negotiated)
	if err != nil {
		return err
	}
	if v.version != "" {
		if err := s.needs(v.version, "server "+v.verb); err != nil {
			return err
		}
	}
	var body any
	if v.body != nil {
		if body, err = v.body(s); err != nil {
			return err
		}
	}
	find := s.find
	if v.allProjects && everywhere(c) {
		find = func(ctx context.Context, ref string) (noun.Object, error) { return s.findIn(ctx, ref, true) }
	}
	return command.Each(ctx, c, "server", v.verb, c.Texts("<server>"), func(ctx context.Context, ref string) error {
		o, err := find(ctx, ref)
		if err != nil {
			return err
		}
		if err := s.act(ctx, o.Text("id"), v.action, body); err != nil {
			return err
		}
		if v.status != "" && c.Is("wait") {
			if _, err := s.settled(ctx, o, 10*time.Minute, v.status); err != nil {
				return err
			}
		}
		c.Donef("%s server %s\n", v.done, ref)
		return nil
	})
}

// lockReason is the body of a lock.
func lockReason(s *servers) (any, error) {
	if err := s.needsGiven("2.73", "reason"); err != nil || !s.c.Given("reason") {
		return nil, err
	}
	return object("locked_reason", s.c.Text("reason")), nil
}

func serverReboot() command.Command {
	return command.Command{
		Short: "Reboot servers",
		Args:  []command.Arg{serverArgs("reboot")},
		Flags: append([]command.Flag{
			{Name: "hard", Help: "Switch the power off and on"},
			{Name: "soft", Help: "Ask the guest to reboot, as is the default"},
			command.Parallel(),
		}, noun.WaitFlags("the servers are ACTIVE", 10*time.Minute)...),
		Exclusive: []string{"hard soft"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			kind := "SOFT"
			if c.Is("hard") {
				kind = "HARD"
			}
			return command.Each(ctx, c, "server", "reboot", c.Texts("<server>"), func(ctx context.Context, ref string) error {
				o, err := s.find(ctx, ref)
				if err != nil {
					return err
				}
				if err := s.act(ctx, o.Text("id"), "reboot", object("type", kind)); err != nil {
					return err
				}
				if c.Is("wait") {
					if _, err := s.settled(ctx, o, 10*time.Minute, "ACTIVE"); err != nil {
						return err
					}
					complete(c)
				}
				c.Donef("Rebooted server %s\n", ref)
				return nil
			})
		},
	}
}

// complete prints what the openstack client does when it has waited.
func complete(c *command.Call) {
	if c.Compat() {
		c.Printf("Complete\n")
	}
}

func serverShelve() command.Command {
	return command.Command{
		Short: "Shelve servers: keep their disks as an image and free what they use",
		Args:  []command.Arg{serverArgs("shelve")},
		Flags: append([]command.Flag{
			{Name: "offload", Help: "Take the shelved servers off their hosts at once (admin only)"},
			command.Parallel(),
		}, noun.WaitFlags("the servers are shelved, and off their hosts with --offload", 10*time.Minute)...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			return command.Each(ctx, c, "server", "shelve", c.Texts("<server>"), s.shelve)
		},
	}
}

const (
	shelved   = "SHELVED"
	offloaded = "SHELVED_OFFLOADED"
)

func (s *servers) shelve(ctx context.Context, ref string) error {
	o, err := s.full(ctx, ref)
	if err != nil {
		return err
	}
	id, status := o.Text("id"), o.Text("status")
	if status != shelved && status != offloaded {
		if err := s.act(ctx, id, "shelve", nil); err != nil {
			return err
		}
	}
	offload := s.c.Is("offload")
	if !offload && !s.c.Is("wait") {
		return nil
	}
	if o, err = s.settled(ctx, o, 10*time.Minute, shelved, offloaded); err != nil {
		return err
	}
	if !offload || o.Text("status") == offloaded {
		return nil
	}
	if err := s.act(ctx, id, "shelveOffload", nil); err != nil || !s.c.Is("wait") {
		return err
	}
	_, err = s.settled(ctx, o, 10*time.Minute, offloaded)
	return err
}

func serverUnshelve() command.Command {
	return command.Command{
		Short: "Unshelve servers",
		Args:  []command.Arg{serverArgs("unshelve")},
		Flags: append([]command.Flag{
			{Name: "availability-zone", Value: "<availability-zone>", Help: "Bring servers that are off their hosts up in this availability zone (microversion 2.77)"},
			{Name: "no-availability-zone", Koc: true, Help: "Do not hold the servers to an availability zone any more (microversion 2.91)"},
			{Name: "host", Value: "<host>", Koc: true, Help: "Bring servers that are off their hosts up on this host (admin only, microversion 2.91)"},
			command.Parallel(),
		}, noun.WaitFlags("the servers are ACTIVE or SHUTOFF", 10*time.Minute)...),
		Exclusive: []string{"availability-zone no-availability-zone"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			if err := s.needsGiven("2.77", "availability-zone"); err != nil {
				return err
			}
			for _, flag := range []string{"no-availability-zone", "host"} {
				if err := s.needsGiven("2.91", flag); err != nil {
					return err
				}
			}
			body := object("availability_zone", givenText(c, "availability-zone"), "host", givenText(c, "host"))
			if c.Is("no-availability-zone") {
				body.Set("availability_zone", nil)
			}
			var what any
			if len(body) > 0 {
				what = body
			}
			return command.Each(ctx, c, "server", "unshelve", c.Texts("<server>"), func(ctx context.Context, ref string) error {
				return s.unshelve(ctx, ref, what)
			})
		},
	}
}

func (s *servers) unshelve(ctx context.Context, ref string, body any) error {
	o, err := s.full(ctx, ref)
	if err != nil {
		return err
	}
	if status := o.Text("status"); status != shelved && status != offloaded {
		return nil
	}
	if err := s.act(ctx, o.Text("id"), "unshelve", body); err != nil || !s.c.Is("wait") {
		return err
	}
	_, err = s.settled(ctx, o, 10*time.Minute, "ACTIVE", "SHUTOFF")
	return err
}

func serverDelete() command.Command {
	return command.Command{
		Short: "Delete servers",
		Args:  []command.Arg{serverArgs("delete")},
		Flags: append([]command.Flag{
			{Name: "force", Help: "Delete servers at once that would be kept for a while"},
			allProjects("Find servers of all projects by their names"),
			command.Parallel(),
		}, noun.WaitFlags("the servers are gone", 10*time.Minute)...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			return command.Each(ctx, c, "server", "delete", c.Texts("<server>"), s.remove)
		},
	}
}

func (s *servers) remove(ctx context.Context, ref string) error {
	o, err := s.findIn(ctx, ref, everywhere(s.c))
	if err != nil {
		return err
	}
	id := o.Text("id")
	if s.c.Is("force") {
		err = s.act(ctx, id, "forceDelete", nil)
	} else {
		err = s.tell(ctx, "DELETE", serverPath(id), nil)
	}
	if err != nil || !s.c.Is("wait") {
		return err
	}
	wait := noun.Wait{
		What:    "server " + ref + " to be gone",
		Timeout: 10 * time.Minute,
		Probe: func(ctx context.Context) (string, bool, error) {
			now, err := s.get(ctx, id)
			if noun.IsNotFound(err) {
				return "gone", true, nil
			}
			if err != nil {
				return "", false, err
			}
			status := now.Text("status")
			if status == "ERROR" && now.Text("OS-EXT-STS:task_state") == "" {
				return status, false, &noun.Failed{Noun: "server", Ref: ref, State: status, Reason: s.c.Cloud.Mask(now.Text("fault.message"))}
			}
			return status, status == "DELETED" || status == "SOFT_DELETED", nil
		},
	}
	return wait.Until(ctx, s.c)
}
