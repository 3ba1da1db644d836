package compute

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// agentCommands are about the builds of guest agents, which only XenServer had:
// a cloud of today answers that they are gone.
func agentCommands() []command.Entry {
	return []command.Entry{
		{Name: "compute agent create", Build: agentCreate},
		{Name: "compute agent delete", Build: agentDelete},
		{Name: "compute agent list", Build: agentList},
		{Name: "compute agent set", Build: agentSet},
	}
}

func agent() noun.Noun {
	return noun.Noun{Name: "agent", Service: "compute", Path: "/os-agents", Key: "agent", ID: "agent_id", Label: "-"}
}

func agentCreate() command.Command {
	return command.Command{
		Short: "Register a build of the guest agent",
		Args: []command.Arg{
			{Name: "<os>", Help: "Operating system of the guests"},
			{Name: "<architecture>", Help: "Architecture of the guests"},
			{Name: "<version>", Help: "Version of the agent"},
			{Name: "<url>", Help: "Where the agent is"},
			{Name: "<md5hash>", Help: "MD5 sum of the agent"},
			{Name: "<hypervisor>", Help: "Type of the hypervisor"},
		},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			n := agent()
			o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: n.Wrap(object(
				"hypervisor", c.Text("<hypervisor>"), "os", c.Text("<os>"), "architecture", c.Text("<architecture>"),
				"version", c.Text("<version>"), "url", c.Text("<url>"), "md5hash", c.Text("<md5hash>"),
			))})
			if err != nil {
				return err
			}
			return c.Show(noun.Fields{Rest: true, Sort: true}.Fields(c, o))
		},
	}
}

func agentDelete() command.Command {
	return command.Command{
		Short: "Remove builds of the guest agent",
		Args:  []command.Arg{{Name: "<id>", Help: "The builds to remove, by id", Many: true}},
		Flags: []command.Flag{command.Parallel()},
		Run: func(ctx context.Context, c *command.Call) error {
			return command.Each(ctx, c, "agent", "delete", c.Texts("<id>"), func(ctx context.Context, ref string) error {
				return agent().Do(ctx, c, cloud.Request{Method: http.MethodDelete, Path: "/os-agents/" + url.PathEscape(ref)})
			})
		},
	}
}

func agentList() command.Command {
	return agent().List(noun.Listing{
		Short:   "List the builds of the guest agent",
		Filters: []noun.Field{noun.String("hypervisor", "<hypervisor>", "", "Type of the hypervisor")},
		Columns: []noun.Column{
			{Title: "Agent ID", Attr: "agent_id"},
			{Title: "Hypervisor", Attr: "hypervisor"},
			{Title: "OS", Attr: "os"},
			{Title: "Architecture", Attr: "architecture"},
			{Title: "Version", Attr: "version"},
			{Title: "Md5Hash", Attr: "md5hash"},
			{Title: "URL", Attr: "url"},
		},
	})()
}

func agentSet() command.Command {
	return command.Command{
		Short: "Change a build of the guest agent",
		Args:  []command.Arg{{Name: "<id>", Help: "The build to change, by id"}},
		Flags: []command.Flag{
			{Name: "agent-version", Value: "<version>", Help: "Version of the agent"},
			{Name: "url", Value: "<url>", Help: "Where the agent is"},
			{Name: "md5hash", Value: "<md5hash>", Help: "MD5 sum of the agent"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			ref := c.Text("<id>")
			for o, err := range agent().All(ctx, c, nil) {
				if err != nil {
					return err
				}
				if o.Text("agent_id") != ref {
					continue
				}
				// All three are written: the service takes nothing less.
				body := object("url", o.Text("url"), "md5hash", o.Text("md5hash"), "version", o.Text("version"))
				for flag, attr := range map[string]string{"agent-version": "version", "url": "url", "md5hash": "md5hash"} {
					if text := c.Text(flag); text != "" {
						body.Set(attr, text)
					}
				}
				return agent().Do(ctx, c, cloud.Request{Method: http.MethodPut, Path: "/os-agents/" + url.PathEscape(ref), Body: object("para", body)})
			}
			return fmt.Errorf("find the agent: %w", &noun.NotFound{Noun: "agent", Ref: ref})
		},
	}
}
