package network

import (
	"context"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// onboardCommands is that of python-neutronclient which moves subnets into a pool.
func onboardCommands() []command.Entry {
	return []command.Entry{{Name: "network onboard subnets", Build: func() command.Command {
		return command.Command{
			Short: "Move the subnets of a network into a subnet pool",
			Args: []command.Arg{
				{Name: "<network>", Help: "The network whose subnets to move, by name or id", Complete: "network"},
				{Name: "<subnetpool>", Help: "The subnet pool to move them into, by name or id", Complete: "subnet pool"},
			},
			Run: func(ctx context.Context, c *command.Call) error {
				network, err := networks().Resolve(ctx, c, c.Text("<network>"))
				if err != nil {
					return err
				}
				pool, err := subnetPools().Resolve(ctx, c, c.Text("<subnetpool>"))
				if err != nil {
					return err
				}
				return subnetPools().Do(ctx, c, cloud.Request{
					Method: "PUT", Path: "/subnetpools/" + url.PathEscape(pool) + "/onboard_network_subnets",
					Body: noun.Object{{Name: "network_id", Value: network}},
				})
			},
		}
	}}}
}
