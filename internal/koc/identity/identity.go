// Package identity has the commands of the identity service, Keystone.
package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// Commands are all commands of the service.
func Commands() []command.Entry {
	return []command.Entry{
		{Name: "access rule delete", Build: accessRuleDelete},
		{Name: "access rule list", Build: accessRuleList},
		{Name: "access rule show", Build: accessRuleShow},
		{Name: "access token create", Build: accessTokenCreate},
		{Name: "application credential create", Build: appCredCreate},
		{Name: "application credential delete", Build: appCredDelete},
		{Name: "application credential list", Build: appCredList},
		{Name: "application credential show", Build: appCredShow},
		{Name: "catalog list", Build: catalogList},
		{Name: "catalog show", Build: catalogShow},
		{Name: "consumer create", Build: consumerCreate},
		{Name: "consumer delete", Build: consumerDelete},
		{Name: "consumer list", Build: consumerList},
		{Name: "consumer set", Build: consumerSet},
		{Name: "consumer show", Build: consumerShow},
		{Name: "credential create", Build: credentialCreate},
		{Name: "credential delete", Build: credentialDelete},
		{Name: "credential list", Build: credentialList},
		{Name: "credential set", Build: credentialSet},
		{Name: "credential show", Build: credentialShow},
		{Name: "domain create", Build: domainCreate},
		{Name: "domain delete", Build: domainDelete},
		{Name: "domain list", Build: domainList},
		{Name: "domain set", Build: domainSet},
		{Name: "domain show", Build: domainShow},
		{Name: "ec2 credentials create", Build: ec2Create},
		{Name: "ec2 credentials delete", Build: ec2Delete},
		{Name: "ec2 credentials list", Build: ec2List},
		{Name: "ec2 credentials show", Build: ec2Show},
		{Name: "endpoint add project", Build: endpointAddProject},
		{Name: "endpoint create", Build: endpointCreate},
		{Name: "endpoint delete", Build: endpointDelete},
		{Name: "endpoint list", Build: endpointList},
		{Name: "endpoint remove project", Build: endpointRemoveProject},
		{Name: "endpoint set", Build: endpointSet},
		{Name: "endpoint show", Build: endpointShow},
		{Name: "endpoint group add project", Build: endpointGroupAddProject},
		{Name: "endpoint group create", Build: endpointGroupCreate},
		{Name: "endpoint group delete", Build: endpointGroupDelete},
		{Name: "endpoint group list", Build: endpointGroupList},
		{Name: "endpoint group remove project", Build: endpointGroupRemoveProject},
		{Name: "endpoint group set", Build: endpointGroupSet},
		{Name: "endpoint group show", Build: endpointGroupShow},
		{Name: "federation domain list", Build: federationDomainList},
		{Name: "federation project list", Build: federationProjectList},
		{Name: "federation protocol create", Build: protocolCreate},
		{Name: "federation protocol delete", Build: protocolDelete},
		{Name: "federation protocol list", Build: protocolList},
		{Name: "federation protocol set", Build: protocolSet},
		{Name: "federation protocol show", Build: protocolShow},
		{Name: "group add user", Build: groupAddUser},
		{Name: "group contains user", Build: groupContainsUser},
		{Name: "group create", Build: groupCreate},
		{Name: "group delete", Build: groupDelete},
		{Name: "group list", Build: groupList},
		{Name: "group remove user", Build: groupRemoveUser},
		{Name: "group set", Build: groupSet},
		{Name: "group show", Build: groupShow},
		{Name: "identity provider create", Build: providerCreate},
		{Name: "identity provider delete", Build: providerDelete},
		{Name: "identity provider list", Build: providerList},
		{Name: "identity provider set", Build: providerSet},
		{Name: "identity provider show", Build: providerShow},
		{Name: "implied role create", Build: impliedCreate},
		{Name: "implied role delete", Build: impliedDelete},
		{Name: "implied role list", Build: impliedList},
		{Name: "limit create", Build: limitCreate},
		{Name: "limit delete", Build: limitDelete},
		{Name: "limit list", Build: limitList},
		{Name: "limit set", Build: limitSet},
		{Name: "limit show", Build: limitShow},
		{Name: "mapping create", Build: mappingCreate},
		{Name: "mapping delete", Build: mappingDelete},
		{Name: "mapping list", Build: mappingList},
		{Name: "mapping set", Build: mappingSet},
		{Name: "mapping show", Build: mappingShow},
		{Name: "policy create", Build: policyCreate},
		{Name: "policy delete", Build: policyDelete},
		{Name: "policy list", Build: policyList},
		{Name: "policy set", Build: policySet},
		{Name: "policy show", Build: policyShow},
		{Name: "project create", Build: projectCreate},
		{Name: "project delete", Build: projectDelete},
		{Name: "project list", Build: projectList},
		{Name: "project set", Build: projectSet},
		{Name: "project show", Build: projectShow},
		{Name: "region create", Build: regionCreate},
		{Name: "region delete", Build: regionDelete},
		{Name: "region list", Build: regionList},
		{Name: "region set", Build: regionSet},
		{Name: "region show", Build: regionShow},
		{Name: "registered limit create", Build: registeredCreate},
		{Name: "registered limit delete", Build: registeredDelete},
		{Name: "registered limit list", Build: registeredList},
		{Name: "registered limit set", Build: registeredSet},
		{Name: "registered limit show", Build: registeredShow},
		{Name: "request token authorize", Build: requestTokenAuthorize},
		{Name: "request token create", Build: requestTokenCreate},
		{Name: "role add", Build: roleAdd},
		{Name: "role assignment list", Build: assignmentList},
		{Name: "role create", Build: roleCreate},
		{Name: "role delete", Build: roleDelete},
		{Name: "role list", Build: roleList},
		{Name: "role remove", Build: roleRemove},
		{Name: "role set", Build: roleSet},
		{Name: "role show", Build: roleShow},
		{Name: "service create", Build: serviceCreate},
		{Name: "service delete", Build: serviceDelete},
		{Name: "service list", Build: serviceList},
		{Name: "service set", Build: serviceSet},
		{Name: "service show", Build: serviceShow},
		{Name: "service provider create", Build: serviceProviderCreate},
		{Name: "service provider delete", Build: serviceProviderDelete},
		{Name: "service provider list", Build: serviceProviderList},
		{Name: "service provider set", Build: serviceProviderSet},
		{Name: "service provider show", Build: serviceProviderShow},
		{Name: "token issue", Build: tokenIssue},
		{Name: "token revoke", Build: tokenRevoke},
		{Name: "trust create", Build: trustCreate},
		{Name: "trust delete", Build: trustDelete},
		{Name: "trust list", Build: trustList},
		{Name: "trust show", Build: trustShow},
		{Name: "user create", Build: userCreate},
		{Name: "user delete", Build: userDelete},
		{Name: "user list", Build: userList},
		{Name: "user password set", Build: userPasswordSet},
		{Name: "user set", Build: userSet},
		{Name: "user show", Build: userShow},
	}
}

