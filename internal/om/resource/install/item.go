package install

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Item is a directory to make, or keys to lay down as files.
type Item struct {
	To       string // where, an absolute name below the directory of the resource
	Dir      bool   // To is a directory: made, and the keys are files in it
	From     object.Path
	Key      string // a name or a glob; empty: nothing but the directory
	Mode     *fs.FileMode
	User     string
	Group    string
	Signals  []Signal
	Template bool
	Source   string // what the key is made of when it does not exist
	Required bool
}

// Signal is what to send when a file changes, and to which resources.
type Signal struct {
	Number syscall.Signal
	RIDs   []string
}

// Name is the name of the signal, as SIGHUP.
func (s Signal) Name() string { return signalName(s.Number) }

func signalName(n syscall.Signal) string {
	if name := unix.SignalName(n); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(n))
}

// String is the item as it is written.
func (i Item) String() string {
	words := []string{i.To}
	if i.Dir && !strings.HasSuffix(i.To, "/") {
		words[0] += "/"
	}
	add := func(option, value string) {
		if value != "" {
			words = append(words, option, value)
		}
	}
	if i.Key != "" {
		add("from", i.From.FQN())
		add("key", i.Key)
	}
	if i.Mode != nil {
		add("mode", octal(*i.Mode))
	}
	add("user", i.User)
	add("group", i.Group)
	for _, s := range i.Signals {
		add("signal", strconv.Itoa(int(s.Number))+":"+strings.Join(s.RIDs, ","))
	}
	if i.Template {
		words = append(words, "template")
	}
	add("source", i.Source)
	if i.Required {
		words = append(words, "required")
	}
	for n, w := range words {
		words[n] = quote(w)
	}
	return strings.Join(words, " ")
}

// quote protects a word for [config.ParseShlex].
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\r\v\f'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Parse reads the words of an install keyword, of an object of a namespace. Each
// item begins with a name that begins with a slash, options follow:
//
//	<to> [from <path> key <glob>] [mode <octal>] [user <u>] [group <g>]
//	     [signal <signal>:<rid>[,<rid>]...]... [template] [source <uri>] [required]
func Parse(words []string, namespace string) ([]Item, error) {
	var items []Item
	for len(words) > 0 {
		item, n, err := parseItem(words, namespace)
		if err != nil {
			return nil, err
		}
		items, words = append(items, item), words[n:]
	}
	return items, nil
}

func parseItem(words []string, namespace string) (item Item, n int, err error) {
	item.To = words[0]
	fail := func(format string, a ...any) (Item, int, error) {
		return Item{}, 0, fmt.Errorf("install "+words[0]+": "+format, a...)
	}
	if !strings.HasPrefix(item.To, "/") {
		return Item{}, 0, fmt.Errorf("install: %q is no place: write a name that begins with a slash, then its options: from, key, mode, user, group, signal, template, source, required", item.To)
	}
	seen := map[string]bool{}
	for n = 1; n < len(words) && !strings.HasPrefix(words[n], "/"); {
		option := words[n]
		if seen[option] && option != "signal" {
			return fail("%s is given twice", option)
		}
		seen[option] = true
		if option == "template" || option == "required" {
			item.Template, item.Required = seen["template"], seen["required"]
			n++
			continue
		}
		if !slices.Contains(valued(), option) {
			return fail("unknown option %q: use from, key, mode, user, group, signal, template, source or required", option)
		}
		if n+1 == len(words) {
			return fail("%s has no value", option)
		}
		if err := item.set(option, words[n+1], namespace); err != nil {
			return fail("%s %s: %w", option, words[n+1], err)
		}
		n += 2
	}
	switch {
	case seen["from"] && !seen["key"]:
		return fail("from %s needs a key: name one, or write key '*' for all of them", item.From)
	case seen["key"] && !seen["from"]:
		return fail("key %s of which object? write from <path>", item.Key)
	case !seen["from"] && (item.Template || item.Source != "" || len(item.Signals) > 0):
		return fail("without from it is a directory, which has no template, no source and no signal")
	case item.Source != "" && object.HasGlob(item.Key):
		return fail("source %s is for one key, and %q is a glob", item.Source, item.Key)
	}
	return item, n, item.finish()
}

