package key

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Installer lays keys down as files on this node.
type Installer interface {
	// InstallKeys lays down again the keys of an object that a pattern designates,
	// in the instances that have them as files, and returns these instances.
	InstallKeys(ctx context.Context, c *verb.Call, p object.Path, pattern string) ([]object.Path, error)
	// NodeName is the name of this node.
	NodeName() string
}

// install lays keys down again.
type install struct {
	installer Installer
	name      string
	node      string
}

func (i *install) Flags(f *pflag.FlagSet) {
	nameFlag(f, &i.name, "the `key`, or a pattern; every key by default")
	f.StringVar(&i.node, "node", "", "the `node`, which can only be this one")
}

func (i *install) Run(ctx context.Context, c *verb.Call) error {
	if i.node != "" && i.node != "localhost" && i.node != i.installer.NodeName() {
		return app.Usage("--node %s: keys are installed on this node, %s: run the command there", i.node, i.installer.NodeName())
	}
	if i.name == "" {
		i.name = "**"
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	type row struct {
		Object   string `json:"object"`
		Instance string `json:"instance"`
	}
	rows := []row{}
	for _, p := range paths {
		installed, err := i.installer.InstallKeys(ctx, c, p, i.name)
		for _, in := range installed {
			rows = append(rows, row{p.String(), in.String()})
		}
		if err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		c.Say("no instance of this node has these keys as files")
	}
	return verb.Write(c, []output.Column[row]{
		{Name: "OBJECT", Value: func(r row) any { return r.Object }},
		{Name: "INSTANCE", Value: func(r row) any { return r.Instance }},
	}, rows, rows)
}
