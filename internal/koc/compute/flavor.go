package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func flavorCommands() []command.Entry {
	return []command.Entry{
		{Name: "flavor create", Build: flavorCreate},
		{Name: "flavor delete", Build: flavorDelete},
		{Name: "flavor list", Build: flavorList},
		{Name: "flavor set", Build: flavorSet},
		{Name: "flavor show", Build: flavorShow},
		{Name: "flavor unset", Build: flavorUnset},
	}
}

func flavor() noun.Noun {
	n := noun.Flavor()
	n.Negotiated = "2.61"
	return n
}

func flavorPath(id string, below ...string) string {
	parts := make([]string, 0, len(below)+2)
	parts = append(parts, "/flavors", url.PathEscape(id))
	for _, part := range below {
		parts = append(parts, url.PathEscape(part))
	}
	return strings.Join(parts, "/")
}

// fullFlavor returns a flavor with its properties, which only come with it from
// microversion 2.61 on.
func (s *servers) fullFlavor(ctx context.Context, ref string) (noun.Object, error) {
	n := flavor()
	o, err := n.Find(ctx, s.c, ref, nil)
	if err != nil {
		return nil, err
	}
	if _, whole := o.Lookup("ram"); !whole {
		if o, err = n.Get(ctx, s.c, o.Text("id")); err != nil {
			return nil, err
		}
	}
	specs, err := s.extraSpecs(ctx, o)
	o.Set("extra_specs", specs)
	return o, err
}

func (s *servers) extraSpecs(ctx context.Context, o noun.Object) (render.Ordered, error) {
	if _, known := o.Lookup("extra_specs"); known {
		return render.Ordered(o.Object("extra_specs")), nil
	}
	answer, err := s.ask(ctx, cloud.Request{Path: flavorPath(o.Text("id"), "os-extra_specs")})
	return render.Ordered(answer.Object("extra_specs")), err
}

// flavorFields are what is shown of a flavor. Who may use it is known of one that
// was looked at, not of one that was made.
func flavorFields(c *command.Call, o noun.Object, access bool) []render.Field {
	columns := []noun.Column{
		{Title: "OS-FLV-DISABLED:disabled"},
		{Title: "OS-FLV-EXT-DATA:ephemeral"},
		{Title: "access_project_ids"},
		{Title: "description"},
		{Title: "disk"},
		{Title: "id"},
		{Title: "name"},
		{Title: "os-flavor-access:is_public"},
		{Title: "properties", Attr: "extra_specs", Cell: dictCell},
		{Title: "ram"},
		{Title: "rxtx_factor"},
		{Title: "swap"},
		{Title: "vcpus"},
	}
	if !access {
		columns = slices.DeleteFunc(columns, func(col noun.Column) bool { return col.Title == "access_project_ids" })
	}
	return noun.Fields{Columns: columns}.Fields(c, o)
}

