// Package key declares the commands on the keys of cfg, sec and usr objects:
// list, decode, add, change, edit, rename, remove and install.
package key

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/output"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Reader reads keys.
type Reader interface {
	// ListKeys describes the keys of an object.
	ListKeys(ctx context.Context, p object.Path) ([]api.DataKeyListItem, error)
	// DecodeKeys returns the keys a pattern designates.
	DecodeKeys(ctx context.Context, p object.Path, pattern string) (api.DataKeys, error)
}

// Writer changes keys.
type Writer interface {
	// ChangeKeys makes changes in one transaction. It waits that long for another
	// change in progress; 0: as long as usual.
	ChangeKeys(ctx context.Context, p object.Path, changes api.PatchDataKeys, waitLock time.Duration) error
}

// Editor lets the user edit a key.
type Editor interface {
	// KeyContent returns the value of a key.
	KeyContent(ctx context.Context, p object.Path, name string) (api.DataKeyContent, error)
	// ReplaceKey gives a key another value, unless its value is no more the one seen.
	ReplaceKey(ctx context.Context, p object.Path, name string, seen api.DataKeyContent, value []byte) error
	// EditFile opens a file in the editor of the user.
	EditFile(ctx context.Context, c *verb.Call, file string) error
}

type changer interface {
	Reader
	Writer
}

// Verbs returns the commands on keys.
func Verbs() []verb.Verb {
	verbs := []verb.Verb{
		{
			Path: "key list", Also: []string{"keys"}, Aliases: []string{"ls"},
			Short:   "List the keys",
			Example: "om ns1/cfg/app key list\nom cfg key list --match '*.conf'",
			New:     verb.Needs(func(r Reader) verb.Runner { return &list{reader: r} }),
		},
		{
			Path: "key decode", Also: []string{"decode"},
			Short: "Print the value of a key",
			Long: "Print the value of a key, byte for byte. A pattern prints the keys it matches, one after the other; -o json tells them apart.\n\n" +
				"The password of a user is kept as a hash: it cannot be printed.",
			Example: "om ns1/sec/web key decode --name certificate\nom ns1/cfg/app key decode --name '*.conf' -o json",
			New:     verb.Needs(func(r Reader) verb.Runner { return &decode{reader: r} }),
		},
		{
			Path: "key add", Also: []string{"add"},
			Short: "Add a key",
			Long: "Add a key, which must not exist. Its value is that of --from: a file, a URL, - for the standard input, or a device, of which 32 bytes are read. " +
				"The files of a directory become one key each, all in one transaction: their names, below --name when it is given.\n\n" +
				"A --value is seen by every user of the machine, in the list of its processes: give secrets with --from.",
			Example: "om ns1/cfg/app key add --name app.conf --from /tmp/app.conf\npass show web | om ns1/sec/web key add --name password --from -\nom system/usr/relay key add --name password --from /dev/urandom",
			New:     verb.Needs(func(w Writer) verb.Runner { return &write{action: "add", writer: w} }),
		},
		{
			Path: "key change", Also: []string{"change"},
			Short: "Change the value of a key",
			Long:  "Change the value of a key, which must exist. The value is given as to key add.",
			New:   verb.Needs(func(w Writer) verb.Runner { return &write{action: "change", writer: w} }),
		},
		{
			Path: "key edit", Aliases: []string{"ed"},
			Short: "Edit the value of a key with $EDITOR",
			Long:  "Open the value of a key in $VISUAL or $EDITOR, and give the key what was typed, unless somebody else changed it meanwhile.",
			New:   verb.Needs(func(e Editor) verb.Runner { return &edit{editor: e} }),
		},
		{
			Path: "key install", Also: []string{"install"},
			Short:   "Lay keys down again as files",
			Long:    "Lay down again the files that install lines made from these keys, in the instances that have them. The daemon does so by itself when a key changes.",
			Example: "om ns1/sec/web key install --name fullpem",
			New:     verb.Needs(func(in Installer) verb.Runner { return &install{installer: in} }),
		},
		{
			Path: "key rename", Also: []string{"rename"},
			Short:   "Give a key another name",
			Example: "om ns1/cfg/app key rename --name app.conf --to old.conf",
			New:     verb.Needs(func(w Writer) verb.Runner { return &rename{writer: w} }),
		},
		{
			Path: "key remove", Also: []string{"remove"}, Aliases: []string{"rm"},
			Short:   "Remove keys",
			Example: "om ns1/cfg/app key remove --name old.conf\nom ns1/cfg/app key remove --name 'conf.d/*'",
			New:     verb.Needs(func(c changer) verb.Runner { return &remove{changer: c} }),
		},
	}
	for i := range verbs {
		verbs[i].Group = "keys"
		verbs[i].Kinds = []object.Kind{object.KindCfg, object.KindSec, object.KindUsr}
	}
	return verbs
}

// nameFlag binds --name, and --key which is its former spelling.
func nameFlag(f *pflag.FlagSet, name *string, usage string) {
	f.StringVar(name, "name", "", usage)
	f.StringVar(name, "key", "", usage)
	f.Lookup("key").Hidden = true
}

