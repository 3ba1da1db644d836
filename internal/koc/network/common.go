package network

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// thing is a noun of the network service.
func thing(name, path, key, keys string) noun.Noun {
	return noun.Noun{Name: name, Service: "network", Path: path, Key: key, Keys: keys, Select: "fields"}
}

// Nouns that commands of several files refer to.

func networks() noun.Noun      { return thing("network", "/networks", "network", "") }
func subnets() noun.Noun       { return thing("subnet", "/subnets", "subnet", "") }
func ports() noun.Noun         { return thing("port", "/ports", "port", "") }
func routers() noun.Noun       { return thing("router", "/routers", "router", "") }
func subnetPools() noun.Noun   { return thing("subnet pool", "/subnetpools", "subnetpool", "") }
func addressScopes() noun.Noun { return thing("address scope", "/address-scopes", "address_scope", "") }

func addressGroups() noun.Noun { return thing("address group", "/address-groups", "address_group", "") }

func securityGroups() noun.Noun {
	return thing("security group", "/security-groups", "security_group", "")
}
func qosPolicies() noun.Noun { return thing("qos policy", "/qos/policies", "policy", "policies") }

// Cells.

func upDown(v any) any   { return render.UpDownCell(v) }
func list(v any) any     { return render.ListCell(v) }
func dict(v any) any     { return render.DictCell(v) }
func listDict(v any) any { return render.ListDictCell(v) }

// orFalse is a boolean that old services leave out.
func orFalse(v any) any {
	if v == nil {
		return false
	}
	return v
}

// tags is a list of tags, none where the service has none.
func tags(v any) any {
	if v == nil {
		v = []any{}
	}
	return render.ListCell(v)
}

// bareTags is tags where upstream leaves the list as it is.
func bareTags(v any) any {
	if v == nil {
		return []any{}
	}
	return v
}

// asIs are fields that are shown as the service sends them.
func asIs(names ...string) []noun.Column {
	columns := make([]noun.Column, len(names))
	for i, name := range names {
		columns[i] = noun.Column{Title: name, Attr: name}
	}
	return columns
}

// fields are the fields of a thing, by name.
func fields(columns ...noun.Column) noun.Fields { return noun.Fields{Columns: columns, Sort: true} }

// newer is a field that upstream learned to show later: there only where the service
// has it, and in koc's own voice.
func newer(title, attr string) noun.Column {
	return noun.Column{Title: title, Attr: attr, Own: true, IfSet: true}
}

// Tags.

// tagFilters are the flags by which a list is narrowed to tags.
func tagFilters(things string) []noun.Field {
	const value = "<tag>[,<tag>,...]"
	return []noun.Field{
		noun.String("tags", value, "tags", "Only "+things+" that have all of these tags"),
		noun.String("any-tags", value, "tags-any", "Only "+things+" that have at least one of these tags"),
		noun.String("not-tags", value, "not-tags", "Leave out "+things+" that have all of these tags"),
		noun.String("not-any-tags", value, "not-tags-any", "Leave out "+things+" that have at least one of these tags"),
	}
}

// tagged gives a create command --tag and --no-tag: tags are written after the thing.
func tagged(n noun.Noun, w noun.Writing) noun.Writing {
	w.Flags = append(slices.Clip(w.Flags),
		command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag the new " + n.Name + ""},
		command.Flag{Name: "no-tag", Help: "Give the new " + n.Name + " no tags, as is the default"})
	w.Exclusive = append(slices.Clip(w.Exclusive), "tag no-tag")
	then := w.Then
	w.Then = func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
		if then != nil {
			var err error
			if o, err = then(ctx, c, o); err != nil {
				return nil, err
			}
		}
		if !c.Given("tag") {
			return o, nil
		}
		set := distinct(append(o.Texts("tags"), c.Texts("tag")...))
		if err := putTags(ctx, c, n, o.Text("id"), set); err != nil {
			return nil, fmt.Errorf("the %s %s was created, but not its tags: %w", n.Name, o.Text("id"), err)
		}
		o.Set("tags", anys(set))
		return o, nil
	}
	return w
}

// retagged gives a set command --tag, which adds, and --no-tag, which clears first.
func retagged(n noun.Noun, w noun.Writing) noun.Writing {
	w.Flags = append(slices.Clip(w.Flags),
		command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Add this tag to the " + n.Name + ""},
		command.Flag{Name: "no-tag", Help: "Clear the tags of the " + n.Name + "; together with --tag, replace them"})
	return settingTags(n, w, func(c *command.Call, have []string) []string {
		if c.Is("no-tag") {
			have = nil
		}
		return append(have, c.Texts("tag")...)
	})
}

// untagged gives an unset command --tag and --all-tag.
func untagged(n noun.Noun, w noun.Writing) noun.Writing {
	w.Flags = append(slices.Clip(w.Flags),
		command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Remove this tag from the " + n.Name + ""},
		command.Flag{Name: "all-tag", Help: "Clear all tags of the " + n.Name})
	w.Exclusive = append(slices.Clip(w.Exclusive), "tag all-tag")
	return settingTags(n, w, func(c *command.Call, have []string) []string {
		if c.Is("all-tag") {
			return nil
		}
		return slices.DeleteFunc(have, func(t string) bool { return slices.Contains(c.Texts("tag"), t) })
	})
}