// thing is a noun of the service that is found by its id alone.
func thing(name, path, key, keys string) noun.Noun {
	return noun.Noun{Name: name, Service: "identity", Path: path, Key: key, Keys: keys, Label: "-", Patch: true}
}

// all shows what the service sends, without links, sorted.
func all() noun.Fields { return noun.Fields{Rest: true, Sort: true, Hide: []string{"links"}} }

// send sends a request to the service.
func send(ctx context.Context, c *command.Call, method, path string, body, into any) error {
	s, err := c.Cloud.Service(ctx, "identity")
	if err != nil {
		return err
	}
	return s.Do(ctx, cloud.Request{Method: method, Path: path, Body: body, Into: into})
}

// Flags that several nouns have.

func domainFlag(help string) command.Flag {
	return command.Flag{Name: "domain", Value: "<domain>", Help: help, Complete: "domain"}
}

func userDomainFlag() command.Flag {
	return command.Flag{Name: "user-domain", Value: "<user-domain>", Help: "Domain of the user, by name or id, when the name is not unique", Complete: "domain"}
}

func groupDomainFlag() command.Flag {
	return command.Flag{Name: "group-domain", Value: "<group-domain>", Help: "Domain of the group, by name or id, when the name is not unique", Complete: "domain"}
}

func immutableFlags() []noun.Field {
	return []noun.Field{
		noun.On("immutable", "options.immutable", true, "Protect it from deletion and change, until this is taken back"),
		noun.On("no-immutable", "options.immutable", false, "Allow its deletion and change"),
	}
}

func enableFlags(what string) []noun.Field {
	return []noun.Field{
		noun.On("enable", "enabled", true, "Enable the "+what),
		noun.On("disable", "enabled", false, "Disable the "+what),
	}
}

func orShow(what string) command.Flag {
	return command.Flag{Name: "or-show", Help: "Show the " + what + " of this name when there is one already, instead of an error"}
}

// inDomain narrows a search by name to the domain that --domain names.
func inDomain(ctx context.Context, c *command.Call, q url.Values) error {
	if c.Text("domain") == "" {
		return nil
	}
	id, err := noun.Domain().In(ctx, c, c.Text("domain"), "")
	if err == nil {
		q.Set("domain_id", id)
	}
	return err
}

// domainID is the id of the domain that --domain names.
func domainID(ctx context.Context, c *command.Call) (string, error) {
	return noun.Domain().In(ctx, c, c.Text("domain"), "")
}

// createOrShow creates a thing; when its name is taken and --or-show was given, it
// shows the one that has it.
func createOrShow(ctx context.Context, c *command.Call, n noun.Noun, body noun.Object, name string) error {
	o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: n.Wrap(body)})
	var fault *cloud.Fault
	if errors.As(err, &fault) && fault.Status == http.StatusConflict && c.Is("or-show") {
		q := url.Values{}
		if c.Declares("domain") {
			if err := inDomain(ctx, c, q); err != nil {
				return err
			}
		}
		o, err = n.Find(ctx, c, name, q)
	}
	if err != nil {
		return err
	}
	return c.Show(all().Fields(c, o))
}

// showOwn is a show command for what users refer to by name without the right to
// look for names: their own project, user, domain.
func showOwn(n noun.Noun, short, arg string, flags []command.Flag, domain func(*command.Call) string, also func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error)) command.Command {
	return command.Command{
		Short: short, Args: []command.Arg{n.Ref(arg, "show")}, Flags: flags, Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := n.FindIn(ctx, c, c.Text(arg), domain(c))
			if err != nil {
				return err
			}
			if len(o) <= 2 { // known by the token alone
				if o, err = n.Get(ctx, c, o.Text("id")); err != nil {
					return err
				}
			}
			if also != nil {
				if o, err = also(ctx, c, o); err != nil {
					return err
				}
			}
			return c.Show(all().Fields(c, o))
		},
	}
}

func theDomain(c *command.Call) string { return c.Text("domain") }
func noDomain(*command.Call) string    { return "" }
