// Package install lays keys of cfg and sec objects down as files, in the
// directory a resource holds: what the install keyword of the filesystems and of
// the volumes does.
//
//	keyword -> [Parse] -> items -> keys -> [Render] -> files -> signals, event
//	                                                     \-> [Record]
//
// Nothing is written outside of the directory, whatever links it holds and
// whatever the keys are called. A file whose content did not change is left as
// it is. The record of what was read lets the daemon install again when a key
// changes, see [Record.Outdated].
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Settings are the keywords that tell what is installed.
type Settings struct {
	Lines       []string // install
	Configs     []string
	Secrets     []string
	Directories []string
	Signal      string
	DirPerm     *fs.FileMode
}

// Keywords declares them.
func (s *Settings) Keywords(k *keyword.Table) {
	k.Shlex(&s.Lines, "install", "The keys of cfg and sec objects to lay down as files, and the directories to make. An item is a place below the directory of the resource, which begins with a slash, followed by its options: from <path> key <name or glob>, mode, user, group, signal <signal>:<resource>, template, source <url or file>, required. A place that ends with a slash, has no from, or takes a glob of keys is a directory.").
		Scopable().Check(checkLines).Sections(signaled).Eg("/etc/app.conf from ./cfg/app key app.conf mode 0640 signal HUP:app#1")
	k.Shlex(&s.Configs, "configs", "The keys of cfg objects of the namespace to lay down as files, as <name>/<key or glob>:<place>. The install keyword does more.").
		Scopable().Check(checkFormer("configs", object.KindCfg)).Eg("app/app.conf:etc/app.conf")
	k.Shlex(&s.Secrets, "secrets", "The keys of sec objects of the namespace to lay down as files, as <name>/<key or glob>:<place>. The install keyword does more.").
		Scopable().Check(checkFormer("secrets", object.KindSec)).Eg("app/*.pem:etc/tls/")
	k.List(&s.Directories, "directories", "The directories to make below the directory of the resource.").
		Scopable().Check(checkDirectories).Eg("log run/cache")
	k.String(&s.Signal, "signal", "The signal to send when a file of configs or secrets changes, as <signal>:<resource>,<resource>. Items of install say their own.").
		Scopable().Check(checkSignal).Sections(signaledBy).Eg("HUP:app#1")
	k.FileMode(&s.DirPerm, "dirperm", "The mode of the directories made for the files, in octal.").
		Scopable().DefaultText("755").Eg("750")
}

func checkLines(text string) error {
	words, err := config.ParseShlex(text)
	if err != nil {
		return err
	}
	_, err = Parse(words, object.RootNamespace)
	return err
}

func checkFormer(option string, kind object.Kind) func(string) error {
	return func(text string) error {
		words, err := config.ParseShlex(text)
		if err != nil {
			return err
		}
		_, err = former(words, option, object.RootNamespace, kind, nil)
		return err
	}
}

func checkDirectories(text string) error {
	_, err := formerDirectories(strings.Fields(text))
	return err
}

func checkSignal(text string) error {
	_, err := formerSignal(text)
	return err
}

// signaled lists the resources an install keyword sends signals to.
func signaled(text string) []string {
	words, err := config.ParseShlex(text)
	if err != nil {
		return nil
	}
	items, err := Parse(words, object.RootNamespace)
	if err != nil {
		return nil
	}
	var rids []string
	for _, i := range items {
		for _, s := range i.Signals {
			rids = append(rids, s.RIDs...)
		}
	}
	return rids
}

func signaledBy(text string) []string {
	signals, err := formerSignal(text)
	if err != nil {
		return nil
	}
	var rids []string
	for _, s := range signals {
		rids = append(rids, s.RIDs...)
	}
	return rids
}

// Any tells whether there is something to install.
func (s *Settings) Any() bool {
	return len(s.Lines)+len(s.Configs)+len(s.Secrets)+len(s.Directories) > 0
}

