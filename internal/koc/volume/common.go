package volume

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// thing is a noun of the service. Admins find the things of all projects by their
// names, as with the openstack client.
func thing(name, path, key string) noun.Noun {
	return noun.Noun{Name: name, Service: "volume", Path: path, Key: key, Detail: "/detail", Search: url.Values{"all_tenants": {"1"}}}
}

// unnamed is a noun whose names the service does not search by: those who are no
// admins may not even ask.
func unnamed(name, path, key string) noun.Noun {
	n := thing(name, path, key)
	n.ByName = "-"
	return n
}

func volumes() noun.Noun   { return thing("volume", "/volumes", "volume") }
func snapshots() noun.Noun { return thing("snapshot", "/snapshots", "snapshot") }
func backups() noun.Noun   { return thing("backup", "/backups", "backup") }
func groups() noun.Noun    { return unnamed("volume group", "/groups", "group") }
func groupSnapshots() noun.Noun {
	return unnamed("volume group snapshot", "/group_snapshots", "group_snapshot")
}

func consistencyGroups() noun.Noun {
	return unnamed("consistency group", "/consistencygroups", "consistencygroup")
}

func consistencySnapshots() noun.Noun {
	return unnamed("consistency group snapshot", "/cgsnapshots", "cgsnapshot")
}

// kinds are volume types and group types, whose lists are short and whole.
func kinds(name, path, key string) noun.Noun {
	return noun.Noun{Name: name, Service: "volume", Path: path, Key: key, ByName: "-", Search: url.Values{"is_public": {"None"}}}
}

func types() noun.Noun      { return kinds("volume type", "/types", "volume_type") }
func groupTypes() noun.Noun { return kinds("volume group type", "/group_types", "group_type") }

// since guards a command that needs a microversion.
func since(version, name string, build func() command.Command) command.Entry {
	return command.Entry{Name: name, Build: func() command.Command {
		cmd := build()
		run := cmd.Run
		cmd.Run = func(ctx context.Context, c *command.Call) error {
			if err := needs(ctx, c, version, name); err != nil {
				return err
			}
			return run(ctx, c)
		}
		return cmd
	}}
}

func needs(ctx context.Context, c *command.Call, version, what string) error {
	s, err := c.Cloud.Service(ctx, "volume")
	if err != nil {
		return err
	}
	return s.Needs(version, what)
}

func has(ctx context.Context, c *command.Call, version string) (bool, error) {
	s, err := c.Cloud.Service(ctx, "volume")
	return err == nil && s.Has(version), err
}

// guard is needs for the flags of them that were given.
func guard(ctx context.Context, c *command.Call, version string, flags ...string) error {
	for _, flag := range flags {
		if !c.Given(flag) {
			continue
		}
		if err := needs(ctx, c, version, "--"+flag); err != nil {
			return err
		}
	}
	return nil
}

// wrong is a command line that makes no sense. The openstack client finds out only
// when it runs, and fails with 1.
func wrong(c *command.Call, format string, a ...any) error {
	if c.Compat() {
		return fmt.Errorf(format, a...)
	}
	return command.Reject(format, a...)
}

// act sends an action to one thing.
func act(ctx context.Context, c *command.Call, n noun.Noun, id, action string, body any) error {
	return n.Do(ctx, c, cloud.Request{
		Method: "POST", Path: n.Path + "/" + url.PathEscape(id) + "/action", Body: noun.Object{{Name: action, Value: body}},
	})
}

// last is the one of some flags without values that came last, "" when none did.
func last(c *command.Call, flags ...string) string {
	name := ""
	for _, f := range c.Sequence(flags...) {
		if f.Value == "true" {
			name = f.Key
		}
	}
	return name
}

// Steps: a command that changes several things attempts them all.

type step struct {
	what string // "set the size"
	do   func(ctx context.Context) error
}

