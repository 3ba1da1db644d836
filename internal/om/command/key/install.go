package key

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Installer lays keys down as files.
type Installer interface {
	// InstallKeys lays down again the keys of an object that a pattern designates,
	// in the instances of nodes that have them as files, and returns these instances.
	// No selector is this node, or, from elsewhere, those that have the object.
	InstallKeys(ctx context.Context, c *verb.Call, p object.Path, pattern, nodes string) ([]Installed, error)
}

// Installed is an instance whose files were laid down again.
type Installed struct {
	Object   string `json:"object"` // whose keys these are
	Instance string `json:"instance"`
	Node     string `json:"node"`
}

// install lays keys down again.
type install struct {
	installer Installer
	name      string
	node      string
}

func (i *install) Flags(f *pflag.FlagSet) {
	nameFlag(f, &i.name, "the `key`, or a pattern; every key by default")
	f.StringVar(&i.node, "node", "", "in the instances of these `nodes`; by default this one, from elsewhere all")
}

func (i *install) Run(ctx context.Context, c *verb.Call) error {
	if i.name == "" {
		i.name = "**"
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	rows := []Installed{}
	var errs []error
	for _, p := range paths {
		installed, err := i.installer.InstallKeys(ctx, c, p, i.name, i.node)
		rows, errs = append(rows, installed...), append(errs, err)
	}
	err = errors.Join(errs...)
	if len(rows) == 0 {
		if err == nil {
			c.Say("no instance has these keys as files")
		}
		return err
	}
	return errors.Join(verb.Write(c, []output.Column[Installed]{
		{Name: "OBJECT", Value: func(r Installed) any { return r.Object }},
		{Name: "INSTANCE", Value: func(r Installed) any { return r.Instance }},
		{Name: "NODE", Value: func(r Installed) any { return r.Node }},
	}, rows, rows), err)
}
