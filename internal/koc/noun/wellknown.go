package noun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// The kinds of things that commands of more than one service refer to. Their own
// services declare their commands on them.

// Project is a project of the identity service.
func Project() Noun {
	return Noun{Name: "project", Service: "identity", Path: "/projects", Key: "project", Patch: true}
}

// User is a user of the identity service.
func User() Noun {
	return Noun{Name: "user", Service: "identity", Path: "/users", Key: "user", Patch: true}
}

// Group is a group of the identity service.
func Group() Noun {
	return Noun{Name: "group", Service: "identity", Path: "/groups", Key: "group", Patch: true}
}

// Role is a role of the identity service.
func Role() Noun {
	return Noun{Name: "role", Service: "identity", Path: "/roles", Key: "role", Patch: true}
}

// Domain is a domain of the identity service; the id of one may be any text.
func Domain() Noun {
	return Noun{Name: "domain", Service: "identity", Path: "/domains", Key: "domain", Patch: true, AnyID: true}
}

// Server is a server of the compute service, found by name in the project of the
// token alone.
func Server() Noun {
	return Noun{Name: "server", Service: "compute", Path: "/servers", Key: "server"}
}

// Flavor is a flavor of the compute service; the id of one may be any text.
func Flavor() Noun {
	return Noun{
		Name: "flavor", Service: "compute", Path: "/flavors", Key: "flavor", AnyID: true, ByName: "-",
		Search: url.Values{"is_public": {"none"}},
	}
}

// Image is an image of the image service, which answers without envelopes.
func Image() Noun {
	return Noun{Name: "image", Service: "image", Path: "/images", Key: "-", Keys: "images", Patch: true}
}

// Network is a network of the network service.
func Network() Noun {
	return Noun{Name: "network", Service: "network", Path: "/networks", Key: "network"}
}

// Subnet is a subnet of the network service.
func Subnet() Noun {
	return Noun{Name: "subnet", Service: "network", Path: "/subnets", Key: "subnet"}
}

// Port is a port of the network service.
func Port() Noun {
	return Noun{Name: "port", Service: "network", Path: "/ports", Key: "port"}
}

// Router is a router of the network service.
func Router() Noun {
	return Noun{Name: "router", Service: "network", Path: "/routers", Key: "router"}
}

// SecurityGroup is a security group of the network service.
func SecurityGroup() Noun {
	return Noun{Name: "security group", Service: "network", Path: "/security-groups", Key: "security_group"}
}

// FloatingIP is a floating address of the network service: its name is the address.
func FloatingIP() Noun {
	return Noun{
		Name: "floating ip", Service: "network", Path: "/floatingips", Key: "floatingip",
		Label: "floating_ip_address", ByName: "floating_ip_address",
	}
}

// Volume is a volume of the block storage service.
func Volume() Noun {
	return Noun{Name: "volume", Service: "volume", Path: "/volumes", Key: "volume", Search: url.Values{"all_tenants": {"1"}}}
}

// Snapshot is a volume snapshot of the block storage service.
func Snapshot() Noun {
	return Noun{Name: "snapshot", Service: "volume", Path: "/snapshots", Key: "snapshot", Search: url.Values{"all_tenants": {"1"}}}
}

// VolumeType is a volume type of the block storage service.
func VolumeType() Noun {
	return Noun{Name: "volume type", Service: "volume", Path: "/types", Key: "volume_type", ByName: "-", Search: url.Values{"is_public": {"None"}}}
}

// In resolves a reference to a thing that belongs to a domain, such as a project,
// given the reference to the domain, which may be empty. Who may not look things
// up can still refer to what the own token names, and to ids.
func (n Noun) In(ctx context.Context, c *command.Call, ref, domain string) (string, error) {
	o, err := n.FindIn(ctx, c, ref, domain)
	return o.Text("id"), err
}

// FindIn is In for the whole thing. What may not be looked up has its id alone.
func (n Noun) FindIn(ctx context.Context, c *command.Call, ref, domain string) (Object, error) {
	q := url.Values{}
	if domain != "" {
		id, err := Domain().In(ctx, c, domain, "")
		if err != nil {
			return nil, err
		}
		q.Set("domain_id", id)
	}
	o, err := n.Find(ctx, c, ref, q)
	var fault *cloud.Fault
	if err == nil || !errors.As(err, &fault) || fault.Status != http.StatusForbidden {
		return o, err
	}
	if LooksLikeID(ref) {
		return Object{{Name: "id", Value: ref}}, nil
	}
	token, tokenErr := c.Cloud.Token(ctx)
	if tokenErr != nil {
		return nil, tokenErr
	}
	own := map[string][2]string{"project": {token.ProjectName, token.ProjectID}, "user": {token.UserName, token.UserID}}[n.Name]
	if own[0] == ref && own[1] != "" {
		return Object{{Name: "id", Value: own[1]}, {Name: "name", Value: ref}}, nil
	}
	return nil, fmt.Errorf("%w: you may not look for a %s by its name: give the id", err, n.Name)
}

// ProjectFlags are --project and --project-domain.
func ProjectFlags(help string) []command.Flag {
	return []command.Flag{
		{Name: "project", Value: "<project>", Help: help, Complete: "project"},
		ProjectDomainFlag(),
	}
}

// ProjectDomainFlag is --project-domain.
func ProjectDomainFlag() command.Flag {
	return command.Flag{Name: "project-domain", Value: "<project-domain>", Help: "Domain of the project, by name or id, when its name is not unique", Complete: "domain"}
}

// ProjectID is the id of the project that --project and --project-domain name, ""
// when --project was not given.
func ProjectID(ctx context.Context, c *command.Call) (string, error) {
	if c.Text("project") == "" {
		return "", nil
	}
	return Project().In(ctx, c, c.Text("project"), c.Text("project-domain"))
}

// ToProject is [Field.To] for --project.
func ToProject(ctx context.Context, c *command.Call, _ string) (any, error) {
	return ProjectID(ctx, c)
}

// To makes [Field.To] of a flag whose value refers to a thing of the noun.
func (n Noun) To(ctx context.Context, c *command.Call, flag string) (any, error) {
	return n.Resolve(ctx, c, c.Text(flag))
}

// ToAll is To for a flag that repeats.
func (n Noun) ToAll(ctx context.Context, c *command.Call, flag string) (any, error) {
	ids, err := n.ResolveAll(ctx, c, c.Texts(flag))
	return texts(ids), err
}