func settingTags(n noun.Noun, w noun.Writing, change func(c *command.Call, have []string) []string) noun.Writing {
	then := w.Then
	w.Then = func(ctx context.Context, c *command.Call, o noun.Object) (noun.Object, error) {
		if then != nil {
			var err error
			if o, err = then(ctx, c, o); err != nil {
				return nil, err
			}
		}
		have := distinct(o.Texts("tags"))
		want := distinct(change(c, slices.Clone(have)))
		if slices.Equal(have, want) {
			return o, nil
		}
		return o, putTags(ctx, c, n, o.Text("id"), want)
	}
	return w
}

func putTags(ctx context.Context, c *command.Call, n noun.Noun, id string, set []string) error {
	body := noun.Object{{Name: "tags", Value: anys(set)}}
	return n.Do(ctx, c, cloud.Request{Method: "PUT", Path: n.Path + "/" + url.PathEscape(id) + "/tags", Body: body})
}

// Properties that koc does not know.

const extraValue = "type=<type>,name=<name>,value=<value>"

// extra gives a create or set command --extra-property.
func extra(w noun.Writing) noun.Writing {
	w.Flags = append(slices.Clip(w.Flags), command.Flag{
		Name: "extra-property", Value: extraValue, Type: command.Records, Keys: []string{"!name", "!value", "type"},
		Help: "Write a property that has no flag of its own, as str (the default), int, bool, list like a;b, or dict like k:v;l:w",
	})
	return after(w, func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
		for _, p := range c.Records("extra-property") {
			v, err := property(p["type"], p["value"])
			if err != nil {
				return command.Reject("--extra-property %s: %v", p["name"], err)
			}
			body.Set(p["name"], v)
		}
		return nil
	})
}

// unextra gives an unset command --extra-property.
func unextra(w noun.Writing) noun.Writing {
	w.Flags = append(slices.Clip(w.Flags), command.Flag{
		Name: "extra-property", Value: extraValue, Type: command.Records, Keys: []string{"!name", "!value", "type"},
		Help: "Set a property that has no flag of its own to null; only its name matters",
	})
	return after(w, func(_ context.Context, c *command.Call, body *noun.Object, _ noun.Object) error {
		for _, p := range c.Records("extra-property") {
			body.Set(p["name"], nil)
		}
		return nil
	})
}

// after adds to what completes the body.
func after(w noun.Writing, more func(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error) noun.Writing {
	before := w.Body
	w.Body = func(ctx context.Context, c *command.Call, body *noun.Object, o noun.Object) error {
		if before != nil {
			if err := before(ctx, c, body, o); err != nil {
				return err
			}
		}
		return more(ctx, c, body, o)
	}
	return w
}

func property(typ, text string) (any, error) {
	switch typ {
	case "", "str":
		return text, nil
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no integer", text)
		}
		return n, nil
	case "bool":
		return strings.EqualFold(text, "true"), nil
	case "list":
		if text == "" {
			return []any{}, nil
		}
		return anys(strings.Split(text, ";")), nil
	case "dict":
		return propertyDict(text)
	default:
		return nil, fmt.Errorf("the type %q is not one of str, int, bool, list and dict", typ)
	}
}

func propertyDict(text string) (any, error) {
	var d noun.Object
	last := ""
	for piece := range strings.SplitSeq(text, ";") {
		key, value, pair := strings.Cut(piece, ":")
		switch {
		case text == "":
		case pair:
			d.Set(key, value)
			last = key
		case last == "":
			return nil, fmt.Errorf("%q has no value: give key:value", piece)
		default:
			d.Set(last, d.Text(last)+";"+piece)
		}
	}
	return render.Ordered(d), nil
}

// Small parts.

// anys is a list as a value.
func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// distinct sorts texts and keeps each once.
func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// record is an object of the keys of a record, in this order, under the names of
// the API: pairs of key and name. Keys it does not have are left out.
func record(r map[string]string, pairs ...string) noun.Object {
	o := noun.Object{}
	for i := 0; i < len(pairs); i += 2 {
		if v, has := r[pairs[i]]; has {
			o.Set(pairs[i+1], v)
		}
	}
	return o
}

// records makes a list of objects of all records of a flag.
func records(c *command.Call, flag string, pairs ...string) []any {
	all := []any{}
	for _, r := range c.Records(flag) {
		all = append(all, render.Ordered(record(r, pairs...)))
	}
	return all
}

// items is the list at a name of an object, copied, never nil.
func items(o noun.Object, name string) []any {
	have, _ := o.Get(name).([]any)
	return slices.Clip(append([]any{}, have...))
}