func attempt(ctx context.Context, steps []step) error {
	var failed []error
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.what, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// Waiting.

const patience = 10 * time.Minute

// waitFlags are --wait and --wait-timeout where the openstack client has neither.
func waitFlags(what string, timeout time.Duration) []command.Flag {
	flags := noun.WaitFlags(what, timeout)
	for i := range flags {
		flags[i].Koc = true
	}
	return flags
}

// create makes a thing and shows it, with --wait when it is available.
func create(ctx context.Context, c *command.Call, n noun.Noun, r cloud.Request) error {
	o, err := n.Send(ctx, c, r)
	if err != nil {
		return err
	}
	if c.Is("wait") {
		if err := settle(ctx, c, n, o.Text("id"), "available"); err != nil {
			return err
		}
		if o, err = n.Get(ctx, c, o.Text("id")); err != nil {
			return err
		}
	}
	return c.Show(raw().Fields(c, o))
}

// settle waits until the status of a thing is one of some.
func settle(ctx context.Context, c *command.Call, n noun.Noun, id string, want ...string) error {
	wait := noun.Wait{
		What: fmt.Sprintf("%s %s to become %s", n.Name, id, strings.Join(want, " or ")), Timeout: patience,
		Probe: func(ctx context.Context) (string, bool, error) {
			o, err := n.Get(ctx, c, id)
			if err != nil {
				return "", false, err
			}
			status := o.Text("status")
			switch {
			case slices.Contains(want, status):
				return status, true, nil
			case strings.HasPrefix(status, "error"):
				return status, false, &noun.Failed{Noun: n.Name, Ref: id, State: status, Reason: c.Cloud.Mask(o.Text("fail_reason"))}
			default:
				return status, false, nil
			}
		},
	}
	return wait.Until(ctx, c)
}

// gone waits until a thing does not exist any more, if --wait says so.
func gone(n noun.Noun) func(ctx context.Context, c *command.Call, o noun.Object) error {
	return func(ctx context.Context, c *command.Call, o noun.Object) error {
		if !c.Is("wait") {
			return nil
		}
		id := o.Text("id")
		return noun.Wait{
			What: fmt.Sprintf("%s %s to be deleted", n.Name, id), Timeout: patience,
			Probe: n.Gone(c, id, "status", []string{"error", "error_deleting"}),
		}.Until(ctx, c)
	}
}

// created waits until what was created can be used, if --wait says so, and shows
// it as it is then.
func created(n noun.Noun) func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
	return func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
		if !c.Is("wait") {
			return o, nil
		}
		if err := settle(ctx, c, n, o.Text("id"), "available", "in-use"); err != nil {
			return nil, err
		}
		return n.Get(ctx, c, o.Text("id"))
	}
}

// Flags.

// allProjects is the flag of lists that can look at all projects.
func allProjects(things string) command.Flag {
	return command.Flag{Name: "all-projects", Help: "List the " + things + " of all projects (admin only; also by the environment, as ALL_PROJECTS)"}
}

// everywhere writes --all-projects and --project into the query of a list.
func everywhere(ctx context.Context, c *command.Call, q url.Values) error {
	if c.Declares("project") && c.Given("project") {
		id, err := noun.ProjectID(ctx, c)
		if err != nil {
			return err
		}
		q.Set("project_id", id)
		q.Set("all_tenants", "1")
		return nil
	}
	if allOf(c) {
		q.Set("all_tenants", "1")
	}
	return nil
}

func allOf(c *command.Call) bool {
	if c.Given("all-projects") {
		return c.Is("all-projects")
	}
	switch strings.ToLower(strings.TrimSpace(c.Env("ALL_PROJECTS"))) {
	case "1", "t", "true", "on", "y", "yes":
		return true
	}
	return false
}

func name(of string) noun.Field {
	return noun.String("name", "<name>", "name", "Name of the "+of)
}

func description(of string) noun.Field {
	return noun.String("description", "<description>", "description", "Describe the "+of)
}

func zone(of string) noun.Field {
	return noun.String("availability-zone", "<availability-zone>", "availability_zone", "Availability zone of the "+of)
}

// properties writes the pairs of --property.
func properties(attr, of string) noun.Field {
	return noun.Field{Flag: propertyFlag("Give the " + of + " this property; repeat for more"), Attr: attr}
}

func propertyFlag(help string) command.Flag {
	return command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: help}
}

// dropFlag is --property of an unset command.
func dropFlag(of string) command.Flag {
	return command.Flag{Name: "property", Value: "<key>", Repeat: true, Help: "Remove this property of the " + of + "; repeat for more"}
}

// koc marks a flag that the openstack client does not have.
func koc(f noun.Field) noun.Field {
	f.Flag.Koc = true
	return f
}

// ref is an argument that refers to a thing whose commands call it otherwise.
func ref(n noun.Noun, name, verb string) command.Arg {
	return command.Arg{Name: name, Help: "The " + n.Name + " to " + verb + ", by name or id", Complete: n.Name}
}

func refs(n noun.Noun, name, verb string) command.Arg {
	return command.Arg{Name: name, Help: "The " + n.Name + "s to " + verb + ", by name or id", Many: true, Complete: n.Name}
}

// Properties.

// pairs are the pairs of a flag as an object.
func pairs(c *command.Call, flag string) render.Ordered {
	out := render.Ordered{}
	for _, p := range c.Pairs(flag) {
		out = append(out, render.Field{Name: p.Key, Value: p.Value})
	}
	return out
}

// merged are the properties of a thing with those of --property, or these alone
// with --no-property.
func merged(c *command.Call, have noun.Object) render.Ordered {
	out := noun.Object{}
	if !c.Is("no-property") {
		out = append(out, have...)
	}
	for _, p := range c.Pairs("property") {
		out.Set(p.Key, p.Value)
	}
	return render.Ordered(out)
}

