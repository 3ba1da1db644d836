package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serviceCommands() []command.Entry {
	return []command.Entry{
		{Name: "compute service delete", Build: serviceDelete},
		{Name: "compute service list", Build: serviceList},
		{Name: "compute service set", Build: serviceSet},
	}
}

func service() noun.Noun {
	return noun.Noun{Name: "compute service", Service: "compute", Path: "/os-services", Key: "service", Label: "host", Negotiated: "2.69"}
}

func serviceDelete() command.Command {
	return command.Command{
		Short: "Delete compute services",
		Long:  "A service that is deleted comes back when its process starts again. Move the servers of a compute host away first.",
		Args:  []command.Arg{{Name: "<service>", Help: "The services to delete, by id", Many: true}},
		Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return command.Each(ctx, c, "compute service", "delete", c.Texts("<service>"), func(ctx context.Context, ref string) error {
				return service().Do(ctx, c, cloud.Request{Method: http.MethodDelete, Path: "/os-services/" + url.PathEscape(ref)})
			})
		},
	}
}

func serviceList() command.Command {
	return service().List(noun.Listing{
		Short: "List the services that make up the compute service",
		Filters: []noun.Field{
			noun.String("host", "<host>", "host", "Those of this host"),
			noun.String("service", "<service>", "binary", "Those of this kind, such as nova-compute"),
		},
		Flags: []command.Flag{
			{Name: "status", Value: "<status>", Choices: []string{"enabled", "disabled"}, Koc: true, Help: "Those that are enabled, or disabled"},
		},
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Binary", Attr: "binary"},
			{Title: "Host", Attr: "host"},
			{Title: "Zone", Attr: "zone"},
			{Title: "Status", Attr: "status"},
			{Title: "State", Attr: "state"},
			{Title: "Updated At", Attr: "updated_at", Cell: render.StampCell},
			{Title: "Admin State", Attr: "admin_state", Long: true, IfSet: true, Own: true},
			{Title: "Error Details", Attr: "error_details", Long: true, IfSet: true, Own: true},
			{Title: "Disabled Reason", Attr: "disabled_reason", Long: true},
			{Title: "Forced Down", Attr: "forced_down", Long: true},
		},
		Prepare: func(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
			s, err := openServers(ctx, c, "2.69")
			if err != nil || s.atLeast("2.11") {
				return nil, err
			}
			return withoutColumn(columns, "Forced Down"), nil
		},
		Keep: func(c *command.Call, o noun.Object) bool {
			return !c.Given("status") || o.Text("status") == c.Text("status")
		},
		KeepNeeds: []string{"status"},
	})()
}

func withoutColumn(columns []noun.Column, title string) []noun.Column {
	kept := make([]noun.Column, 0, len(columns))
	for i := range columns {
		if columns[i].Title != title {
			kept = append(kept, columns[i])
		}
	}
	return kept
}

