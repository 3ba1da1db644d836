package compute

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// bootedFromVolume stands for the image of a server that has none.
const bootedFromVolume = "N/A (booted from volume)"

func serverShow() command.Command {
	return command.Command{
		Short:  "Show a server",
		Args:   []command.Arg{serverArg("show")},
		Output: command.Shown,
		Flags: []command.Flag{
			{Name: "diagnostics", Help: "Show what its hypervisor measures instead"},
			{Name: "topology", Help: "Also show its NUMA topology (microversion 2.78)"},
			{Name: "user-data", Koc: true, Help: "Print its user data instead, decoded"},
		},
		Exclusive: []string{"diagnostics topology user-data"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			if err := s.needsGiven("2.78", "topology"); err != nil {
				return err
			}
			if err := s.needsGiven("2.3", "user-data"); err != nil {
				return err
			}
			ref := c.Text("<server>")
			if c.Is("diagnostics") {
				return s.diagnostics(ctx, ref)
			}
			o, err := s.full(ctx, ref)
			if err != nil {
				return err
			}
			if c.Is("user-data") {
				return printUserData(c, o)
			}
			if c.Is("topology") {
				topology, err := s.ask(ctx, cloud.Request{Path: serverPath(o.Text("id"), "topology")})
				if err != nil {
					return err
				}
				o.Set("topology", render.Ordered(topology))
			}
			return c.Show(s.fields(ctx, o))
		},
	}
}

func (s *servers) diagnostics(ctx context.Context, ref string) error {
	id, err := s.id(ctx, ref)
	if err != nil {
		return err
	}
	o, err := s.ask(ctx, cloud.Request{Path: serverPath(id, "diagnostics")})
	if err != nil {
		return err
	}
	return s.c.Show(noun.Fields{Rest: true, Sort: true}.Fields(s.c, o))
}

func printUserData(c *command.Call, o noun.Object) error {
	data := o.Text("OS-EXT-SRV-ATTR:user_data")
	if data == "" {
		return errors.New("server has no user_data")
	}
	if plain, err := base64.StdEncoding.DecodeString(data); err == nil {
		data = string(plain)
	}
	c.Printf("%s", data)
	return nil
}

// fields are what is shown of a server: all that Nova says, under the names that
// the openstack client gives it.
func (s *servers) fields(ctx context.Context, o noun.Object) []render.Field {
	image, flavor := s.names(ctx, o)
	out := make([]render.Field, 0, len(o)+1)
	for _, f := range o {
		switch f.Name {
		case "links":
			continue
		case "image":
			f.Value = image
		case "flavor":
			f.Value = flavor
		case "addresses":
			f.Value = networksCell(s.c, f.Value)
		case "metadata":
			f.Name, f.Value = "properties", render.DictCell(f.Value)
		case "tenant_id":
			f.Name = "project_id"
		case "tags":
			f.Value = render.ListCell(f.Value)
		case "fault":
			if f.Value = s.quoting(f.Value); !s.c.Compat() {
				f.Value = readable(f.Value)
			}
		case "topology":
			f.Value = render.DictCell(f.Value)
		case "security_groups":
			f.Value = render.ListDictCell(f.Value)
		case "os-extended-volumes:volumes_attached":
			f.Name, f.Value = "volumes_attached", render.ListDictCell(f.Value)
		case "OS-EXT-STS:power_state":
			f.Value = powerCell(f.Value)
		default:
			if !s.c.Compat() {
				f.Value = readable(f.Value)
			}
		}
		out = append(out, f)
	}
	if _, has := o.Lookup("image"); !has {
		out = append(out, render.Field{Name: "image", Value: bootedFromVolume})
	}
	slices.SortStableFunc(out, compareFields)
	return out
}

// quoting is a fault without the secrets that its message may quote.
func (s *servers) quoting(v any) any {
	fault, ok := v.(render.Ordered)
	if !ok {
		return v
	}
	quiet := slices.Clone(fault)
	for i := range quiet {
		if text, ok := quiet[i].Value.(string); ok {
			quiet[i].Value = s.c.Cloud.Mask(text)
		}
	}
	return quiet
}

