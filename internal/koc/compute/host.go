package compute

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// hostCommands are those of the API of hosts, which ends with microversion 2.42:
// it is asked for without one.
func hostCommands() []command.Entry {
	return []command.Entry{
		{Name: "host list", Build: hostList},
		{Name: "host set", Build: hostSet},
		{Name: "host show", Build: hostShow},
		{Name: "compute host drain", Build: hostDrain},
		{Name: "compute host evacuate", Build: hostEvacuate},
	}
}

func openHosts(ctx context.Context, c *command.Call) (*servers, error) {
	s, err := openServers(ctx, c, "")
	if err == nil {
		s.Service = s.At("2.1")
	}
	return s, err
}

func hostList() command.Command {
	return command.Command{
		Short:  "List the hosts of compute services",
		Flags:  []command.Flag{{Name: "zone", Value: "<zone>", Help: "Those of this availability zone"}},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openHosts(ctx, c)
			if err != nil {
				return err
			}
			q := url.Values{}
			if zone := c.Text("zone"); zone != "" {
				q.Set("zone", zone)
			}
			columns := []noun.Column{{Title: "Host Name", Attr: "host_name"}, {Title: "Service", Attr: "service"}, {Title: "Zone", Attr: "zone"}}
			return noun.PrintList(c, columns, noun.Pages(ctx, s.Service, "/os-hosts", q, "hosts", 0, nil))
		},
	}
}

func hostSet() command.Command {
	return command.Command{
		Short: "Change a host",
		Args:  []command.Arg{{Name: "<host>", Help: "The host to change", Complete: "host"}},
		Flags: []command.Flag{
			{Name: "enable", Help: "Let new servers go to the host"},
			{Name: "disable", Help: "Let no new server go to the host"},
			{Name: "enable-maintenance", Help: "Begin the maintenance of the host"},
			{Name: "disable-maintenance", Help: "End the maintenance of the host"},
		},
		Exclusive: []string{"enable disable", "enable-maintenance disable-maintenance"},
		Run: func(ctx context.Context, c *command.Call) error {
			var body noun.Object
			for _, f := range [...]struct{ flag, attr, value string }{
				{"enable", "status", "enable"},
				{"disable", "status", "disable"},
				{"enable-maintenance", "maintenance_mode", "enable"},
				{"disable-maintenance", "maintenance_mode", "disable"},
			} {
				if c.Is(f.flag) {
					body.Set(f.attr, f.value)
				}
			}
			if len(body) == 0 {
				return nil
			}
			s, err := openHosts(ctx, c)
			if err != nil {
				return err
			}
			return s.tell(ctx, http.MethodPut, "/os-hosts/"+url.PathEscape(c.Text("<host>")), body)
		},
	}
}

func hostShow() command.Command {
	return command.Command{
		Short:  "Show what is used of a host, in all and by each project",
		Args:   []command.Arg{{Name: "<host>", Help: "The host to show", Complete: "host"}},
		Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openHosts(ctx, c)
			if err != nil {
				return err
			}
			columns := []noun.Column{
				{Title: "Host", Attr: "resource.host"},
				{Title: "Project", Attr: "resource.project"},
				{Title: "CPU", Attr: "resource.cpu"},
				{Title: "Memory MB", Attr: "resource.memory_mb"},
				{Title: "Disk GB", Attr: "resource.disk_gb"},
			}
			return noun.PrintList(c, columns, noun.Pages(ctx, s.Service, "/os-hosts/"+url.PathEscape(c.Text("<host>")), nil, "host", 0, nil))
		},
	}
}