func flavorCreate() command.Command {
	return command.Command{
		Short: "Create a flavor",
		Args:  []command.Arg{{Name: "<flavor-name>", Help: "Name of the new flavor"}},
		Flags: append([]command.Flag{
			{Name: "id", Value: "<id>", Default: "auto", Help: "Its id; auto makes a UUID"},
			{Name: "ram", Value: "<size-mb>", Type: command.Int, Default: "256", Help: "Memory in MB"},
			{Name: "disk", Value: "<size-gb>", Type: command.Int, Default: "0", Help: "Size of the disk in GB; 0 is that of the image"},
			{Name: "ephemeral", Value: "<size-gb>", Type: command.Int, Default: "0", Help: "Size of the second disk in GB"},
			{Name: "swap", Value: "<size-mb>", Type: command.Int, Default: "0", Help: "Size of the swap disk in MB"},
			{Name: "vcpus", Value: "<vcpus>", Type: command.Int, Default: "1", Help: "Number of virtual processors"},
			{Name: "rxtx-factor", Value: "<factor>", Type: command.Float, Default: "1.0", Help: "Share of the network that it gets"},
			{Name: "public", Help: "All projects may use it, as is the default"},
			{Name: "private", Help: "Only projects that are given access may use it"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property of the flavor; repeat for more"},
			{Name: "description", Value: "<description>", Help: "Description (microversion 2.55)"},
		}, noun.ProjectFlags("The project that may use it, by name or id; needs --private")...),
		Exclusive: []string{"public private"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			if c.Text("project") != "" && !c.Is("private") {
				if c.Compat() {
					return errors.New("--project needs --private")
				}
				return command.Reject("--project needs --private")
			}
			s, err := openServers(ctx, c, "2.61")
			if err != nil {
				return err
			}
			if err := s.needsGiven("2.55", "description"); err != nil {
				return err
			}
			project, err := noun.ProjectID(ctx, c)
			if err != nil {
				return err
			}
			var id any // upstream sends its "auto", and the service makes an id of that
			if text := c.Text("id"); text != "auto" {
				id = text
			}
			body := object(
				"name", c.Text("<flavor-name>"), "ram", c.Int("ram"), "vcpus", c.Int("vcpus"), "disk", c.Int("disk"), "id", id,
				"OS-FLV-EXT-DATA:ephemeral", c.Int("ephemeral"), "swap", c.Int("swap"), "rxtx_factor", c.Float("rxtx-factor"),
				"os-flavor-access:is_public", !c.Is("private"), "description", givenText(c, "description"),
			)
			answer, err := s.ask(ctx, cloud.Request{Method: http.MethodPost, Path: "/flavors", Body: object("flavor", body)})
			if err != nil {
				return err
			}
			o := answer.Object("flavor")
			made := s.completeFlavor(ctx, &o, project)
			return errors.Join(c.Show(flavorFields(c, o, false)), made)
		},
	}
}

// completeFlavor does what a flavor needs once it is there.
func (s *servers) completeFlavor(ctx context.Context, o *noun.Object, project string) error {
	id := o.Text("id")
	var failed []error
	if project != "" {
		if err := s.flavorAccess(ctx, id, "addTenantAccess", project); err != nil {
			failed = append(failed, fmt.Errorf("the flavor is made, but the project may not use it: %w", err))
		}
	}
	if specs := properties(s.c, "property"); len(specs) > 0 {
		answer, err := s.ask(ctx, cloud.Request{Method: http.MethodPost, Path: flavorPath(id, "os-extra_specs"), Body: object("extra_specs", specs)})
		if err != nil {
			failed = append(failed, fmt.Errorf("the flavor is made, but without its properties: %w", err))
		} else {
			o.Set("extra_specs", render.Ordered(answer.Object("extra_specs")))
		}
	}
	return errors.Join(failed...)
}

func (s *servers) flavorAccess(ctx context.Context, id, action, project string) error {
	return s.tell(ctx, http.MethodPost, flavorPath(id, "action"), object(action, object("tenant", project)))
}

func flavorDelete() command.Command {
	return flavor().Delete(noun.Deleting{
		Short: "Delete flavors",
		Arg:   command.Arg{Name: "<flavor>", Help: "The flavors to delete, by name or id", Many: true, Complete: "flavor"},
		Flags: []command.Flag{command.Parallel()},
	})()
}

func flavorList() command.Command {
	n := flavor()
	n.Detail = "/detail"
	return n.List(noun.Listing{
		Short: "List flavors",
		Flags: []command.Flag{
			{Name: "public", Help: "Those that all projects may use, as is the default"},
			{Name: "private", Help: "Those that only some projects may use"},
			{Name: "all", Help: "All of them"},
			{Name: "min-disk", Value: "<min-disk>", Type: command.Int, Help: "Those with a disk of this many GB or more"},
			{Name: "min-ram", Value: "<min-ram>", Type: command.Int, Help: "Those with a memory of this many MB or more"},
		},
		Exclusive: []string{"public private all"},
		Paged:     true,
		Columns: []noun.Column{
			{Title: "ID", Attr: "id"},
			{Title: "Name", Attr: "name"},
			{Title: "RAM", Attr: "ram"},
			{Title: "Disk", Attr: "disk"},
			{Title: "Ephemeral", Attr: "OS-FLV-EXT-DATA:ephemeral"},
			{Title: "VCPUs", Attr: "vcpus"},
			{Title: "Is Public", Attr: "os-flavor-access:is_public"},
			{Title: "Swap", Attr: "swap", Long: true},
			{Title: "RXTX Factor", Attr: "rxtx_factor", Long: true},
			{Title: "Properties", Attr: "extra_specs", Cell: dictCell, Long: true},
		},
		Query: func(_ context.Context, c *command.Call, q url.Values) error {
			switch {
			case c.Is("all"):
				q.Set("is_public", "None")
			case c.Is("private"):
				q.Set("is_public", "False")
			default:
				q.Set("is_public", "True")
			}
			for flag, name := range map[string]string{"min-disk": "minDisk", "min-ram": "minRam"} {
				if c.Int(flag) != 0 {
					q.Set(name, c.Text(flag))
				}
			}
			return nil
		},
		Prepare: func(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
			s, err := openServers(ctx, c, "2.61")
			if err != nil || s.atLeast("2.61") {
				return nil, err
			}
			// The properties are asked for one by one, of the flavors that are shown.
			return withSpecs(ctx, s, columns), nil
		},
	})()
}

func withSpecs(ctx context.Context, s *servers, columns []noun.Column) []noun.Column {
	columns = slices.Clone(columns)
	for i := range columns {
		if columns[i].Title == "Properties" {
			columns[i] = noun.Column{Title: "Properties", Long: true, Needs: []string{"id"}, From: func(o noun.Object) any {
				specs, err := s.extraSpecs(ctx, o)
				if err != nil {
					return nil
				}
				return render.DictCell(specs)
			}}
		}
	}
	return columns
}

func flavorShow() command.Command {
	return command.Command{
		Short:  "Show a flavor",
		Args:   []command.Arg{flavor().Ref("<flavor>", "show")},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.61")
			if err != nil {
				return err
			}
			o, err := s.fullFlavor(ctx, c.Text("<flavor>"))
			if err != nil {
				return err
			}
			if public, known := o.Lookup("os-flavor-access:is_public"); known && public != true {
				// Who may not see the projects may still see the flavor.
				if answer, err := s.ask(ctx, cloud.Request{Path: flavorPath(o.Text("id"), "os-flavor-access")}); err == nil {
					projects := []any{}
					for _, a := range answer.Objects("flavor_access") {
						projects = append(projects, a.Text("tenant_id"))
					}
					o.Set("access_project_ids", projects)
				} else {
					c.Notef("koc: the projects that may use the flavor are not known: %v\n", err)
				}
			}
			return c.Show(flavorFields(c, o, true))
		},
	}
}