// valued lists the options that have a value.
func valued() []string {
	return []string{"from", "key", "mode", "user", "group", "signal", "source"}
}

func (i *Item) set(option, value, namespace string) (err error) {
	if value == "" {
		return errors.New("empty")
	}
	switch option {
	case "from":
		i.From, err = storePath(value, namespace)
	case "key":
		i.Key, err = value, object.CheckGlob(value)
	case "mode":
		var mode fs.FileMode
		mode, err = config.ParseFileMode(value)
		i.Mode = &mode
	case "user":
		i.User = value
	case "group":
		i.Group = value
	case "signal":
		var s Signal
		s, err = parseSignal(value)
		i.Signals = append(i.Signals, s)
	case "source":
		i.Source, err = value, checkSource(value)
	}
	return err
}

// storePath reads the path of an object that holds keys.
func storePath(text, namespace string) (object.Path, error) {
	p, err := object.ParseRelative(text, namespace)
	if err != nil {
		return p, err
	}
	if !p.Kind.Stores() {
		return p, fmt.Errorf("%s is a %s, which holds no key: name a cfg or a sec", p, p.Kind)
	}
	return p, nil
}

// finish checks the place once the rest is known.
func (i *Item) finish() error {
	if strings.ContainsFunc(i.To, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("install %q: a name holds no control character", i.To)
	}
	if slices.Contains(strings.Split(i.To, "/"), "..") {
		return fmt.Errorf("install %s: a name below the directory of the resource holds no .. element", i.To)
	}
	i.Dir = strings.HasSuffix(i.To, "/") || i.Key == "" || object.HasGlob(i.Key)
	i.To = path.Clean(i.To)
	return nil
}

// below returns the name of the file of a key, relative to the directory of the
// resource. Who writes keys chooses names, and none may lead elsewhere.
func (i Item) below(key string) (string, error) {
	if !i.Dir {
		return strings.TrimPrefix(i.To, "/"), nil
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("the key name %q is no name of a file below %s", key, i.To)
		}
	}
	return strings.TrimPrefix(path.Join(i.To, key), "/"), nil
}

// parseSignal reads <signal>:<rid>[,<rid>].
func parseSignal(text string) (Signal, error) {
	word, list, ok := strings.Cut(text, ":")
	if !ok {
		return Signal{}, errors.New("write <signal>:<resource>, as HUP:app#1")
	}
	number, err := signalNumber(word)
	if err != nil {
		return Signal{}, err
	}
	s := Signal{Number: number}
	for rid := range strings.SplitSeq(list, ",") {
		if _, _, ok := resource.SplitID(rid); !ok {
			return Signal{}, fmt.Errorf("%q is no resource: write <signal>:<resource>, as HUP:app#1", rid)
		}
		s.RIDs = append(s.RIDs, rid)
	}
	return s, nil
}

func signalNumber(word string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(word); err == nil {
		if n < 1 || n > 64 {
			return 0, fmt.Errorf("signal %d does not exist: numbers go from 1 to 64", n)
		}
		return syscall.Signal(n), nil
	}
	name := strings.ToUpper(word)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if n := unix.SignalNum(name); n != 0 {
		return n, nil
	}
	return 0, fmt.Errorf("signal %q does not exist: write its name, as HUP, or its number", word)
}

// octal prints a mode as it is written.
func octal(m fs.FileMode) string {
	bits := uint32(m.Perm())
	for _, special := range []struct {
		bit   fs.FileMode
		value uint32
	}{{fs.ModeSetuid, 0o4000}, {fs.ModeSetgid, 0o2000}, {fs.ModeSticky, 0o1000}} {
		if m&special.bit != 0 {
			bits |= special.value
		}
	}
	return fmt.Sprintf("%04o", bits)
}