// without removes items from a list. It fails on one that is not there. An object
// may be given by a part of it, if only one has that.
func without(have, gone []any, what string) ([]any, error) {
	for _, g := range gone {
		at := slices.IndexFunc(have, func(h any) bool { return has(h, g) && has(g, h) })
		if at < 0 {
			at = slices.IndexFunc(have, func(h any) bool { return has(h, g) })
			if at >= 0 && slices.ContainsFunc(have[at+1:], func(h any) bool { return has(h, g) }) {
				return nil, fmt.Errorf("more than one item is like %s: give all of it", described(g))
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("%s %s", what, described(g))
		}
		have = slices.Delete(have, at, at+1)
	}
	return have, nil
}

// has reports whether an item of a list is another one: texts are equal, objects
// have all that the other has.
func has(item, other any) bool {
	x, isObject := item.(render.Ordered)
	y, alsoObject := other.(render.Ordered)
	if !isObject || !alsoObject {
		return noun.Text(item) == noun.Text(other)
	}
	for _, f := range y {
		if v, in := noun.Object(x).Lookup(f.Name); !in || !has(v, f.Value) {
			return false
		}
	}
	return true
}

func described(v any) string {
	o, isObject := v.(render.Ordered)
	if !isObject {
		return noun.Text(v)
	}
	parts := make([]string, len(o))
	for i, f := range o {
		parts[i] = f.Name + "=" + noun.Text(f.Value)
	}
	return strings.Join(parts, ",")
}

// fixedIPs makes addresses of the records of a flag: the subnet by its id, and the
// address.
func fixedIPs(ctx context.Context, c *command.Call, flag string) ([]any, error) {
	all := []any{}
	for _, r := range c.Records(flag) {
		ip := noun.Object{}
		if r["subnet"] != "" {
			id, err := subnets().Resolve(ctx, c, r["subnet"])
			if err != nil {
				return nil, err
			}
			ip.Set("subnet_id", id)
		}
		if address, has := r["ip-address"]; has {
			ip.Set("ip_address", address)
		}
		all = append(all, render.Ordered(ip))
	}
	return all, nil
}

// fixedIPFlag takes addresses.
func fixedIPFlag(help string) command.Flag {
	return command.Flag{
		Name: "fixed-ip", Value: "subnet=<subnet>,ip-address=<ip-address>", Type: command.Records, Keys: []string{"subnet", "ip-address"}, Help: help,
	}
}

// must makes a flag required.
func must(f noun.Field) noun.Field {
	f.Flag.Required = true
	return f
}

// Common filters and fields.

func nameFilter(things string) noun.Field {
	return noun.String("name", "<name>", "name", "Only "+things+" of this name")
}

func description(of string) noun.Field {
	return noun.String("description", "<description>", "description", "Describe the "+of)
}

// matchesTags reports whether a thing has the tags that the filters ask for, where
// the service does not filter itself.
func matchesTags(c *command.Call, o noun.Object) bool {
	have := o.Texts("tags")
	in := func(t string) bool { return slices.Contains(have, t) }
	all := func(list []string) bool { return !slices.ContainsFunc(list, func(t string) bool { return !in(t) }) }
	asked := func(flag string) []string {
		if !c.Given(flag) {
			return nil
		}
		return strings.Split(c.Text(flag), ",")
	}
	every, any1, notEvery, notAny := asked("tags"), asked("any-tags"), asked("not-tags"), asked("not-any-tags")
	switch {
	case !all(every), any1 != nil && !slices.ContainsFunc(any1, in), notEvery != nil && all(notEvery), slices.ContainsFunc(notAny, in):
		return false
	}
	return true
}

// pythonJSON is a value as Python's json.dumps writes it.
func pythonJSON(v any) string { return string(appendPythonJSON(nil, v)) }

func appendPythonJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendASCII(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendPythonJSON(b, item)
		}
		return append(b, ']')
	case render.Ordered:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(appendASCII(b, f.Name), ": "...)
			b = appendPythonJSON(b, f.Value)
		}
		return append(b, '}')
	default:
		return append(b, noun.Text(v)...)
	}
}

// appendASCII quotes a text as JSON without any letter beyond ASCII.
func appendASCII(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r >= ' ' && r < 0x7f:
			b = append(b, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

// needing makes commands tell which extension of the service they need when the
// service knows nothing of what they ask for.
func needing(alias string, entries []command.Entry) []command.Entry {
	for i := range entries {
		build := entries[i].Build
		entries[i].Build = func() command.Command {
			cmd := build()
			run := cmd.Run
			cmd.Run = func(ctx context.Context, c *command.Call) error {
				err := run(ctx, c)
				if fault := new(cloud.Fault); !errors.As(err, &fault) || fault.Status != http.StatusNotFound {
					return err
				}
				if has, lookup := hasExtension(ctx, c, alias); has || lookup != nil {
					return err
				}
				return fmt.Errorf("this cloud cannot do %q: its network service has no extension %q", c.Name, alias)
			}
			return cmd
		}
	}
	return entries
}

func hasExtension(ctx context.Context, c *command.Call, alias string) (bool, error) {
	_, err := extensions().Get(ctx, c, alias)
	if noun.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