func needName(name string) error {
	if name == "" {
		return app.Usage("say which key: --name NAME")
	}
	return nil
}

// list lists keys.
type list struct {
	reader Reader
	match  string
}

func (l *list) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.match, "match", "**", "only the keys of this `pattern`")
}

func (l *list) Run(ctx context.Context, c *verb.Call) error {
	paths, err := c.Described(ctx)
	if err != nil {
		return err
	}
	items := []api.DataKeyListItem{}
	for _, p := range paths {
		if len(paths) > 1 && !p.Kind.Stores() {
			continue
		}
		found, err := l.reader.ListKeys(ctx, p)
		if err != nil {
			return err
		}
		names, err := matching(l.match, found)
		if err != nil {
			return err
		}
		for _, i := range found {
			if slices.Contains(names, i.Name) {
				items = append(items, i)
			}
		}
	}
	return verb.Write(c, []output.Column[api.DataKeyListItem]{
		{Name: "OBJECT", Value: func(i api.DataKeyListItem) any { return i.Object }},
		{Name: "NODE", Wide: true, Value: func(i api.DataKeyListItem) any { return i.Node }},
		{Name: "NAME", Value: func(i api.DataKeyListItem) any { return i.Name }},
		{Name: "SIZE", Value: func(i api.DataKeyListItem) any { return i.Size }},
	}, items, items)
}

func matching(pattern string, items []api.DataKeyListItem) ([]string, error) {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Name
	}
	found, err := object.Among(pattern, names)
	if err != nil {
		return nil, app.Usage("%s: %s", pattern, err)
	}
	return found, nil
}

// missing says that there is no such key, with the exit code of what does not exist.
type missing struct {
	path    object.Path
	pattern string
}

// Error names the object.
func (e *missing) Error() string { return fmt.Sprintf("%s: no key is named %s", e.path, e.pattern) }

// ExitCode is that of what does not exist.
func (*missing) ExitCode() int { return 2 }

// decode prints values.
type decode struct {
	reader Reader
	name   string
}

func (d *decode) Flags(f *pflag.FlagSet) {
	nameFlag(f, &d.name, "the `key`, or a pattern")
}

func (d *decode) Run(ctx context.Context, c *verb.Call) error {
	if err := needName(d.name); err != nil {
		return err
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	type value struct {
		Object string `json:"object"`
		Name   string `json:"name"`
		Bytes  []byte `json:"bytes"`
	}
	values := []value{}
	for _, p := range paths {
		keys, err := d.reader.DecodeKeys(ctx, p, d.name)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return &missing{path: p, pattern: d.name}
		}
		for _, k := range keys {
			values = append(values, value{p.String(), k.Name, k.Bytes})
		}
	}
	if c.Structured() {
		return verb.Write[struct{}](c, nil, nil, values)
	}
	for _, v := range values {
		if _, err := c.Streams.Out.Write(v.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// rename gives a key another name.
type rename struct {
	writer Writer
	change api.PatchDataKey
}

func (r *rename) Flags(f *pflag.FlagSet) {
	nameFlag(f, &r.change.Name, "the `key`")
	f.StringVar(&r.change.To, "to", "", "its new `name`")
}

func (r *rename) Run(ctx context.Context, c *verb.Call) error {
	if err := needName(r.change.Name); err != nil {
		return err
	}
	if r.change.To == "" {
		return app.Usage("say the new name of the key: --to NAME")
	}
	r.change.Action = "rename"
	return change(ctx, c, r.writer, 0, api.PatchDataKeys{r.change})
}

// change makes the same changes in each object selected.
func change(ctx context.Context, c *verb.Call, w Writer, waitLock time.Duration, changes api.PatchDataKeys) error {
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	return verb.Each(ctx, paths, func(ctx context.Context, p object.Path) error { return w.ChangeKeys(ctx, p, changes, waitLock) })
}

// remove removes keys.
type remove struct {
	changer changer
	names   []string
}

func (r *remove) Flags(f *pflag.FlagSet) {
	f.StringSliceVar(&r.names, "name", nil, "the `keys`, or patterns")
	f.StringSliceVar(&r.names, "key", nil, "")
	f.Lookup("key").Hidden = true
}

func (r *remove) Run(ctx context.Context, c *verb.Call) error {
	if len(r.names) == 0 {
		return needName("")
	}
	paths, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	return verb.Each(ctx, paths, func(ctx context.Context, p object.Path) error {
		items, err := r.changer.ListKeys(ctx, p)
		if err != nil {
			return err
		}
		var changes api.PatchDataKeys
		for _, pattern := range r.names {
			found, err := matching(pattern, items)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return &missing{path: p, pattern: pattern}
			}
			for _, name := range found {
				if !slices.ContainsFunc(changes, func(c api.PatchDataKey) bool { return c.Name == name }) {
					changes = append(changes, api.PatchDataKey{Action: "remove", Name: name})
				}
			}
		}
		return r.changer.ChangeKeys(ctx, p, changes, 0)
	})
}
