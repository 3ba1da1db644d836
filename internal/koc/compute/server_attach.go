package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// serverAttachCommands connect servers with what is not theirs.
func serverAttachCommands() []command.Entry {
	return []command.Entry{
		{Name: "server add fixed ip", Build: serverAddFixedIP},
		{Name: "server add floating ip", Build: serverAddFloatingIP},
		{Name: "server add network", Build: serverAddNetwork},
		{Name: "server add port", Build: serverAddPort},
		{Name: "server add security group", Build: func() command.Command {
			return serverSecurityGroup("Put a server into a security group", "join", "addSecurityGroup")
		}},
		{Name: "server add server-group", Build: serverAddServerGroup},
		{Name: "server add volume", Build: serverAddVolume},
		{Name: "server remove fixed ip", Build: serverRemoveFixedIP},
		{Name: "server remove floating ip", Build: serverRemoveFloatingIP},
		{Name: "server remove network", Build: serverRemoveNetwork},
		{Name: "server remove port", Build: serverRemovePort},
		{Name: "server remove security group", Build: func() command.Command {
			return serverSecurityGroup("Take a server out of a security group", "leave", "removeSecurityGroup")
		}},
		{Name: "server remove server-group", Build: serverRemoveServerGroup},
		{Name: "server remove volume", Build: serverRemoveVolume},
	}
}

func tagFlag(what string) command.Flag {
	return command.Flag{Name: "tag", Value: "<tag>", Help: "Tag of the " + what + " in the guest (microversion 2.49)"}
}

// attachInterface makes a connection of a server.
func (s *servers) attachInterface(ctx context.Context, id string, body noun.Object) (noun.Object, error) {
	if tag := givenText(s.c, "tag"); tag != nil {
		body.Set("tag", tag)
	}
	o, err := s.ask(ctx, cloud.Request{
		Method: http.MethodPost, Path: serverPath(id, "os-interface"),
		Body: object("interfaceAttachment", render.Ordered(body)),
	})
	return o.Object("interfaceAttachment"), err
}

// pair resolves the server and the other thing that a command connects.
func (s *servers) pair(ctx context.Context, n noun.Noun, arg string) (server, other string, err error) {
	if server, err = s.id(ctx, s.c.Text("<server>")); err != nil {
		return "", "", err
	}
	other, err = n.Resolve(ctx, s.c, s.c.Text(arg))
	return server, other, err
}

func serverAddFixedIP() command.Command {
	return command.Command{
		Short:  "Give a server an address of a network",
		Args:   []command.Arg{serverArg("change"), noun.Network().Ref("<network>", "take the address from")},
		Output: command.Created,
		Flags: []command.Flag{
			{Name: "fixed-ip-address", Value: "<ip-address>", Help: "The address; else one that is free"},
			tagFlag("interface"),
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.70")
			if err != nil {
				return err
			}
			if err := s.needsGiven("2.49", "tag"); err != nil {
				return err
			}
			id, network, err := s.pair(ctx, noun.Network(), "<network>")
			if err != nil {
				return err
			}
			if !s.atLeast("2.44") {
				if err := s.act(ctx, id, "addFixedIp", object("networkId", network)); err != nil {
					return err
				}
				return c.Show(nil)
			}
			body := object("net_id", network)
			if ip := c.Text("fixed-ip-address"); ip != "" {
				body.Set("fixed_ips", []any{render.Ordered(object("ip_address", ip))})
			}
			o, err := s.attachInterface(ctx, id, body)
			if err != nil {
				return err
			}
			return c.Show(interfaceFields(s, id, o))
		},
	}
}

func interfaceFields(s *servers, id string, o noun.Object) []render.Field {
	fields := []render.Field{
		{Name: "Port ID", Value: o.Get("port_id")},
		{Name: "Server ID", Value: id},
		{Name: "Network ID", Value: o.Get("net_id")},
		{Name: "MAC Address", Value: o.Get("mac_addr")},
		{Name: "Port State", Value: o.Get("port_state")},
		{Name: "Fixed IPs", Value: render.ListDictCell(o.Get("fixed_ips"))},
	}
	if s.atLeast("2.49") {
		fields = append(fields, render.Field{Name: "Tag", Value: o.Get("tag")})
	}
	return fields
}

func serverAddNetwork() command.Command {
	return command.Command{
		Short: "Connect a server to a network",
		Args:  []command.Arg{serverArg("connect"), noun.Network().Ref("<network>", "connect it to")},
		Flags: []command.Flag{tagFlag("interface")},
		Run: func(ctx context.Context, c *command.Call) error {
			return addInterface(ctx, c, noun.Network(), "<network>", "net_id")
		},
	}
}

