package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
	"github.com/holdfast-ops/holdfast/internal/om/config"
)

const (
	// maxTracked bounds a tracked file, in bytes.
	maxTracked = 8 << 20
	// maxOutput bounds a tracked output: the runner keeps no more.
	maxOutput = 1 << 20
	// maxFiles bounds how many files are tracked.
	maxFiles = 20_000
	// commandLimit bounds how long a tracked command may run.
	commandLimit = 30 * time.Second
	// commandsLimit bounds all of them together.
	commandsLimit = 5 * time.Minute
	// readLimit bounds the wait for what a tracked file has not yet: those of the
	// kernel may never have any, as /proc/kmsg.
	readLimit = 5 * time.Second
)

// Sysreport is what changed in the configuration of a node since the last report.
type Sysreport struct {
	Node    string    `json:"node"`
	At      time.Time `json:"at"`
	Full    bool      `json:"full"` // every tracked file is here, not only what changed
	Changed []Tracked `json:"changed"`
	Deleted []string  `json:"deleted"`
	Errors  []string  `json:"errors"` // what could not be tracked, and why
}

// Tracked is a file, or the output of a command.
type Tracked struct {
	Path    string      `json:"path"` // of the file; "CMD <command>" for an output
	Mode    fs.FileMode `json:"mode"`
	UID     uint32      `json:"uid"`
	GID     uint32      `json:"gid"`
	ModTime time.Time   `json:"mtime,omitzero"`
	Size    int         `json:"size"`
	Content string      `json:"content"`          // secrets masked
	Binary  bool        `json:"binary,omitempty"` // the content is left out
	Sum     string      `json:"-"`
}

// mask is what a secret reads as in a report.
const mask = "xxxx"

// Report reports what changed since the last report, everything when force is
// set or there was none. What it reports is remembered once [Node.Reported] says so.
func (n Node) Report(ctx context.Context, force bool) (Sysreport, error) {
	r := Sysreport{Node: n.Host.Hostname, At: time.Now(), Changed: []Tracked{}, Deleted: []string{}, Errors: []string{}}
	known := map[string]string{}
	there, err := n.last(reportTracked+"-sums", &known)
	if err != nil {
		return r, err
	}
	r.Full = force || !there
	t := &tracking{node: n, found: map[string]Tracked{}}
	t.agent()
	t.items(ctx)
	if err := ctx.Err(); err != nil {
		return r, context.Cause(ctx)
	}
	sums := map[string]string{}
	for name, f := range t.found {
		sums[name] = f.Sum
		if r.Full || known[name] != f.Sum {
			r.Changed = append(r.Changed, f)
		}
	}
	for name := range known {
		if _, ok := sums[name]; !ok {
			r.Deleted = append(r.Deleted, name)
		}
	}
	slices.SortFunc(r.Changed, func(a, b Tracked) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(r.Deleted)
	r.Errors = append(r.Errors, t.errors...)
	if err := n.Keep(reportTracked, r); err != nil {
		return r, err
	}
	return r, n.Keep(reportTracked+"-sums", sums)
}

// tracking gathers what is tracked.
type tracking struct {
	node   Node
	found  map[string]Tracked
	errors []string
	spent  time.Duration // by commands
}

func (t *tracking) fail(what string, err error) {
	t.errors = append(t.errors, what+": "+err.Error())
}

// agent tracks the configurations of the agent.
func (t *tracking) agent() {
	etc := t.node.Host.Paths.Etc()
	t.walk(etc, func(name string) bool {
		return strings.HasSuffix(name, ".conf") && !strings.HasPrefix(filepath.Base(name), ".")
	})
	t.walk(filepath.Join(etc, "sysreport.conf.d"), func(string) bool { return true })
}

// items tracks what the files of sysreport.conf.d list.
func (t *tracking) items(ctx context.Context) {
	dir := filepath.Join(t.node.Host.Paths.Etc(), "sysreport.conf.d")
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.fail(dir, err)
		}
		return
	}
	var items []Item
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		data, err := readPrivate(name)
		if err != nil {
			t.fail(name, err)
			continue
		}
		listed, wrong := ParseItems(string(data))
		for _, w := range wrong {
			t.fail(name, w)
		}
		items = append(items, listed...)
	}
	var excluded []string
	for _, i := range items {
		if i.Kind == "EXC" {
			excluded = append(excluded, i.Text)
		}
	}
	kept := func(name string) bool {
		return !slices.ContainsFunc(excluded, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return err == nil && ok || strings.HasPrefix(name, strings.TrimSuffix(pattern, "/")+"/")
		})
	}
	for _, i := range items {
		switch i.Kind {
		case "FILE":
			if kept(i.Text) {
				t.file(i.Text)
			}
		case "DIR":
			t.walk(i.Text, kept)
		case "GLOB":
			t.glob(i.Text, kept)
		case "CMD":
			t.command(ctx, i.Text)
		}
	}
}