// findService returns the service of a kind on a host.
func (s *servers) findService(ctx context.Context, host, binary string) (noun.Object, error) {
	var found []noun.Object
	q := url.Values{"host": {host}, "binary": {binary}}
	for o, err := range noun.Pages(ctx, s.Service, "/os-services", q, "services", 0, nil) {
		if err != nil {
			return nil, err
		}
		if o.Text("host") == host && o.Text("binary") == binary {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("host %q has no service %q: see 'compute service list'", host, binary)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("host %q has %d services %q: delete those that are left over by their ids", host, len(found), binary)
}

func adminStates() []string {
	return []string{"Active", "EnteringMaintenanceMode", "MaintenanceMode", "Fenced", "Error", "Unstable"}
}

func serviceSet() command.Command {
	return command.Command{
		Short: "Change a compute service",
		Args: []command.Arg{
			{Name: "<host>", Help: "The host it is on"},
			{Name: "<service>", Help: "Its kind, such as nova-compute"},
		},
		Flags: []command.Flag{
			{Name: "enable", Help: "Let new servers go to the host"},
			{Name: "disable", Help: "Let no new server go to the host"},
			{Name: "disable-reason", Value: "<reason>", Help: "Why it is disabled; needs --disable"},
			{Name: "up", Help: "Take back that the service was forced down (microversion 2.11)"},
			{Name: "down", Help: "Force the service down, so that its servers can be evacuated (microversion 2.11)"},
			{Name: "admin-state", Value: "<state>", Choices: adminStates(), Fold: true, Koc: true, Help: "State of the host for KeyStack: " + strings.Join(adminStates(), ", ")},
			{Name: "error-details", Value: "<text>", Koc: true, Help: "What is wrong, beside --admin-state"},
			{Name: "status", Value: "<status>", Choices: []string{"enabled", "disabled"}, Koc: true, Help: "Whether new servers may go to the host, beside --admin-state"},
			{Name: "reason", Value: "<reason>", Koc: true, Help: "Why it is disabled, beside --admin-state"},
		},
		Exclusive: []string{"enable disable", "up down"},
		Run: func(ctx context.Context, c *command.Call) error {
			if err := serviceFlags(c); err != nil {
				return err
			}
			s, err := openServers(ctx, c, "2.69")
			if err != nil {
				return err
			}
			for _, flag := range [...]string{"up", "down"} {
				if err := s.needsGiven("2.11", flag); err != nil {
					return err
				}
			}
			if c.Given("admin-state") {
				if err := s.needs("2.53", "--admin-state"); err != nil {
					return err
				}
			}
			host, binary := c.Text("<host>"), c.Text("<service>")
			if !s.atLeast("2.53") {
				return s.changeService(ctx, host, binary)
			}
			o, err := s.findService(ctx, host, binary)
			if err != nil {
				return err
			}
			body := serviceChange(c)
			if len(body) == 0 {
				return nil
			}
			err = s.tell(ctx, http.MethodPut, "/os-services/"+url.PathEscape(o.Text("id")), body)
			if c.Given("admin-state") {
				err = keystack(err, "service admin state")
			}
			return err
		},
	}
}

// serviceFlags checks what flags mean together.
func serviceFlags(c *command.Call) error {
	if c.Given("disable-reason") && !c.Is("disable") {
		err := errors.New("--disable-reason needs --disable")
		if c.Compat() {
			return err
		}
		return command.Reject("%v", err)
	}
	for _, flag := range [...]string{"enable", "disable", "up", "down"} {
		if c.Given("admin-state") && c.Is(flag) {
			return command.Reject("--admin-state and --%s exclude each other", flag)
		}
	}
	for _, flag := range [...]string{"error-details", "status", "reason"} {
		if c.Given(flag) && !c.Given("admin-state") {
			return command.Reject("--%s needs --admin-state", flag)
		}
	}
	return nil
}

// serviceChange is the body of the change, all of it in one.
func serviceChange(c *command.Call) noun.Object {
	var body noun.Object
	if c.Given("admin-state") {
		return object(
			"admin_state", c.Text("admin-state"), "error_details", givenText(c, "error-details"),
			"status", givenText(c, "status"), "disabled_reason", givenText(c, "reason"),
		)
	}
	switch {
	case c.Is("enable"):
		body.Set("status", "enabled")
	case c.Is("disable"):
		body.Set("status", "disabled")
		if reason := c.Text("disable-reason"); reason != "" {
			body.Set("disabled_reason", reason)
		}
	}
	if c.Is("up") || c.Is("down") {
		body.Set("forced_down", c.Is("down"))
	}
	return body
}

// changeService changes a service as before microversion 2.53, where host and
// kind name it.
func (s *servers) changeService(ctx context.Context, host, binary string) error {
	put := func(action, name string, value any) error {
		return s.tell(ctx, http.MethodPut, "/os-services/"+action, object("host", host, "binary", binary, name, value))
	}
	c := s.c
	switch {
	case c.Is("enable"):
		if err := put("enable", "", nil); err != nil {
			return err
		}
	case c.Is("disable") && c.Text("disable-reason") != "":
		if err := put("disable-log-reason", "disabled_reason", c.Text("disable-reason")); err != nil {
			return err
		}
	case c.Is("disable"):
		if err := put("disable", "", nil); err != nil {
			return err
		}
	}
	if c.Is("up") || c.Is("down") {
		return put("force-down", "forced_down", c.Is("down"))
	}
	return nil
}