func serverAddPort() command.Command {
	return command.Command{
		Short: "Connect a server to a port",
		Args:  []command.Arg{serverArg("connect"), noun.Port().Ref("<port>", "connect it to")},
		Flags: []command.Flag{tagFlag("interface")},
		Run: func(ctx context.Context, c *command.Call) error {
			return addInterface(ctx, c, noun.Port(), "<port>", "port_id")
		},
	}
}

func addInterface(ctx context.Context, c *command.Call, n noun.Noun, arg, attr string) error {
	s, err := openServers(ctx, c, "2.70")
	if err != nil {
		return err
	}
	if err := s.needsGiven("2.49", "tag"); err != nil {
		return err
	}
	id, other, err := s.pair(ctx, n, arg)
	if err != nil {
		return err
	}
	_, err = s.attachInterface(ctx, id, object(attr, other))
	return err
}

// detach takes off a server what hangs on it under its own id.
func detach(microversion string, n noun.Noun, arg, collection string) func(context.Context, *command.Call) error {
	return func(ctx context.Context, c *command.Call) error {
		s, err := openServers(ctx, c, microversion)
		if err != nil {
			return err
		}
		id, other, err := s.pair(ctx, n, arg)
		if err != nil {
			return err
		}
		return s.tell(ctx, http.MethodDelete, serverPath(id, collection, other), nil)
	}
}

func serverRemovePort() command.Command {
	return command.Command{
		Short: "Disconnect a server from a port",
		Args:  []command.Arg{serverArg("disconnect"), noun.Port().Ref("<port>", "disconnect it from")},
		Run:   detach("2.70", noun.Port(), "<port>", "os-interface"),
	}
}

func serverRemoveNetwork() command.Command {
	return command.Command{
		Short: "Disconnect a server from all ports of a network",
		Args:  []command.Arg{serverArg("disconnect"), noun.Network().Ref("<network>", "disconnect it from")},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.70")
			if err != nil {
				return err
			}
			id, network, err := s.pair(ctx, noun.Network(), "<network>")
			if err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "os-interface")})
			if err != nil {
				return err
			}
			var errs []error
			for _, i := range o.Objects("interfaceAttachments") {
				if i.Text("net_id") != network {
					continue
				}
				if err := s.tell(ctx, http.MethodDelete, serverPath(id, "os-interface", i.Text("port_id")), nil); err != nil {
					errs = append(errs, fmt.Errorf("disconnect port %s: %w", i.Text("port_id"), err))
				}
			}
			return errors.Join(errs...)
		},
	}
}

func serverRemoveFixedIP() command.Command {
	return command.Command{
		Short: "Take an address away from a server",
		Args:  []command.Arg{serverArg("change"), {Name: "<ip-address>", Help: "The address to take away"}},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			if err := s.until("2.43", "server remove fixed ip"); err == nil {
				return s.act(ctx, id, "removeFixedIp", object("address", c.Text("<ip-address>")))
			}
			return s.removeAddress(ctx, id, c.Text("<ip-address>"))
		},
	}
}

// removeAddress disconnects the port that has an address, for a microversion that
// does not know addresses any more.
func (s *servers) removeAddress(ctx context.Context, id, address string) error {
	o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "os-interface")})
	if err != nil {
		return err
	}
	for _, i := range o.Objects("interfaceAttachments") {
		for _, ip := range i.Objects("fixed_ips") {
			if ip.Text("ip_address") == address {
				return s.tell(ctx, http.MethodDelete, serverPath(id, "os-interface", i.Text("port_id")), nil)
			}
		}
	}
	return fmt.Errorf("no port of the server has the address %s", address)
}

func serverAddFloatingIP() command.Command {
	return command.Command{
		Short: "Give a server a floating address",
		Args:  []command.Arg{serverArg("change"), {Name: "<ip-address>", Help: "The floating address, or its id", Complete: "floating ip"}},
		Flags: []command.Flag{
			{Name: "fixed-ip-address", Value: "<ip-address>", Help: "The address of the server that the floating address stands for; else the first that is behind a router"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, floating, err := s.pair(ctx, noun.FloatingIP(), "<ip-address>")
			if err != nil {
				return err
			}
			return s.associate(ctx, id, floating, c.Text("fixed-ip-address"))
		},
	}
}

// associate points a floating address at a port of a server: the one with the
// fixed address, else the first that the network service accepts.
func (s *servers) associate(ctx context.Context, id, floating, fixed string) error {
	c := s.c
	var ports []noun.Object
	for o, err := range noun.Port().All(ctx, c, url.Values{"device_id": {id}}) {
		if err != nil {
			return err
		}
		ports = append(ports, o)
	}
	if len(ports) == 0 {
		return fmt.Errorf("server %q has no port to point the floating address at", c.Text("<server>"))
	}
	if fixed != "" {
		for _, port := range ports {
			for _, ip := range port.Objects("fixed_ips") {
				if ip.Text("ip_address") == fixed {
					return noun.FloatingIP().Update(ctx, c, floating, object("fixed_ip_address", fixed, "port_id", port.Get("id")))
				}
			}
		}
		return fmt.Errorf("no port of server %q has the address %s", c.Text("<server>"), fixed)
	}
	var err error
	for _, port := range ports {
		// One that is behind no router is not found.
		if err = noun.FloatingIP().Update(ctx, c, floating, object("port_id", port.Get("id"))); !noun.IsNotFound(err) {
			return err
		}
	}
	return err
}

func serverRemoveFloatingIP() command.Command {
	return command.Command{
		Short: "Take a floating address away from a server",
		Args:  []command.Arg{serverArg("change"), {Name: "<ip-address>", Help: "The floating address, or its id", Complete: "floating ip"}},
		Run: func(ctx context.Context, c *command.Call) error {
			floating, err := noun.FloatingIP().Resolve(ctx, c, c.Text("<ip-address>"))
			if err != nil {
				return err
			}
			return noun.FloatingIP().Update(ctx, c, floating, noun.Object{{Name: "port_id"}})
		},
	}
}

func serverSecurityGroup(short, verb, action string) command.Command {
	return command.Command{
		Short: short,
		Args:  []command.Arg{serverArg("change"), noun.SecurityGroup().Ref("<group>", verb)},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, group, err := s.pair(ctx, noun.SecurityGroup(), "<group>")
			if err != nil {
				return err
			}
			return s.act(ctx, id, action, object("name", group))
		},
	}
}