// readable gives dictionaries and lists a form for people.
func readable(v any) any {
	switch t := v.(type) {
	case render.Ordered:
		return render.DictCell(t)
	case []any:
		if len(t) == 0 {
			return render.TextCell("[]", t)
		}
		if _, objects := t[0].(render.Ordered); objects {
			return render.ListDictCell(t)
		}
		return render.ListCell(t)
	}
	return v
}

// names are the cells of image and flavor: of one that is only referred to, the
// name is looked up.
func (s *servers) names(ctx context.Context, o noun.Object) (image, flavor any) {
	var group sync.WaitGroup
	image, flavor = bootedFromVolume, render.DictCell(s.flavorOf(o))
	if inner := o.Object("image"); len(inner) > 0 {
		image = inner.Text("id")
		if s.shows("image") {
			group.Go(func() { image = named(inner.Text("id"), s.name(ctx, "image", "/images/", "", inner.Text("id"))) })
		}
	}
	if id := o.Text("flavor.id"); id != "" {
		flavor = id
		if s.shows("flavor") {
			group.Go(func() { flavor = named(id, s.name(ctx, "compute", "/flavors/", "flavor", id)) })
		}
	}
	group.Wait()
	return image, flavor
}

// flavorOf is the flavor that is part of a server; ours says nothing of extra
// specs that there are none of.
func (s *servers) flavorOf(o noun.Object) any {
	flavor := o.Object("flavor")
	if s.c.Compat() || len(flavor.Object("extra_specs")) > 0 {
		return o.Get("flavor")
	}
	return slices.DeleteFunc(slices.Clone(render.Ordered(flavor)), func(f render.Field) bool { return f.Name == "extra_specs" })
}

func (s *servers) shows(field string) bool {
	return s.c.Output.Wants(render.Column{Title: field})
}

// name looks a name up; without one the id has to do.
func (s *servers) name(ctx context.Context, service, path, key, id string) string {
	other := s.Service
	if service != "compute" {
		var err error
		if other, err = s.c.Cloud.Service(ctx, service); err != nil {
			return ""
		}
	}
	var o noun.Object
	if err := other.Do(ctx, cloud.Request{Path: path + id, Into: &o}); err != nil {
		return ""
	}
	if key != "" {
		o = o.Object(key)
	}
	return o.Text("name")
}

func named(id, name string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", name, id)
}

// powerCell is the state of the power: a number to programs, a word to people.
func powerCell(v any) render.Cell {
	n, ok := v.(int64)
	if !ok || n < 0 || n > 7 {
		return render.TextCell("N/A", v)
	}
	words := [...]string{"NOSTATE", "Running", "", "Paused", "Shutdown", "", "Crashed", "Suspended"}
	return render.TextCell(words[n], v)
}

// networksCell shows the addresses of each network. Ours are in the order of the
// service, those of the openstack client are sorted.
func networksCell(c *command.Call, v any) any {
	addresses, _ := v.(render.Ordered)
	if !c.Compat() {
		return joinNetworks(addresses)
	}
	networks := make(render.Ordered, 0, len(addresses))
	for _, n := range addresses {
		list, _ := n.Value.([]any)
		addrs := make([]string, 0, len(list))
		for _, a := range list {
			if inner, ok := a.(render.Ordered); ok {
				addrs = append(addrs, noun.Object(inner).Text("addr"))
			}
		}
		networks = append(networks, render.Field{Name: n.Name, Value: addrs})
	}
	if len(networks) > 1 {
		slices.SortStableFunc(networks, compareFields)
	}
	return render.DictListCell(networks)
}

// joinNetworks is the text of the addresses: net=ip, ip; net2=ip.
func joinNetworks(networks render.Ordered) string {
	if len(networks) > 1 && !slices.IsSortedFunc(networks, compareFields) {
		networks = slices.SortedStableFunc(slices.Values(networks), compareFields)
	}
	b := make([]byte, 0, 96)
	for i, n := range networks {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(append(b, n.Name...), '=')
		list, _ := n.Value.([]any)
		for j, item := range list {
			if j > 0 {
				b = append(b, ", "...)
			}
			inner, _ := item.(render.Ordered)
			b = append(b, noun.Object(inner).Text("addr")...)
		}
	}
	return string(b)
}

func compareFields(a, b render.Field) int { return strings.Compare(a.Name, b.Name) }