// Items lists what is to be installed for an object of a namespace, in order.
func (s *Settings) Items(namespace string) ([]Item, error) {
	signals, err := formerSignal(s.Signal)
	if err != nil {
		return nil, err
	}
	all, err := formerDirectories(s.Directories)
	if err != nil {
		return nil, err
	}
	for _, read := range []func() ([]Item, error){
		func() ([]Item, error) { return former(s.Configs, "configs", namespace, object.KindCfg, signals) },
		func() ([]Item, error) { return former(s.Secrets, "secrets", namespace, object.KindSec, signals) },
		func() ([]Item, error) { return Parse(s.Lines, namespace) },
	} {
		items, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// Target is where files are installed.
type Target struct {
	Head *os.Root
	Name string // of the directory, for messages
	// User and Group own what the items give no owner, when set.
	User, Group string
	// Seed makes the keys that do not exist out of their source: in a provision.
	Seed bool
}

// UnauthorizedError refuses the keys of an object that does not share them.
type UnauthorizedError struct {
	To   string
	From object.Path
	Key  string
}

// Error names the file and the key.
func (e *UnauthorizedError) Error() string {
	return fmt.Sprintf("unauthorized install %s from %s key %s", e.To, e.From, e.Key)
}

// ExitCode is that of a failure.
func (*UnauthorizedError) ExitCode() int { return 1 }

// run is one install.
type run struct {
	settings *Settings
	env      resource.Env
	target   Target
	tree     tree
	dirPerm  fs.FileMode

	record  Record
	written []string
	signals map[delivery]bool
	order   []delivery
}

// delivery is a signal to one resource.
type delivery struct {
	number syscall.Signal
	rid    string
}

// Install makes the directories and lays down the keys. An item that fails is
// logged, and the others are installed all the same, unless it is required.
func (s *Settings) Install(ctx context.Context, e resource.Env, t Target) error {
	items, err := s.Items(e.Path.Namespace)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return Forget(e.StateDir)
	}
	r := &run{
		settings: s, env: e, target: t, dirPerm: 0o755, signals: map[delivery]bool{},
		tree:   tree{root: t.Head, head: t.Name, say: e.Infof},
		record: Record{Sources: map[string]string{}, Files: []File{}},
	}
	if s.DirPerm != nil {
		r.dirPerm = *s.DirPerm
	}
	if r.record.Boot, err = proc.BootID(); err != nil {
		return err
	}
	err = r.items(ctx, items)
	// What was written is told even when the rest failed: who reads it must know.
	if rerr := r.record.write(e.StateDir); rerr != nil {
		e.Warnf("the record of the install is not kept, the files will not follow their keys: %s", rerr)
	}
	r.tell(ctx)
	return err
}

func (r *run) items(ctx context.Context, items []Item) error {
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		err := r.item(ctx, item)
		if err == nil {
			continue
		}
		if _, refused := errors.AsType[*UnauthorizedError](err); refused {
			r.record.Errors = append(r.record.Errors, err.Error())
			return err
		}
		err = fmt.Errorf("install %s: %w", item.To, err)
		r.record.Errors = append(r.record.Errors, err.Error())
		if item.Required || ctx.Err() != nil {
			return err
		}
		r.env.Errorf("%s", err)
	}
	return nil
}

func (r *run) item(ctx context.Context, item Item) error {
	own, err := owner(first(item.User, r.target.User), first(item.Group, r.target.Group))
	if err != nil {
		return err
	}
	if item.Key == "" {
		return r.tree.directory(strings.TrimPrefix(item.To, "/"), item.Mode, r.dirPerm, own)
	}
	if err := r.permit(item.To, item.From, item.Key); err != nil {
		return err
	}
	keys, err := r.keys(ctx, item)
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		if err := r.file(ctx, item, key, own); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// permit refuses the objects that do not share their keys, and remembers the
// state of those that do before they are read: what changes meanwhile is read
// again.
func (r *run) permit(to string, from object.Path, key string) error {
	in := r.env.Installation
	if in.Keys == nil {
		return errors.New("no object can be read here")
	}
	if _, known := r.record.Sources[from.FQN()]; !known && in.Version != nil {
		r.record.Sources[from.FQN()] = in.Version(from)
	}
	may, err := in.Keys.MayDecode(from, r.env.Path.Namespace)
	if err != nil {
		return err
	}
	if !may {
		return &UnauthorizedError{To: to, From: from, Key: key}
	}
	return nil
}

// keys lists the keys an item takes.
func (r *run) keys(ctx context.Context, item Item) ([]string, error) {
	names, err := r.env.Installation.Keys.Keys(item.From)
	if err != nil {
		return nil, err
	}
	if !object.HasGlob(item.Key) {
		if slices.Contains(names, item.Key) {
			return []string{item.Key}, nil
		}
		if item.Source == "" || !r.target.Seed {
			return nil, fmt.Errorf("%s has no key %s", item.From, item.Key)
		}
		return []string{item.Key}, r.seed(ctx, item)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !object.Glob(item.Key, name) })
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no key that matches %s", item.From, item.Key)
	}
	return names, nil
}