// without are the properties of a thing without those of --property. It fails on
// one that the thing does not have.
func without(c *command.Call, n noun.Noun, o noun.Object, attr, flag string) (noun.Object, error) {
	have := slices.Clone(o.Object(attr))
	for _, key := range c.Texts(flag) {
		at := slices.IndexFunc(have, func(f render.Field) bool { return f.Name == key })
		if at < 0 {
			return nil, fmt.Errorf("%s %q has no property %q", n.Name, o.Text("id"), key)
		}
		have = slices.Delete(have, at, at+1)
	}
	return have, nil
}

// setMetadata are the steps of --property and --no-property where properties live
// in a collection of their own.
func setMetadata(c *command.Call, n noun.Noun, id string) []step {
	if !c.Given("property") && !c.Is("no-property") {
		return nil
	}
	r := cloud.Request{Method: "POST", Path: n.Path + "/" + id + "/metadata", Body: noun.Object{{Name: "metadata", Value: pairs(c, "property")}}}
	if c.Is("no-property") { // replaces all there are
		r.Method = "PUT"
	}
	return []step{{"set the properties", func(ctx context.Context) error { return n.Do(ctx, c, r) }}}
}

// unsetEach are the steps that remove the properties of --property one by one, below a path.
func unsetEach(c *command.Call, n noun.Noun, path string) []step {
	var steps []step
	for _, key := range c.Texts("property") {
		steps = append(steps, step{"remove the property " + key, func(ctx context.Context) error {
			return n.Do(ctx, c, cloud.Request{Method: "DELETE", Path: path + "/" + url.PathEscape(key)})
		}})
	}
	return steps
}

// Cells and fields.

func list(v any) any { return render.ListCell(v) }
func dict(v any) any { return render.DictCell(v) }

// or makes a column empty, not null, where the service does not send its attribute.
func or(col noun.Column) noun.Column {
	attr, cell := col.Attr, col.Cell
	col.From = func(o noun.Object) any {
		v, sent := o.Lookup(attr)
		switch {
		case !sent:
			return ""
		case cell != nil:
			return cell(v)
		default:
			return v
		}
	}
	col.Needs = []string{attr}
	return col
}

// columns are pairs of title and attribute.
func columns(pairs ...string) []noun.Column {
	var out []noun.Column
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, noun.Column{Title: pairs[i], Attr: pairs[i+1]})
	}
	return out
}

// long are columns that --long adds.
func long(pairs ...string) []noun.Column {
	out := columns(pairs...)
	for i := range out {
		out[i].Long = true
	}
	return out
}

// optional are columns that -c adds.
func optional(pairs ...string) []noun.Column {
	out := columns(pairs...)
	for i := range out {
		out[i].OptIn, out[i].Own = true, true
		if strings.HasSuffix(pairs[2*i], " At") {
			out[i].Cell = render.StampCell
		}
	}
	return out
}

// raw shows everything that the service sends, by name.
func raw(known ...noun.Column) noun.Fields {
	return noun.Fields{Columns: known, Rest: true, Sort: true, Absent: true, Hide: []string{"links"}}
}

// names are the names of volumes by their ids, read while rows are already made.
// Failures leave the ids.
func names(ctx context.Context, c *command.Call, n noun.Noun, query url.Values) func(id string) string {
	found := make(chan map[string]string, 1)
	go func() {
		known := map[string]string{}
		for o, err := range n.All(ctx, c, query) {
			if err != nil {
				break
			}
			known[o.Text("id")] = o.Text("name")
		}
		found <- known
	}()
	var known map[string]string
	return func(id string) string {
		if known == nil {
			known = <-found
		}
		if name, is := known[id]; is {
			return name
		}
		return id
	}
}

// human reports whether the output is for people: programs get what the service sent.
func human(c *command.Call) bool {
	return c.Output.Format != "json" && c.Output.Format != "yaml" || !c.Compat()
}

// volumeCell shows the name of a volume to people, its id to programs.
func volumeCell(name func(id string) string) func(v any) any {
	return func(v any) any {
		id, is := v.(string)
		if !is {
			return v
		}
		return render.Cell{Machine: v, Format: func(any) any { return name(id) }}
	}
}

// withVolumeNames makes the cells of a column from the names of the volumes.
func withVolumeNames(title string) func(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
	return func(ctx context.Context, c *command.Call, columns []noun.Column) ([]noun.Column, error) {
		at := slices.IndexFunc(columns, func(col noun.Column) bool { return col.Title == title })
		if at < 0 || !c.Output.Wants(render.Column{Title: title}) || !human(c) {
			return nil, nil
		}
		brief := volumes()
		brief.Detail = ""
		columns = slices.Clone(columns)
		columns[at].Cell = volumeCell(names(ctx, c, brief, nil))
		return columns, nil
	}
}

// several does a number of things, some at a time, and returns the first failure.
func several(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gate := make(chan struct{}, 8)
	var group sync.WaitGroup
	for i := range count {
		gate <- struct{}{}
		group.Go(func() {
			defer func() { <-gate }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
