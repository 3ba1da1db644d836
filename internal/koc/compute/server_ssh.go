package compute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serverSSH() command.Command {
	return command.Command{
		Short: "Log in to a server with ssh",
		Long:  "What stands after -- is given to ssh as it is: koc server ssh web1 -- -l debian -v",
		Args: []command.Arg{
			serverArg("log in to"),
			{Name: "-- <standard ssh args>", Help: "Arguments of ssh", Many: true, Optional: true},
		},
		Flags: []command.Flag{
			{Name: "login", Short: "l", Value: "<login-name>", Hidden: true, Help: "Name of the user in the guest"},
			{Name: "port", Short: "p", Value: "<port>", Type: command.Int, Hidden: true, Help: "Port of ssh in the guest"},
			{Name: "identity", Short: "i", Value: "<keyfile>", Hidden: true, Help: "File of the private key"},
			{Name: "option", Short: "o", Value: "<config-options>", Hidden: true, Help: "Option of ssh"},
			{Name: "4", Help: "Use an address of IPv4"},
			{Name: "6", Help: "Use an address of IPv6"},
			{Name: "public", Help: "Use a floating address, as is the default"},
			{Name: "private", Help: "Use an address of the server itself"},
			{Name: "address-type", Value: "<address-type>", Help: "Use an address of this type: public, private, fixed, floating or the name of a network"},
			{Name: "v", Hidden: true, Help: "Let ssh tell what it does"},
		},
		Exclusive: []string{"4 6", "public private address-type"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			o, err := s.full(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			argv, err := s.sshCommand(ctx, o)
			if err != nil {
				return err
			}
			return host.Foreground(ctx, host.Cmd{Argv: argv}, host.Terminal{In: c.Streams.In, Out: c.Streams.Out, Err: c.Streams.Err})
		},
	}
}

// sshCommand is the command that logs in to a server.
func (s *servers) sshCommand(ctx context.Context, o noun.Object) ([]string, error) {
	c := s.c
	kind := "public"
	switch {
	case c.Is("private"):
		kind = "private"
	case c.Given("address-type"):
		kind = c.Text("address-type")
	}
	var family string
	switch {
	case c.Is("4"):
		family = "4"
	case c.Is("6"):
		family = "6"
	}
	address, err := addressOf(o.Object("addresses"), kind, family)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", c.Text("<server>"), err)
	}
	args := c.Texts("-- <standard ssh args>")
	for _, f := range [...][2]string{{"port", "-p"}, {"identity", "-i"}, {"option", "-o"}, {"login", "-l"}} {
		if c.Given(f[0]) {
			args = append(args, f[1], c.Text(f[0]))
		}
	}
	if !c.Given("login") && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-l") }) {
		token, err := c.Cloud.Token(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, "-l", token.UserName)
	}
	if c.Is("v") {
		args = append(args, "-v")
	}
	// Options may stand before the address or after it; a command only after it.
	return append([]string{"ssh", address}, args...), nil
}

// addressOf picks an address: of the network that is named so, else of the type.
func addressOf(addresses noun.Object, kind, family string) (string, error) {
	fits := func(a noun.Object) bool { return family == "" || a.Text("version") == family }
	for _, a := range addresses.Objects(kind) {
		if fits(a) {
			return a.Text("addr"), nil
		}
	}
	wanted := map[string]string{"public": "floating", "private": "fixed"}[kind]
	if wanted == "" {
		wanted = kind
	}
	var had []string
	for _, network := range addresses {
		list, _ := network.Value.([]any)
		for _, item := range list {
			inner, ok := item.(render.Ordered)
			if !ok {
				continue
			}
			a := noun.Object(inner)
			if a.Text("OS-EXT-IPS:type") == wanted && fits(a) {
				return a.Text("addr"), nil
			}
			had = append(had, a.Text("addr")+" ("+a.Text("OS-EXT-IPS:type")+")")
		}
	}
	if family != "" {
		family = " of IPv" + family
	}
	if len(had) == 0 {
		return "", errors.New("it has no address")
	}
	return "", fmt.Errorf("no %s address%s; it has %s: choose with --private or --address-type", kind, family, strings.Join(had, ", "))
}
