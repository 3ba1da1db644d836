package network

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

func qosPolicyCommands() []command.Entry {
	n := qosPolicies()
	share := []noun.Field{
		noun.On("share", "shared", true, "Let all projects use the QoS policy"),
		noun.On("no-share", "shared", false, "Do not share the QoS policy"),
		noun.On("default", "is_default", true, "Make the QoS policy the default of its project"),
		noun.On("no-default", "is_default", false, "Do not make the QoS policy a default"),
	}
	shown := fields(append(asIs("description", "id", "is_default", "name", "project_id", "rules", "shared"), noun.Column{Title: "tags", Cell: bareTags})...)
	return []command.Entry{
		{Name: "network qos policy create", Build: n.Create(extra(noun.Writing{
			Short: "Create a QoS policy",
			Args:  []command.Arg{{Name: "<name>", Help: "Name of the new QoS policy"}}, NameArg: "<name>",
			Fields:    slices.Concat([]noun.Field{description("new QoS policy")}, share, noun.InProject("Project that owns the QoS policy")),
			Exclusive: []string{"share no-share", "default no-default"},
			Shown:     shown,
		}))},
		{Name: "network qos policy delete", Build: n.Delete(noun.Deleting{
			Short: "Delete QoS policies",
			Arg:   command.Arg{Name: "<qos-policy>", Help: "QoS policies to delete, by name or id", Many: true, Complete: n.Name},
			Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "network qos policy list", Build: n.List(noun.Listing{
			Short: "List QoS policies",
			Filters: append(noun.InProject("Only QoS policies of this project"),
				noun.On("share", "shared", true, "Only QoS policies that all projects may use"),
				noun.On("no-share", "shared", false, "Only QoS policies that are not shared")),
			Exclusive: []string{"share no-share"},
			Columns: []noun.Column{
				{Title: "ID", Attr: "id"},
				{Title: "Name", Attr: "name"},
				{Title: "Shared", Attr: "shared"},
				{Title: "Default", Attr: "is_default"},
				{Title: "Project", Attr: "project_id"},
			},
		})},
		{Name: "network qos policy set", Build: n.Set(extra(noun.Writing{
			Short: "Change a QoS policy",
			Args:  []command.Arg{n.Ref("<qos-policy>", "change")}, RefArg: "<qos-policy>",
			Fields:    slices.Concat([]noun.Field{noun.String("name", "<name>", "name", "Rename the QoS policy"), description("QoS policy")}, share),
			Exclusive: []string{"share no-share", "default no-default"},
		}))},
		{Name: "network qos policy show", Build: n.Show(noun.Showing{
			Short: "Show a QoS policy", Arg: n.Ref("<qos-policy>", "show"), Fields: shown,
		})},
	}
}

// ruleKind is a kind of QoS rules: what its rules must and may have.
type ruleKind struct {
	name      string
	must, may []string
}

var ruleKinds = [...]ruleKind{
	{"minimum-bandwidth", []string{"direction", "min_kbps"}, nil},
	{"minimum-packet-rate", []string{"direction", "min_kpps"}, nil},
	{"dscp-marking", []string{"dscp_mark"}, nil},
	{"bandwidth-limit", []string{"max_kbps"}, []string{"direction", "max_burst_kbps"}},
	{"packet-rate-limit", []string{"max_kpps"}, []string{"direction", "max_burst_kpps"}},
}

func kindOf(name string) (ruleKind, bool) {
	at := slices.IndexFunc(ruleKinds[:], func(k ruleKind) bool { return k.name == name })
	if at < 0 {
		return ruleKind{}, false
	}
	return ruleKinds[at], true
}

func (k ruleKind) rules(policy string) noun.Noun {
	key := strings.ReplaceAll(k.name, "-", "_") + "_rule"
	n := thing("qos rule", "/qos/policies/"+url.PathEscape(policy)+"/"+key+"s", key, "")
	n.Label = "-"
	return n
}

// flagOf is the flag that writes an attribute of a rule.
func flagOf(attr string) string {
	switch attr {
	case "direction":
		return "--ingress, --egress or --any"
	case "max_burst_kbps":
		return "--max-burst-kbits"
	case "max_burst_kpps":
		return "--max-burst-kpps"
	}
	return "--" + strings.ReplaceAll(attr, "_", "-")
}

func ruleFields() []noun.Field {
	return []noun.Field{
		noun.Number("max-kbps", "<max-kbps>", "", "Most bandwidth, in kilobits per second"),
		noun.Number("max-burst-kbits", "<max-burst-kbits>", "max_burst_kbps", "Largest burst, in kilobits"),
		noun.Number("dscp-mark", "<dscp-mark>", "", "DSCP mark: an even number from 0 to 56, but 2, 4, 6, 42, 44, 50, 52 and 54"),
		noun.Number("min-kbps", "<min-kbps>", "", "Least bandwidth, in kilobits per second"),
		noun.Number("min-kpps", "<min-kpps>", "", "Least packet rate, in thousands per second"),
		noun.Number("max-kpps", "<max-kpps>", "", "Most packet rate, in thousands per second"),
		noun.Number("max-burst-kpps", "<max-burst-kpps>", "", "Largest burst, in thousands of packets"),
		noun.On("ingress", "direction", "ingress", "For traffic to the guest"),
		noun.On("egress", "direction", "egress", "For traffic from the guest"),
		noun.On("any", "direction", "any", "For traffic both ways; minimum-packet-rate rules only"),
		{Flag: command.Flag{Name: "direction", Value: "<direction>", Choices: []string{"ingress", "egress", "any"}, Koc: true, Help: "For traffic this way"}},
	}
}

// check checks the attributes of a rule.
func (k ruleKind) check(body noun.Object, creates bool) error {
	for _, f := range body {
		if !slices.Contains(k.must, f.Name) && !slices.Contains(k.may, f.Name) {
			return command.Reject("a %s rule takes no %s", k.name, flagOf(f.Name))
		}
	}
	if body.Text("direction") == "any" && k.name != "minimum-packet-rate" {
		return command.Reject("only minimum-packet-rate rules take --any")
	}
	if !creates {
		return nil
	}
	for _, attr := range k.must {
		if body.Get(attr) == nil {
			return command.Reject("a %s rule needs %s", k.name, flagOf(attr))
		}
	}
	return nil
}

// findRule finds a policy and the kind of one of its rules, which the policy tells.
func findRule(ctx context.Context, c *command.Call) (noun.Noun, string, error) {
	policy, err := qosPolicies().Find(ctx, c, c.Text("<qos-policy>"), nil)
	if err != nil {
		return noun.Noun{}, "", err
	}
	id := c.Text("<rule-id>")
	for _, rule := range policy.Objects("rules") {
		if rule.Text("id") != id {
			continue
		}
		name := strings.ReplaceAll(rule.Text("type"), "_", "-")
		kind, known := kindOf(name)
		if !known {
			return noun.Noun{}, "", fmt.Errorf("the rule %s is of the kind %q, which koc does not know", id, name)
		}
		return kind.rules(policy.Text("id")), kind.name, nil
	}
	return noun.Noun{}, "", fmt.Errorf("the QoS policy %q has no rule %q", c.Text("<qos-policy>"), id)
}

func shownRule(kind string) noun.Fields {
	names := []string{"id", "name"}
	if k, known := kindOf(kind); known {
		names = append(append(names, k.must...), k.may...)
	}
	return fields(asIs(names...)...)
}

func qosRuleCommands() []command.Entry {
	policy := command.Arg{Name: "<qos-policy>", Help: "The QoS policy, by name or id", Complete: "qos policy"}
	rule := func(verb string) []command.Arg {
		return []command.Arg{policy, {Name: "<rule-id>", Help: "The rule to " + verb + ", by id"}}
	}
	flags := func(fields []noun.Field) []command.Flag {
		out := make([]command.Flag, len(fields))
		for i, f := range fields {
			out[i] = f.Flag
		}
		return out
	}
	kinds := make([]string, len(ruleKinds))
	for i, k := range ruleKinds {
		kinds[i] = k.name
	}
	const directions = "ingress egress any direction"
	return []command.Entry{
		{Name: "network qos rule create", Build: func() command.Command {
			w := extra(noun.Writing{})
			return command.Command{
				Short: "Create a rule of a QoS policy", Output: command.Created,
				Args: []command.Arg{policy},
				Flags: append(append(flags(ruleFields()), w.Flags...), command.Flag{
					Name: "type", Value: "<type>", Required: true, Choices: kinds, Help: "Kind of the rule",
				}),
				Exclusive: []string{directions},
				Run: func(ctx context.Context, c *command.Call) error {
					kind, _ := kindOf(c.Text("type"))
					var body noun.Object
					if err := noun.Fill(ctx, c, &body, ruleFields()); err != nil {
						return err
					}
					if err := kind.check(body, true); err != nil {
						return err
					}
					if err := w.Body(ctx, c, &body, nil); err != nil {
						return err
					}
					id, err := qosPolicies().Resolve(ctx, c, c.Text("<qos-policy>"))
					if err != nil {
						return err
					}
					n := kind.rules(id)
					o, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: n.Path, Body: n.Wrap(body)})
					if err != nil {
						return err
					}
					return c.Show(shownRule(kind.name).Fields(c, o))
				},
			}
		}},
		{Name: "network qos rule delete", Build: func() command.Command {
			return command.Command{
				Short: "Delete a rule of a QoS policy", Args: rule("delete"),
				Run: func(ctx context.Context, c *command.Call) error {
					n, _, err := findRule(ctx, c)
					if err != nil {
						return err
					}
					return n.Do(ctx, c, cloud.Request{Method: "DELETE", Path: n.Path + "/" + url.PathEscape(c.Text("<rule-id>"))})
				},
			}
		}},
		{Name: "network qos rule list", Build: listRules},
		{Name: "network qos rule set", Build: func() command.Command {
			w := extra(noun.Writing{})
			return command.Command{
				Short: "Change a rule of a QoS policy", Args: rule("change"),
				Flags: append(flags(ruleFields()), w.Flags...), Exclusive: []string{directions},
				Run: func(ctx context.Context, c *command.Call) error {
					n, name, err := findRule(ctx, c)
					if err != nil {
						return err
					}
					var body noun.Object
					if err := noun.Fill(ctx, c, &body, ruleFields()); err != nil {
						return err
					}
					kind, _ := kindOf(name)
					if err := kind.check(body, false); err != nil {
						return err
					}
					if err := w.Body(ctx, c, &body, nil); err != nil || len(body) == 0 {
						return err
					}
					return n.Update(ctx, c, c.Text("<rule-id>"), body)
				},
			}
		}},
		{Name: "network qos rule show", Build: func() command.Command {
			return command.Command{
				Short: "Show a rule of a QoS policy", Args: rule("show"), Output: command.Shown,
				Run: func(ctx context.Context, c *command.Call) error {
					n, kind, err := findRule(ctx, c)
					if err != nil {
						return err
					}
					o, err := n.Get(ctx, c, c.Text("<rule-id>"))
					if err != nil {
						return err
					}
					return c.Show(shownRule(kind).Fields(c, o))
				},
			}
		}},
	}
}