// file lays down one key.
func (r *run) file(ctx context.Context, item Item, key string, own ownership) error {
	rel, err := item.below(key)
	if err != nil {
		return err
	}
	if rel == "" {
		return fmt.Errorf("%s is the directory of the resource: name a file in it, or end the place with a slash", r.target.Name)
	}
	content, err := r.env.Installation.Keys.Decode(item.From, key)
	if err != nil {
		return err
	}
	read := []Source{{item.From.FQN(), key}}
	if item.Template {
		if content, err = r.render(ctx, item, key, string(content), &read); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o600)
	if item.From.Kind == object.KindCfg {
		mode = 0o644
	}
	if item.Mode != nil {
		mode = *item.Mode
	}
	if err := r.tree.parents(rel, r.dirPerm, own, " to host key "+key); err != nil {
		return err
	}
	all, same, there := r.tree.same(rel, content, mode, own)
	if !all {
		word := "install"
		switch {
		case same:
			word = "set mode and owner of"
		case there:
			word = "reinstall"
		}
		r.env.Infof("%s key %s from %s to %s with owner %s:%s perm %s", word, key, item.From, r.tree.name(rel), own.user, own.group, mode)
		if err := r.tree.file(rel, content, mode, own); err != nil {
			return err
		}
	}
	r.record.Files = append(r.record.Files, File{Name: r.tree.name(rel), Read: read, Size: int64(len(content)), Mode: octal(mode)})
	if same {
		return nil
	}
	r.written = append(r.written, r.tree.name(rel))
	for _, s := range item.Signals {
		for _, rid := range s.RIDs {
			if to := (delivery{s.Number, rid}); !r.signals[to] {
				r.signals[to] = true
				r.order = append(r.order, to)
			}
		}
	}
	return nil
}

// render executes a key that is a template, and adds the keys that it reads.
func (r *run) render(ctx context.Context, item Item, key, text string, read *[]Source) ([]byte, error) {
	in := r.env.Installation
	f := Facts{Ref: in.Ref, Networks: in.Networks}
	if in.Values != nil {
		f.Values, f.Failed = in.Values()
	}
	f.Key = func(path, name string) ([]byte, error) {
		from, err := storePath(path, r.env.Path.Namespace)
		if err != nil {
			return nil, err
		}
		if err := r.permit(item.To, from, name); err != nil {
			return nil, err
		}
		if s := (Source{from.FQN(), name}); !slices.Contains(*read, s) {
			*read = append(*read, s)
		}
		return in.Keys.Decode(from, name)
	}
	return Render(ctx, item.From.String()+":"+key, text, f)
}

// tell publishes what was written and sends the signals.
func (r *run) tell(ctx context.Context) {
	in := r.env.Installation
	if len(r.written) > 0 && in.Installed != nil {
		in.Installed(ctx, r.written)
	}
	if in.Signal == nil {
		return
	}
	for _, s := range r.order {
		if err := in.Signal(ctx, s.rid, s.number); err != nil {
			r.env.Warnf("send %s to %s: %s", signalName(s.number), s.rid, err)
		}
	}
}

// Remarks are what a status says of the last install: the items that failed, and
// the files that are not there any more.
func Remarks(stateDir string) []cluster.ResourceLogEntry {
	record, err := ReadRecord(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []cluster.ResourceLogEntry{{Level: "warn", Message: err.Error()}}
	}
	if boot, err := proc.BootID(); err != nil || boot != record.Boot {
		return nil
	}
	var remarks []cluster.ResourceLogEntry
	for _, message := range record.Errors {
		remarks = append(remarks, cluster.ResourceLogEntry{Level: "warn", Message: message})
	}
	for _, f := range record.Files {
		if _, err := os.Lstat(filepath.Clean(f.Name)); errors.Is(err, fs.ErrNotExist) {
			remarks = append(remarks, cluster.ResourceLogEntry{Level: "warn", Message: f.Name + " was installed and is not there any more"})
		}
	}
	return remarks
}
