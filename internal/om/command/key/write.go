package key

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// write gives keys their values: it adds or changes them.
type write struct {
	action   string
	writer   Writer
	flags    *pflag.FlagSet
	name     string
	from     string
	value    string
	waitLock time.Duration
}

func (w *write) Flags(f *pflag.FlagSet) {
	w.flags = f
	nameFlag(f, &w.name, "the `key`; by default the name of the file")
	f.StringVar(&w.from, "from", "", "read the value from a `file`, the files of a directory, a URL, a device, or - for the standard input")
	f.StringVar(&w.value, "value", "", "the value, as `text`; others see it in the list of processes")
	f.DurationVar(&w.waitLock, "waitlock", 30*time.Second, "how long to wait for another change in progress")
	f.Bool("no-lock", false, "")
	f.Lookup("no-lock").Hidden = true
}

func (w *write) Run(ctx context.Context, c *verb.Call) error {
	if w.flags.Changed("from") == w.flags.Changed("value") {
		return app.Usage("give the value once: --from FILE, --from - for the standard input, or --value TEXT")
	}
	paths, err := c.Objects(ctx)
	if err != nil || len(paths) == 0 {
		return err
	}
	values, device, err := w.values(ctx, c, paths)
	if err != nil {
		return err
	}
	made := ""
	if device && isPassword(paths, w.name) {
		// Nobody can type what a device gives, nor read it again once it is hashed.
		made = base64.RawURLEncoding.EncodeToString(values[0].value)
		values[0].value = []byte(made)
	}
	changes := make(api.PatchDataKeys, len(values))
	for i, v := range values {
		changes[i] = api.PatchDataKey{Action: w.action, Name: v.name, Bytes: &v.value}
	}
	err = verb.Each(ctx, paths, func(ctx context.Context, p object.Path) error {
		return w.writer.ChangeKeys(ctx, p, changes, w.waitLock)
	})
	if err != nil || made == "" {
		return err
	}
	c.Say("this password was made of what %s gave. It is kept as a hash and not shown again:", w.from)
	return c.Print(made)
}

// isPassword tells the key that is kept as a hash.
func isPassword(paths []object.Path, name string) bool {
	for _, p := range paths {
		if p.Kind != object.KindUsr {
			return false
		}
	}
	return name == "password"
}

// values returns the keys to write, and whether a device gave the value.
func (w *write) values(ctx context.Context, c *verb.Call, paths []object.Path) (values []named, device bool, err error) {
	s := source{from: w.from, name: w.name, secret: paths[0].Kind != object.KindCfg}
	if w.flags.Changed("value") {
		return []named{{w.name, []byte(w.value)}}, false, needName(w.name)
	}
	return s.read(ctx, c)
}
