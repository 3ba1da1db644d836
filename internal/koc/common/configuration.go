package common

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func configurationShow() command.Command {
	return command.Command{
		Short: "Show the settings that koc would use, and where each comes from",
		Long: "No request is sent. Each setting of the command line, of clouds.yaml, of the environment and of koc's own defaults is shown once, " +
			"with the value that wins and, in tables, its source in brackets.",
		Flags: []command.Flag{
			{Name: "mask", Help: "Hide secrets (the default)"},
			{Name: "unmask", Help: "Show passwords, tokens and other secrets in clear"},
		},
		Exclusive: []string{"mask unmask"},
		Output:    command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			settings, err := c.Cloud.Settings(ctx)
			if err != nil {
				return err
			}
			fields := make([]render.Field, 0, len(settings))
			for _, s := range settings {
				value := s.Value
				if s.Secret && !c.Is("unmask") {
					value = "<redacted>"
				}
				if table := c.Output.Format == "" || c.Output.Format == "table"; table && !c.Compat() {
					value += " (" + s.Source + ")"
				}
				fields = append(fields, render.Field{Name: s.Name, Value: value})
			}
			return c.Show(fields)
		},
	}
}
