package command

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// globals are the flags of every command.
type globals struct {
	color  string
	format string
	quiet  bool
	debug  bool
}

func (g *globals) bind(f *pflag.FlagSet) {
	f.StringVar(&g.color, "color", "auto", "colours: auto, yes or no")
	f.StringVarP(&g.format, "output", "o", "", "output `format`: json, yaml, csv, value, flat, tab=<header>:<path>,... or template=<text>")
	f.StringVar(&g.format, "format", "", "")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "no log on the console")
	f.BoolVar(&g.debug, "debug", false, "the whole log on the console")
	f.BoolVar(&g.debug, "trace", false, "")
	f.Bool("caller", false, "")
	for _, name := range []string{"format", "trace", "caller"} {
		f.Lookup(name).Hidden = true
	}
}

func (g *globals) apply(p app.Process) error {
	return p.Streams.SetColor(g.color)
}

// selectorFlags are the two spellings of the selector of a subsystem of objects.
func selectorFlags(f *pflag.FlagSet) {
	f.StringP("selector", "s", "", "the objects to act on")
	f.String("service", "", "")
	f.Bool("ignore-not-found", false, "an object that does not exist is no failure")
	f.Lookup("service").Hidden = true
}

func selectorOf(cmd *cobra.Command) string {
	for _, name := range []string{"selector", "service"} {
		if f := cmd.Flag(name); f != nil && f.Value.String() != "" {
			return f.Value.String()
		}
	}
	return ""
}
