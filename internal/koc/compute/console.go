package compute

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func consoleCommands() []command.Entry {
	return []command.Entry{
		{Name: "console connection show", Build: consoleConnectionShow},
		{Name: "console log show", Build: consoleLogShow},
		{Name: "console url show", Build: consoleURLShow},
	}
}

func consoleConnectionShow() command.Command {
	return command.Command{
		Short:  "Show where the console is that a token leads to",
		Args:   []command.Arg{{Name: "<token>", Help: "The token, as in the address that 'console url show' prints"}},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.31")
			if err != nil {
				return err
			}
			if err := s.needs("2.31", "console connection show"); err != nil {
				return err
			}
			o, err := s.ask(ctx, cloud.Request{Path: "/os-console-auth-tokens/" + url.PathEscape(c.Text("<token>"))})
			if err != nil {
				return err
			}
			return c.Show(noun.Fields{Columns: []noun.Column{
				{Title: "host"}, {Title: "instance_uuid"}, {Title: "internal_access_path"}, {Title: "port"}, {Title: "tls_port", IfSet: true},
			}}.Fields(c, o.Object("console")))
		},
	}
}

func consoleLogShow() command.Command {
	return command.Command{
		Short:   "Print what a server wrote on its console",
		Aliases: []string{"server console log show"},
		Args:    []command.Arg{serverArg("look at")},
		Flags:   []command.Flag{{Name: "lines", Value: "<num-lines>", Type: command.Natural, Help: "Print this many lines of the end, not all"}},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			body := noun.Object{}
			if c.Given("lines") {
				body.Set("length", c.Int("lines"))
			}
			o, err := s.actFor(ctx, id, "os-getConsoleOutput", body)
			if err != nil {
				return err
			}
			text := o.Text("output")
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			c.Printf("%s", text)
			return nil
		},
	}
}

// consoleKind is a way to reach a console: by the API of today, with a protocol
// and a type, or by an action of before.
type consoleKind struct{ flag, help, protocol, typ, action string }

func consoleKinds() []consoleKind {
	return []consoleKind{
		{"novnc", "With noVNC, as is the default", "vnc", "novnc", "os-getVNCConsole"},
		{"xvpvnc", "With the VNC client of XenServer, which no cloud of today has", "vnc", "xvpvnc", "os-getVNCConsole"},
		{"spice", "With SPICE", "spice", "spice-html5", "os-getSPICEConsole"},
		{"rdp", "With RDP, of Hyper-V", "rdp", "rdp-html5", "os-getRDPConsole"},
		{"serial", "The serial port", "serial", "serial", "os-getSerialConsole"},
		{"mks", "With MKS, of VMware (microversion 2.8)", "mks", "webmks", ""},
	}
}

func consoleURLShow() command.Command {
	kinds := consoleKinds()
	flags := make([]command.Flag, len(kinds))
	names, types := make([]string, len(kinds)), make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.flag
		flags[i] = command.Flag{Name: k.flag, Help: k.help}
		types[i] = k.typ
	}
	names = append(names, "type")
	flags = append(flags, command.Flag{Name: "type", Value: "<type>", Choices: types, Hidden: true, Koc: true, Help: "Kind of console, as the service calls it"})
	return command.Command{
		Short:     "Show an address to reach the console of a server",
		Aliases:   []string{"server console url show"},
		Long:      "Each call begins a session: who has the address has the console, until its token expires.",
		Args:      []command.Arg{serverArg("reach")},
		Flags:     flags,
		Exclusive: []string{strings.Join(names, " ")},
		Output:    command.Shown,
		NoWatch:   true,
		Run: func(ctx context.Context, c *command.Call) error {
			kind := kinds[0]
			for _, k := range kinds {
				if c.Is(k.flag) || c.Text("type") == k.typ {
					kind = k
				}
			}
			s, err := openServers(ctx, c, "2.8")
			if err != nil {
				return err
			}
			if kind.action == "" {
				if err := s.needs("2.8", "--"+kind.flag); err != nil {
					return err
				}
			}
			id, err := s.id(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			key := "remote_console"
			var o noun.Object
			if s.atLeast("2.6") {
				o, err = s.ask(ctx, cloud.Request{
					Method: http.MethodPost, Path: serverPath(id, "remote-consoles"),
					Body: object(key, object("protocol", kind.protocol, "type", kind.typ)),
				})
			} else {
				key = "console"
				o, err = s.actFor(ctx, id, kind.action, object("type", kind.typ))
			}
			if err != nil {
				return fmt.Errorf("console %s of server %q: %w", kind.flag, c.Text("<server>"), err)
			}
			return c.Show(noun.Fields{Absent: key == "console", Columns: []noun.Column{{Title: "protocol"}, {Title: "type"}, {Title: "url"}}}.Fields(c, o.Object(key)))
		},
	}
}