func serverAddServerGroup() command.Command {
	return command.Command{
		Short: "Make a server a member of a server group (KeyStack)",
		Args:  []command.Arg{serverArg("change"), serverGroup().Ref("<server-group-id>", "join")},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, group, err := s.pair(ctx, serverGroup(), "<server-group-id>")
			if err != nil {
				return err
			}
			return keystack(s.act(ctx, id, "addServerGroup", object("server_group_id", group)), "dynamic server groups")
		},
	}
}

func serverRemoveServerGroup() command.Command {
	return command.Command{
		Short: "Take a server out of its server group (KeyStack)",
		Args:  []command.Arg{serverArg("change")},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			return keystack(s.act(ctx, id, "removeServerGroup", nil), "dynamic server groups")
		},
	}
}

func serverAddVolume() command.Command {
	return command.Command{
		Short:  "Attach a volume to a server",
		Args:   []command.Arg{serverArg("change"), noun.Volume().Ref("<volume>", "attach")},
		Output: command.Created,
		Flags: []command.Flag{
			{Name: "device", Value: "<device>", Help: "Name of the device in the guest, as the service records it"},
			tagFlag("device"),
			{Name: "enable-delete-on-termination", Help: "Delete the volume with the server (microversion 2.79)"},
			{Name: "disable-delete-on-termination", Help: "Keep the volume when the server is deleted (microversion 2.79)"},
		},
		Exclusive: []string{"enable-delete-on-termination disable-delete-on-termination"},
		Run:       addVolume,
	}
}

func addVolume(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "2.89")
	if err != nil {
		return err
	}
	for _, f := range []struct{ version, flag string }{{"2.49", "tag"}, {"2.79", "enable-delete-on-termination"}, {"2.79", "disable-delete-on-termination"}} {
		if err := s.needsGiven(f.version, f.flag); err != nil {
			return err
		}
	}
	id, volume, err := s.pair(ctx, noun.Volume(), "<volume>")
	if err != nil {
		return err
	}
	body := object("volumeId", volume, "tag", givenText(c, "tag"))
	body.Set("device", givenText(c, "device"))
	switch {
	case c.Is("enable-delete-on-termination"):
		body.Set("delete_on_termination", true)
	case c.Is("disable-delete-on-termination"):
		body.Set("delete_on_termination", false)
	}
	o, err := s.ask(ctx, cloud.Request{
		Method: http.MethodPost, Path: serverPath(id, "os-volume_attachments"), Body: object("volumeAttachment", render.Ordered(body)),
	})
	if err != nil {
		return err
	}
	o = o.Object("volumeAttachment")
	fields := []render.Field{
		{Name: "ID", Value: o.Get("id")},
		{Name: "Server ID", Value: id},
		{Name: "Volume ID", Value: o.Get("volumeId")},
		{Name: "Device", Value: o.Get("device")},
	}
	if s.atLeast("2.49") {
		fields = append(fields, render.Field{Name: "Tag", Value: o.Get("tag")})
	}
	if s.atLeast("2.79") {
		fields = append(fields, render.Field{Name: "Delete On Termination", Value: o.Get("delete_on_termination")})
	}
	return c.Show(fields)
}

func serverRemoveVolume() command.Command {
	return command.Command{
		Short: "Detach a volume from a server",
		Args:  []command.Arg{serverArg("change"), noun.Volume().Ref("<volume>", "detach")},
		Run:   detach("2.89", noun.Volume(), "<volume>", "os-volume_attachments"),
	}
}
