package noun

import (
	"context"
	"fmt"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// The constructors below are the ordinary fields, for tables that read like the
// help of a command. attr may be "", as in [Field].

// On is a flag without a value, which writes a constant.
func On(flag, attr string, value any, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Help: help}, Attr: attr, Const: value}
}

// String is a flag with a text.
func String(flag, value, attr, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Help: help}, Attr: attr}
}

// Number is a flag with an integer.
func Number(flag, value, attr, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Type: command.Int, Help: help}, Attr: attr}
}

// Strings is a flag with a text that repeats.
func Strings(flag, value, attr, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Repeat: true, Help: help}, Attr: attr}
}

// OneOf is a flag with one of some texts.
func OneOf(flag, value, attr, help string, choices ...string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Choices: choices, Help: help}, Attr: attr}
}

// Reference is a flag that refers to a thing of the noun: its id is written.
func (n Noun) Reference(flag, value, attr, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Help: help, Complete: n.Name}, Attr: attr, To: n.To}
}

// References is Reference for a flag that repeats.
func (n Noun) References(flag, value, attr, help string) Field {
	return Field{Flag: command.Flag{Name: flag, Value: value, Repeat: true, Help: help, Complete: n.Name}, Attr: attr, To: n.ToAll}
}

// InProject are --project and --project-domain, which write project_id.
func InProject(help string) []Field {
	return []Field{
		{Flag: command.Flag{Name: "project", Value: "<project>", Help: help, Complete: "project"}, Attr: "project_id", To: ToProject},
		{Flag: ProjectDomainFlag(), Attr: "-"},
	}
}

// FillQuery writes the fields whose flags were given, or have a default, into a
// query. The attribute is the name in the query as it is; a list makes the name
// come again and again.
func FillQuery(ctx context.Context, c *command.Call, q url.Values, fields []Field) error {
	for _, f := range fields {
		name := f.Attr
		if name == "" {
			name = underscores(f.Flag.Name)
		}
		v, given, err := f.value(ctx, c)
		switch list, many := v.([]any); {
		case err != nil:
			return err
		case !given:
		case many:
			for _, item := range list {
				q.Add(name, Text(item))
			}
		default:
			q.Set(name, fmt.Sprint(v))
		}
	}
	return nil
}

// Null is the constant of a field that writes null.
type Null struct{}

// MarshalJSON writes null.
func (Null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
