package configure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// validate checks configurations and fails when one has an error.
type validate struct {
	target    Target
	validator Validator
}

func (v *validate) Flags(*pflag.FlagSet) {}

type alertRow struct {
	object string
	alert  keyword.Alert
}

func (v *validate) Run(ctx context.Context, c *verb.Call) error {
	paths, err := v.target(ctx, c)
	if err != nil {
		return err
	}
	var rows []alertRow
	for _, p := range paths {
		alerts, err := v.validator.ValidateConfig(ctx, p)
		if err != nil {
			return err
		}
		for _, a := range alerts {
			rows = append(rows, alertRow{p.String(), a})
		}
	}
	if len(rows) > 0 || c.Structured() {
		if err := verb.Write(c, alertColumns(), rows, nil); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(rows, func(r alertRow) bool { return r.alert.Level == keyword.LevelError }) {
		return app.Silent(1)
	}
	return nil
}

func alertColumns() []output.Column[alertRow] {
	return []output.Column[alertRow]{
		{Name: "LEVEL", Value: func(r alertRow) any { return string(r.alert.Level) }},
		{Name: "OBJECT", Value: func(r alertRow) any { return r.object }},
		{Name: "DRIVER", Value: func(r alertRow) any { return r.alert.Driver }},
		{Name: "KEY", Value: func(r alertRow) any { return keyOf(r.alert) }},
		{Name: "KIND", Value: func(r alertRow) any { return r.alert.Kind }},
		{Name: "COMMENT", Value: func(r alertRow) any { return r.alert.Comment }},
	}
}

func keyOf(a keyword.Alert) string {
	switch {
	case a.Section == "" || a.Option == "":
		return a.Section + a.Option
	default:
		return a.Section + "." + a.Option
	}
}

// tell says what a commit did.
func tell(c *verb.Call, o Outcome) error {
	Warn(c, o.Warnings)
	if !o.Changed {
		return nil
	}
	return c.Print("committed")
}

// Warn prints the warnings of a configuration that was committed all the same.
func Warn(c *verb.Call, alerts []keyword.Alert) {
	for _, a := range alerts {
		c.Say("Warning: %s", a.Comment)
	}
}

// outcomes gathers what failed of a command on several configurations.
type outcomes struct{ errs []error }

func (o *outcomes) fail(count int, p object.Path, err error) {
	if count > 1 {
		err = fmt.Errorf("%s: %w", p, err)
	}
	o.errs = append(o.errs, err)
}

func (o *outcomes) err() error { return errors.Join(o.errs...) }