// readPrivate reads a file that belongs to whoever runs the agent, or to root, and
// that nobody else may write: it says what commands to run.
func readPrivate(name string) (data []byte, err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("ignored: it is not a file")
	case !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return nil, errors.New("ignored: it must belong to root")
	case info.Mode()&0o022 != 0:
		return nil, errors.New("ignored: others may write it")
	}
	return io.ReadAll(io.LimitReader(file, maxTracked))
}

// Item is a line of a file of sysreport.conf.d.
type Item struct{ Kind, Text string }

// ParseItems reads the lines of a file of sysreport.conf.d: FILE, DIR, GLOB, EXC
// or CMD, and what. The lines that are something else are told.
func ParseItems(data string) (items []Item, wrong []error) {
	n := 0
	for line := range strings.Lines(data) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		kind, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		fail := func(reason string) { wrong = append(wrong, fmt.Errorf("line %d: %s", n, reason)) }
		switch {
		case !slices.Contains([]string{"FILE", "DIR", "GLOB", "EXC", "CMD"}, kind):
			fail(fmt.Sprintf("%q is none of FILE, DIR, GLOB, EXC and CMD", kind))
		case text == "":
			fail(kind + " of what?")
		case kind != "CMD" && !path.IsAbs(text):
			fail(fmt.Sprintf("%s %s: write an absolute name", kind, text))
		case kind == "GLOB" || kind == "EXC":
			if _, err := path.Match(text, ""); err != nil {
				fail(fmt.Sprintf("%s %s: %s", kind, text, err))
				continue
			}
			items = append(items, Item{kind, text})
		case kind == "CMD":
			if _, err := config.ParseShlex(text); err != nil {
				fail(fmt.Sprintf("CMD %s: %s", text, err))
				continue
			}
			items = append(items, Item{kind, text})
		default:
			items = append(items, Item{kind, path.Clean(text)})
		}
	}
	return items, wrong
}

func (t *tracking) glob(pattern string, kept func(string) bool) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.fail("GLOB "+pattern, err)
		return
	}
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil || !kept(name):
		case info.IsDir():
			t.walk(name, kept)
		default:
			t.file(name)
		}
	}
}

// walk tracks the files below a directory. Links to directories are not followed.
func (t *tracking) walk(dir string, kept func(string) bool) {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			t.fail(name, err)
			return nil
		case d.IsDir() || !kept(name):
			return nil
		}
		t.file(name)
		return nil
	})
	if err != nil {
		t.fail(dir, err)
	}
}

// file tracks a file; one that is not there is not tracked.
func (t *tracking) file(name string) {
	if _, known := t.found[name]; known {
		return
	}
	if len(t.found) >= maxFiles {
		if len(t.found) == maxFiles && !slices.Contains(t.errors, tooMany) {
			t.errors = append(t.errors, tooMany)
		}
		return
	}
	f, err := readTracked(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		t.fail(name, err)
		return
	}
	if strings.HasPrefix(name, t.node.Host.Paths.Etc()+"/") {
		f.Content = Mask(f.Content)
	}
	t.add(f)
}

const tooMany = "more files than can be tracked: the others are left out"

func (t *tracking) add(f Tracked) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %d %d\n%s", f.Mode, f.UID, f.GID, f.Content)
	f.Sum = hex.EncodeToString(sum.Sum(nil))
	if !utf8.ValidString(f.Content) || strings.ContainsRune(f.Content, 0) {
		f.Content, f.Binary = "", true
	}
	t.found[f.Path] = f
}