func flavorSet() command.Command {
	return command.Command{
		Short: "Change a flavor",
		Args:  []command.Arg{flavor().Ref("<flavor>", "change")},
		Flags: append([]command.Flag{
			{Name: "no-property", Help: "Remove all properties, before --property sets others"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property to set; repeat for more"},
			{Name: "description", Value: "<description>", Help: "Description (microversion 2.55)"},
		}, noun.ProjectFlags("The project that may use it from now on, by name or id; the flavor must be private")...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.61")
			if err != nil {
				return err
			}
			if err := s.needsGiven("2.55", "description"); err != nil {
				return err
			}
			o, project, err := s.flavorAndProject(ctx)
			if err != nil {
				return err
			}
			id := o.Text("id")
			if text := c.Text("description"); text != "" {
				if err := s.tell(ctx, http.MethodPut, flavorPath(id), object("flavor", object("description", text))); err != nil {
					return err
				}
			}
			var failed []error
			if c.Is("no-property") {
				for _, f := range o.Object("extra_specs") {
					failed = append(failed, s.dropSpec(ctx, id, f.Name))
				}
			}
			if specs := properties(c, "property"); len(specs) > 0 {
				failed = append(failed, s.tell(ctx, http.MethodPost, flavorPath(id, "os-extra_specs"), object("extra_specs", specs)))
			}
			if project != "" {
				failed = append(failed, s.flavorAccess(ctx, id, "addTenantAccess", project))
			}
			return errors.Join(failed...)
		},
	}
}

// flavorAndProject finds what a set or unset is about, before anything is written.
func (s *servers) flavorAndProject(ctx context.Context) (o noun.Object, project string, err error) {
	if o, err = s.fullFlavor(ctx, s.c.Text("<flavor>")); err != nil {
		return nil, "", err
	}
	if project, err = noun.ProjectID(ctx, s.c); err != nil {
		return nil, "", err
	}
	if project != "" && o.Bool("os-flavor-access:is_public") {
		return nil, "", fmt.Errorf("all projects may use the flavor %q: --project is for private ones", o.Text("name"))
	}
	return o, project, nil
}

func (s *servers) dropSpec(ctx context.Context, id, key string) error {
	if err := s.tell(ctx, http.MethodDelete, flavorPath(id, "os-extra_specs", key), nil); err != nil {
		return fmt.Errorf("remove property %q: %w", key, err)
	}
	return nil
}

func flavorUnset() command.Command {
	return command.Command{
		Short: "Remove properties of a flavor, or the access of a project to it",
		Args:  []command.Arg{flavor().Ref("<flavor>", "change")},
		Flags: append([]command.Flag{
			{Name: "property", Value: "<key>", Repeat: true, Help: "Property to remove; repeat for more"},
		}, noun.ProjectFlags("The project that may use it no more, by name or id; the flavor must be private")...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.61")
			if err != nil {
				return err
			}
			o, project, err := s.flavorAndProject(ctx)
			if err != nil {
				return err
			}
			id := o.Text("id")
			var failed []error
			for _, key := range c.Texts("property") {
				failed = append(failed, s.dropSpec(ctx, id, key))
			}
			if project != "" {
				failed = append(failed, s.flavorAccess(ctx, id, "removeTenantAccess", project))
			}
			return errors.Join(failed...)
		},
	}
}
