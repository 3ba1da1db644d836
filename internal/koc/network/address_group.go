package network

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func addressGroupCommands() []command.Entry {
	n := addressGroups()
	shown := fields(asIs("addresses", "description", "id", "name", "project_id")...)
	addressFlag := func(help string) command.Flag {
		return command.Flag{Name: "address", Value: "<ip-address>", Repeat: true, Help: help + ", alone or with the length of a prefix"}
	}
	// The addresses are checked before anything is written.
	check := func(_ context.Context, c *command.Call, _ *noun.Object, _ noun.Object) error {
		_, err := toAddresses(c)
		return err
	}
	change := func(verb string) func(context.Context, *command.Call, noun.Object) (noun.Object, error) {
		return func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
			addresses, err := toAddresses(c)
			if err != nil || len(addresses) == 0 {
				return o, err
			}
			body := noun.Object{{Name: "addresses", Value: addresses}}
			return o, n.Do(ctx, c, cloud.Request{Method: "PUT", Path: n.Path + "/" + url.PathEscape(o.Text("id")) + "/" + verb, Body: body})
		}
	}
	return []command.Entry{
		{Name: "address group create", Build: n.Create(extra(noun.Writing{
			Short: "Create an address group",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new address group"}}, NameArg: "<name>",
			Fields: slices.Concat([]noun.Field{description("new address group")}, noun.InProject("Project that owns the address group")),
			Flags:  []command.Flag{addressFlag("Address in the group")},
			Body: func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
				addresses, err := toAddresses(c)
				body.Set("addresses", addresses)
				return err
			},
			Shown: shown,
		}))},
		{Name: "address group delete", Build: n.Delete(noun.Deleting{
			Short: "Delete address groups",
			Arg:   command.Arg{Name: "<address-group>", Help: "Address groups to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "address group list", Build: n.List(noun.Listing{
			Short:   "List address groups",
			Filters: append([]noun.Field{nameFilter("address groups")}, noun.InProject("Only address groups of this project")...),
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Description", Attr: "description"},
				{Title: "Project", Attr: "project_id"},
				{Title: "Addresses", Attr: "addresses"},
			},
		})},
		{Name: "address group set", Build: n.Set(extra(noun.Writing{
			Short: "Change an address group",
			Args:  []command.Arg{n.Ref("<address-group>", "change")}, RefArg: "<address-group>",
			Fields: []noun.Field{noun.String("name", "<name>", "name", "Rename the address group"), description("address group")},
			Flags:  []command.Flag{addressFlag("Add this address to the group")},
			Body:   check, Then: change("add_addresses"),
		}))},
		{Name: "address group show", Build: n.Show(noun.Showing{
			Short: "Show an address group", Arg: n.Ref("<address-group>", "show"), Fields: shown,
		})},
		{Name: "address group unset", Build: n.Set(noun.Writing{
			Short: "Take addresses out of an address group",
			Args:  []command.Arg{n.Ref("<address-group>", "change")}, RefArg: "<address-group>",
			Flags: []command.Flag{addressFlag("Take this address out of the group")},
			Body:  check, Then: change("remove_addresses"),
		})},
	}
}

// toAddresses are the values of --address, each with the length of its prefix.
func toAddresses(c *command.Call) ([]any, error) {
	all := []any{}
	for _, text := range c.Texts("address") {
		prefix, ok := toPrefix(text)
		if !ok {
			return nil, command.Reject("--address %s: give an IP address, or one with a prefix such as 192.0.2.0/24", text)
		}
		all = append(all, prefix.String())
	}
	return all, nil
}

// toPrefix reads an address with or without the length of a prefix, which may be
// a mask such as 255.255.255.0.
func toPrefix(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), address.Zone() == ""
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix, true
	}
	host, mask, _ := strings.Cut(text, "/")
	address, err := netip.ParseAddr(host)
	bits := net.ParseIP(mask).To4()
	if err != nil || !address.Is4() || bits == nil {
		return netip.Prefix{}, false
	}
	length, size := net.IPMask(bits).Size()
	return netip.PrefixFrom(address, length), size == 32
}