func readTracked(name string) (f Tracked, err error) {
	// A pipe or a device must not hold the report up.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, errors.New("not a file")
	}
	data, err := readWithin(file, readLimit)
	if err != nil {
		return f, err
	}
	if len(data) > maxTracked {
		return f, fmt.Errorf("larger than %d bytes", maxTracked)
	}
	f = Tracked{Path: name, Mode: info.Mode(), ModTime: info.ModTime().UTC(), Size: len(data), Content: string(data)}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.UID, f.GID = st.Uid, st.Gid
	}
	return f, nil
}

// readWithin reads a file that was opened not to block.
func readWithin(file *os.File, limit time.Duration) ([]byte, error) {
	// A file that never makes a reader wait has no deadline, and needs none.
	if err := file.SetReadDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTracked+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("it has no end after %s", limit)
	}
	return data, err
}

// command tracks the output of a command, run without a shell.
func (t *tracking) command(ctx context.Context, text string) {
	argv, err := config.ParseShlex(text)
	if err != nil || len(argv) == 0 {
		return // told by the reading of the items
	}
	if t.spent >= commandsLimit {
		t.fail("CMD "+text, fmt.Errorf("not run: those before it took %s", commandsLimit))
		return
	}
	began := time.Now()
	defer func() { t.spent += time.Since(began) }()
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("ended: it still ran after %s", commandLimit))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	endless := fmt.Errorf("ended: it prints more than %d bytes", maxOutput)
	printed := 0
	out, err := t.node.Host.Runner.Run(ctx, host.Cmd{
		Argv: argv, Dir: "/", Env: []string{"PATH=" + launch.DefaultPath, "LC_ALL=C"},
		OnLine: func(_ bool, line string) { // one at a time
			if printed += len(line) + 1; printed > maxOutput {
				stop(endless)
			}
		},
	})
	switch {
	case ctx.Err() != nil:
		t.fail("CMD "+text, context.Cause(ctx))
		return
	case err != nil:
		t.fail("CMD "+text, err)
		return
	case len(out.Stdout) >= maxOutput:
		t.fail("CMD "+text, endless)
		return
	}
	t.add(Tracked{Path: "CMD " + text, Mode: 0o600, Size: len(out.Stdout), Content: string(out.Stdout)})
}

// Mask hides the secrets of a configuration of the agent: the secrets of the
// cluster, the passwords, what the collector knows the node by, and the sealed
// keys; in the comments and in the lines that another one hides too. A text that
// is no configuration is hidden as a whole.
func Mask(content string) string {
	doc, err := config.Parse([]byte(content))
	if err != nil {
		return mask + "\n"
	}
	for _, section := range doc.Sections() {
		for _, k := range doc.Keys(section) {
			value, _ := doc.Get(k)
			if !secretKey(section, k.Option, value) {
				continue
			}
			if err := doc.Set(k, mask); err != nil {
				return mask + "\n"
			}
		}
	}
	var masked strings.Builder
	section := ""
	for line := range strings.Lines(string(doc.Bytes())) {
		masked.WriteString(maskLine(&section, line))
	}
	return masked.String()
}

// maskLine hides the value of a line, a comment included.
func maskLine(section *string, line string) string {
	text := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#; \t"))
	if name, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(name, "]") {
		*section = strings.TrimSuffix(name, "]")
		return line
	}
	name, value, ok := strings.Cut(line, "=")
	if !ok {
		return line
	}
	option, _, _ := strings.Cut(strings.Trim(name, "#; \t"), "@")
	if !secretKey(*section, option, strings.TrimSpace(value)) {
		return line
	}
	return name + "= " + mask + "\n"
}

func secretKey(section, option, value string) bool {
	if value == "" || value == mask {
		return false
	}
	name := strings.ToLower(option)
	switch {
	case name == "secrets", name == "secrets_environment":
		return false // names of keys
	case strings.Contains(name, "secret"), strings.Contains(name, "password"), strings.Contains(name, "passwd"), strings.Contains(name, "token"):
		// "from system/sec/x key y" says where the secret is.
		return !strings.HasPrefix(value, "from ")
	case section == "node" && (name == "uuid" || name == "prkey"):
		return true
	}
	return strings.HasPrefix(value, "crypt:")
}