// listRules lists the rules that a policy has in itself.
func listRules() command.Command {
	// A rule has the attributes of its kind; upstream shows the others as empty texts.
	or := func(attr string) noun.Column {
		return noun.Column{Attr: attr, From: func(o noun.Object) any {
			if v, has := o.Lookup(attr); has {
				return v
			}
			return ""
		}}
	}
	titled := func(title string, c noun.Column) noun.Column { c.Title = title; return c }
	return command.Command{
		Short: "List the rules of a QoS policy", Output: command.Listed,
		Args: []command.Arg{{Name: "<qos-policy>", Help: "The QoS policy, by name or id", Complete: "qos policy"}},
		Run: func(ctx context.Context, c *command.Call) error {
			policy, err := qosPolicies().Find(ctx, c, c.Text("<qos-policy>"), nil)
			if err != nil {
				return err
			}
			return noun.PrintList(c, noun.Pick(c, []noun.Column{
				titled("ID", or("id")), titled("QoS Policy ID", or("qos_policy_id")), titled("Type", or("type")), titled("Max Kbps", or("max_kbps")),
				titled("Max Burst Kbits", or("max_burst_kbps")), titled("Min Kbps", or("min_kbps")), titled("Min Kpps", or("min_kpps")),
				titled("DSCP mark", or("dscp_mark")), titled("Direction", or("direction")),
			}), noun.Each(policy.Objects("rules")))
		},
	}
}

func qosRuleTypeCommands() []command.Entry {
	n := thing("qos rule type", "/qos/rule-types", "rule_type", "")
	n.ID, n.Label, n.AnyID, n.ByName = "type", "type", true, "-"
	return []command.Entry{
		{Name: "network qos rule type list", Build: n.List(noun.Listing{
			Short: "List the kinds of QoS rules that the cloud can do",
			Filters: []noun.Field{
				noun.On("all-supported", "all_supported", true, "Kinds that at least one driver can do"),
				noun.On("all-rules", "all_rules", true, "All kinds there are"),
			},
			Exclusive: []string{"all-supported all-rules"},
			Columns:   []noun.Column{{Title: "Type", Attr: "type"}},
		})},
		{Name: "network qos rule type show", Build: n.Show(noun.Showing{
			Short: "Show who can do a kind of QoS rules", Arg: command.Arg{Name: "<qos-rule-type-name>", Help: "The kind, such as bandwidth_limit"},
			Fields: fields(noun.Column{Title: "drivers"}, noun.Column{Title: "rule_type_name", Attr: "type"}),
		})},
	}
}
