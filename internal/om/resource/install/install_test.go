package install_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/install"
)

// keys are objects in memory.
type keys map[string]map[string]string // by path, then by key

func (k keys) Keys(p object.Path) ([]string, error) {
	if k[p.FQN()] == nil {
		return nil, &object.NotFoundError{What: p.String()}
	}
	return slices.Sorted(maps.Keys(k[p.FQN()])), nil
}

func (k keys) Decode(p object.Path, key string) ([]byte, error) {
	value, ok := k[p.FQN()][key]
	if !ok {
		return nil, fmt.Errorf("%s: no key %s", p, key)
	}
	return []byte(value), nil
}

func (k keys) Add(_ context.Context, p object.Path, key string, value []byte) error {
	if k[p.FQN()] == nil {
		return &object.NotFoundError{What: p.String()}
	}
	k[p.FQN()][key] = string(value)
	return nil
}

func (k keys) MayDecode(p object.Path, namespace string) (bool, error) {
	return p.Namespace == namespace || k[p.FQN()]["shared"] != "", nil
}

// place is a directory to install in, and what was said and sent.
type place struct {
	t    testing.TB
	dir  string
	env  resource.Env
	log  strings.Builder
	sent []string
	told []string
	seed bool
}

func newPlace(tb testing.TB, k keys) *place {
	tb.Helper()
	p := &place{t: tb, dir: tb.TempDir()}
	p.env = resource.Env{
		Path: object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}, RID: "fs#1", StateDir: filepath.Join(tb.TempDir(), "fs#1"),
		Log: slog.New(slog.NewTextHandler(&p.log, nil)),
		Installation: resource.Installation{
			Keys:    k,
			Version: func(of object.Path) string { return fmt.Sprint(k[of.FQN()]) },
			Values:  func() (map[string]string, map[string]error) { return map[string]string{"port": "80"}, nil },
			Ref:     func(name string) (string, error) { return "<" + name + ">", nil },
			Signal: func(_ context.Context, rid string, sig syscall.Signal) error {
				p.sent = append(p.sent, rid+" "+strconv.Itoa(int(sig)))
				return nil
			},
			Installed: func(_ context.Context, files []string) {
				for _, f := range files {
					p.told = append(p.told, strings.TrimPrefix(f, p.dir))
				}
			},
		},
	}
	return p
}

func (p *place) install(lines string) error {
	p.t.Helper()
	words, err := config.ParseShlex(lines)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.apply(&install.Settings{Lines: words})
}

func (p *place) apply(s *install.Settings) error {
	p.t.Helper()
	p.sent, p.told = nil, nil
	p.log.Reset()
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	return s.Install(p.t.Context(), p.env, install.Target{Head: root, Name: p.dir, Seed: p.seed})
}

func (p *place) must(lines string) {
	p.t.Helper()
	if err := p.install(lines); err != nil {
		p.t.Fatal(err)
	}
}

// files lists what is below the directory: name, mode, content.
func (p *place) files() []string {
	p.t.Helper()
	var list []string
	err := filepath.WalkDir(p.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == p.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := strings.TrimPrefix(name, p.dir) + " " + info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += " " + string(data)
		}
		list = append(list, line)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func stores() keys {
	return keys{
		"ns1/cfg/app": {"app.conf": "a=1", "more.conf": "b=2", "t": "port {{.port}} of {{ref \"nodename\"}} with {{key \"./sec/app\" \"password\"}}"},
		"ns1/sec/app": {"password": "s3cret"},
		"ns2/sec/app": {"password": "theirs"},
		"ns3/cfg/app": {"shared": "yes", "k": "v"},
	}
}

func TestKeysAreLaidDownAsFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, stores())
	p.must(`
		/etc/app.conf from ./cfg/app key app.conf
		/etc/password from ./sec/app key password
		/etc/all/ from ./cfg/app key *.conf mode 2640
		/shared from ns3/cfg/app key k
		/run/
		/log mode 1777
		/rendered from ./cfg/app key t template mode 0600
	`)
	want := []string{
		"/etc drwxr-xr-x",
		"/etc/all drwxr-xr-x",
		"/etc/all/app.conf grw-r----- a=1",
		"/etc/all/more.conf grw-r----- b=2",
		"/etc/app.conf -rw-r--r-- a=1",
		"/etc/password -rw------- s3cret",
		"/log dtrwxrwxrwx",
		"/rendered -rw------- port 80 of <nodename> with s3cret",
		"/run drwxr-xr-x",
		"/shared -rw-r--r-- v",
	}
	if diff := cmp.Diff(want, p.files()); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{
		"create directory " + p.dir + "/etc to host key app.conf",
		"install key app.conf from ns1/cfg/app to " + p.dir + "/etc/app.conf with owner : perm -rw-r--r--",
	} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, p.log.String())
		}
	}
	if strings.Contains(p.log.String(), "s3cret") {
		t.Error("the log tells a secret")
	}
}

func TestOnlyAChangedContentIsWrittenSignaledAndTold(t *testing.T) {
	t.Parallel()
	k := stores()
	p := newPlace(t, k)
	lines := "/a from ./cfg/app key app.conf signal HUP:app#1,app#2 /b from ./cfg/app key more.conf signal 1:app#1 signal USR1:app#3 /t from ./cfg/app key t template"
	p.must(lines)
	if diff := cmp.Diff([]string{"app#1 1", "app#2 1", "app#3 10"}, p.sent); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/a", "/b", "/t"}, p.told); diff != "" {
		t.Error(diff)
	}
	before, err := os.Stat(filepath.Join(p.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}

	p.must(lines)
	if p.sent != nil || p.told != nil {
		t.Errorf("sent %v, told %v, though nothing changed", p.sent, p.told)
	}
	if after, err := os.Stat(filepath.Join(p.dir, "a")); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again, %v", err)
	}

	k["ns1/cfg/app"]["more.conf"] = "b=3"
	p.must(lines)
	if diff := cmp.Diff([]string{"app#1 1", "app#3 10"}, p.sent); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(p.log.String(), "reinstall key more.conf") {
		t.Error(p.log.String())
	}

	// The mode is put right, which changes no content.
	if err := os.Chmod(filepath.Join(p.dir, "a"), 0o666); err != nil {
		t.Fatal(err)
	}
	p.must(lines)
	if info, err := os.Stat(filepath.Join(p.dir, "a")); err != nil || info.Mode() != 0o644 || p.sent != nil || p.told != nil {
		t.Errorf("mode %v, %v, sent %v, told %v", info.Mode(), err, p.sent, p.told)
	}
}

func TestAnItemThatFailsFailsTheRestOnlyWhenItIsRequired(t *testing.T) {
	t.Parallel()
	p := newPlace(t, stores())
	p.must("/a from ./cfg/app key nosuch /b from ./cfg/nosuch key k /d from ./cfg/app key *.none /c from ./cfg/app key app.conf")
	if diff := cmp.Diff([]string{"/c -rw-r--r-- a=1"}, p.files()); diff != "" {
		t.Error(diff)
	}
	remarks := install.Remarks(p.env.StateDir)
	if len(remarks) != 3 || remarks[0].Level != "warn" || !strings.Contains(remarks[0].Message, "install /a: ns1/cfg/app has no key nosuch") {
		t.Errorf("got %v", remarks)
	}

	err := p.install("/e from ./cfg/app key app.conf /a from ./cfg/app key nosuch required /f from ./cfg/app key app.conf")
	if err == nil || !strings.Contains(err.Error(), "install /a: ns1/cfg/app has no key nosuch") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"/e"}, p.told); diff != "" {
		t.Error(diff)
	}
}

func TestATemplateThatFailsLeavesTheFileAsItIs(t *testing.T) {
	t.Parallel()
	k := stores()
	p := newPlace(t, k)
	p.must("/t from ./cfg/app key t template")
	before := p.files()
	delete(k["ns1/sec/app"], "password")
	p.must("/t from ./cfg/app key t template")
	if diff := cmp.Diff(before, p.files()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(p.log.String(), "no key password") {
		t.Error(p.log.String())
	}
}

func TestTheKeysOfAnotherNamespaceAreReadWhenSharedOnly(t *testing.T) {
	t.Parallel()
	k := stores()
	k["ns1/cfg/app"]["steal"] = `{{key "ns2/sec/app" "password"}}`
	k["ns1/cfg/app"]["borrow"] = `{{key "ns3/cfg/app" "k"}}`
	p := newPlace(t, k)
	for _, lines := range []string{"/pw from ns2/sec/app key password", "/pw from ns2/sec/app key *", "/pw from ./cfg/app key steal template"} {
		err := p.install(lines)
		if err == nil || !strings.Contains(err.Error(), "unauthorized install /pw from ns2/sec/app key ") {
			t.Errorf("%s: got %v", lines, err)
		}
	}
	if got := p.files(); len(got) > 0 {
		t.Errorf("installed %v", got)
	}
	p.must("/k from ./cfg/app key borrow template")
}

func TestALinkIsNotFollowedOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	victim := filepath.Join(outside, "passwd")
	if err := os.WriteFile(victim, []byte("root"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		links map[string]string
		lines string
		fails string
		want  string // content of the victim's place in the directory
	}{
		"a file that is a link":                  {map[string]string{"a": victim}, "/a from ./cfg/app key app.conf", "", "a"},
		"a file that is a link up":               {map[string]string{"a": "../../../../../../../.." + victim}, "/a from ./cfg/app key app.conf", "", "a"},
		"a directory on the way":                 {map[string]string{"etc": outside}, "/etc/passwd from ./cfg/app key app.conf required", "leads out of", ""},
		"a directory on the way, up":             {map[string]string{"etc": ".."}, "/etc/passwd from ./cfg/app key app.conf required", "leads out of", ""},
		"a directory deeper on the way":          {map[string]string{"x/y": outside}, "/x/y/z/passwd from ./cfg/app key app.conf required", "leads out of", ""},
		"a directory to make":                    {map[string]string{"run": outside}, "/run/ mode 0777 required", "leads out of", ""},
		"a directory below a link":               {map[string]string{"run": outside}, "/run/x/ mode 0777 required", "leads out of", ""},
		"a directory of keys":                    {map[string]string{"all": outside}, "/all/ from ./cfg/app key * required", "leads out of", ""},
		"a link to a link":                       {map[string]string{"b": outside, "a": "b"}, "/a/passwd from ./cfg/app key app.conf required", "leads out of", ""},
		"a link to a directory made meanwhile":   {map[string]string{"a": "nosuch"}, "/a/b from ./cfg/app key app.conf required", "link to nothing", ""},
		"a link within, to a directory":          {map[string]string{"current": "real"}, "/real/ /current/b from ./cfg/app key app.conf required", "", "real/b"},
		"the mode of a directory that is a link": {map[string]string{"current": "real"}, "/real/ /current/ mode 0700 required", "is not a directory: neither its mode", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, stores())
			for link, to := range c.links {
				at := filepath.Join(p.dir, link)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, at); err != nil {
					t.Fatal(err)
				}
			}
			err := p.install(c.lines)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("got %v, want %q", err, c.fails)
			}
			if c.want != "" {
				info, err := os.Lstat(filepath.Join(p.dir, c.want))
				if err != nil || !info.Mode().IsRegular() {
					t.Errorf("%s is %v, %v", c.want, info, err)
				}
			}
		})
	}
	t.Cleanup(func() {
		if data, err := os.ReadFile(victim); err != nil || string(data) != "root" {
			t.Errorf("the file outside holds %q, %v", data, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("outside there is %v, %v", entries, err)
		}
	})
}

func TestTheNameOfAKeyLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	k := stores()
	for _, name := range []string{"../up", "../../etc/passwd", "/abs", "a/../../b", ".", "..", "a//b", "x/", "line\nbreak"} {
		k["ns1/cfg/evil"] = map[string]string{name: "evil"}
		p := newPlace(t, k)
		parent := filepath.Dir(p.dir)
		before, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.install("/d/ from ./cfg/evil key * required"); err == nil || !strings.Contains(err.Error(), "is no name of a file below /d") {
			t.Errorf("%q: got %v, %v", name, err, p.files())
		}
		if after, err := os.ReadDir(parent); err != nil || len(after) != len(before) {
			t.Errorf("%q: %v became %v", name, before, after)
		}
		if err := p.install("/d/ from ./cfg/evil key '" + name + "' required"); err == nil {
			t.Errorf("%q by its name: %v", name, p.files())
		}
	}
	// Below, names with slashes are directories.
	k["ns1/cfg/evil"] = map[string]string{"tls/a.pem": "A"}
	p := newPlace(t, k)
	p.must("/d/ from ./cfg/evil key tls/*")
	if got := p.files(); !slices.Contains(got, "/d/tls/a.pem -rw-r--r-- A") {
		t.Errorf("got %v", got)
	}
}

// Whatever links there are, and whatever the keys are called, nothing changes out
// of the directory.
func TestNothingIsWrittenOutside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		base := t.TempDir()
		outside, inside := filepath.Join(base, "outside"), filepath.Join(base, "inside")
		for _, dir := range []string{outside, inside, filepath.Join(outside, "d"), filepath.Join(inside, "d")} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, "f"), []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/b", "f"})
		for range rapid.IntRange(0, 4).Draw(r, "links") {
			at := filepath.Join(inside, name.Draw(r, "link"))
			to := rapid.SampledFrom([]string{outside, outside + "/d", outside + "/f", "..", "../outside", "../../outside/f", ".", "a", "d", "../../../../../../../../../../tmp", "/"}).Draw(r, "to")
			_ = os.Symlink(to, at)
		}
		key := rapid.SampledFrom([]string{"f", "../f", "../outside/f", "../../outside/f", "d/../../outside/x", "a/b/c", outside + "/f", "..", "."}).Draw(r, "key")
		k := keys{"ns1/cfg/evil": {key: "evil"}}
		p := newPlace(t, k)
		p.dir = inside
		before := tree(t, outside) + tree(t, filepath.Dir(inside))
		words := []string{"/" + name.Draw(r, "place") + rapid.SampledFrom([]string{"", "/"}).Draw(r, "slash"), "from", "./cfg/evil", "key", rapid.SampledFrom([]string{"*", key}).Draw(r, "glob"), "mode", "0777"}
		words = append(words, "/"+name.Draw(r, "directory")+"/", "mode", "0777")
		_ = p.apply(&install.Settings{Lines: words})
		if after := tree(t, outside) + tree(t, filepath.Dir(inside)); after != before {
			r.Fatalf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// tree is what is below a directory, but for what is in "inside".
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "inside" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, name, info.Mode(), info.Size())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatIsInTheWayIsReplacedOrTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t, stores())
	if err := os.Mkdir(filepath.Join(p.dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(p.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "file"), []byte("a=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.must("/fifo from ./cfg/app key app.conf")
	if got := p.files(); !slices.Contains(got, "/fifo -rw-r--r-- a=1") {
		t.Errorf("got %v", got)
	}
	for lines, want := range map[string]string{
		"/dir from ./cfg/app key app.conf required": "is a directory",
		"/file/ required": "is not a directory",
		"/file/x from ./cfg/app key app.conf required":              "is not a directory",
		"/dir from ./cfg/app key app.conf user nosuchuser required": `user "nosuchuser": not found`,
	} {
		if err := p.install(lines); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", lines, err, want)
		}
	}
	for _, f := range p.files() {
		if strings.HasPrefix(f, "/.") {
			t.Errorf("left: %s", f)
		}
	}
	// Nothing but a directory can be the directory of the resource itself.
	if err := p.install("/ from ./cfg/app key app.conf required"); err != nil {
		t.Errorf("a slash is a directory: %v", err)
	}
}

func TestAKeyThatDoesNotExistIsMadeFromItsSource(t *testing.T) {
	t.Parallel()
	k := stores()
	p := newPlace(t, k)
	file := filepath.Join(t.TempDir(), "seed")
	if err := os.WriteFile(file, []byte("{{.port}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := "/s from ./cfg/app key seeded template required source " + file
	if err := p.install(lines); err == nil || !strings.Contains(err.Error(), "has no key seeded") {
		t.Errorf("a start makes no key: %v", err)
	}
	p.seed = true
	p.must(lines)
	if k["ns1/cfg/app"]["seeded"] != "{{.port}}" || !slices.Contains(p.files(), "/s -rw-r--r-- 80") {
		t.Errorf("key %q, files %v", k["ns1/cfg/app"]["seeded"], p.files())
	}
	k["ns1/cfg/app"]["seeded"] = "mine"
	p.must(lines)
	if k["ns1/cfg/app"]["seeded"] != "mine" {
		t.Error("the key was made again")
	}
	for lines, want := range map[string]string{
		"/s from ns3/cfg/app key other required source " + file:                         "is of another namespace",
		"/s from ./cfg/app key other required source /dev/zero":                         "not a file",
		"/s from ./cfg/app key other required source " + filepath.Join(p.dir, "nosuch"): "no such file",
		"/s from ./cfg/nosuch key other required source " + file:                        "object not found",
	} {
		if err := p.install(lines); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", lines, err, want)
		}
	}
}

func TestTheRecordTellsWhenAKeyChanged(t *testing.T) {
	t.Parallel()
	k := stores()
	p := newPlace(t, k)
	outdated := func() bool {
		t.Helper()
		r, err := install.ReadRecord(p.env.StateDir)
		if err != nil {
			t.Fatal(err)
		}
		return r.Outdated(r.Boot, p.env.Installation.Version)
	}
	lines := "/t from ./cfg/app key t template /n from ./cfg/later key k"
	p.must(lines)
	if outdated() {
		t.Error("outdated at once")
	}
	for what, change := range map[string]func(){
		"the template":                     func() { k["ns1/cfg/app"]["t"] = `{{key "./sec/app" "password"}}` },
		"a key the template reads":         func() { k["ns1/sec/app"]["password"] = "other" },
		"an object that was not there":     func() { k["ns1/cfg/later"] = map[string]string{"k": "v"} },
		"a key that was not there, of one": func() { k["ns1/cfg/app"]["fresh"] = "x" },
	} {
		change()
		if !outdated() {
			t.Errorf("%s changed, which is not seen", what)
		}
		p.must(lines)
		if outdated() {
			t.Errorf("%s changed, and the record is outdated after the install", what)
		}
	}
	k["ns2/sec/app"]["password"] = "nobody reads it"
	if outdated() {
		t.Error("outdated by an object that is not read")
	}
	r, err := install.ReadRecord(p.env.StateDir)
	if err != nil || r.Outdated("another boot", p.env.Installation.Version) {
		t.Errorf("a record of another boot, %v", err)
	}
	from := object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "app"}
	if !r.Holds(from, "pass*") || r.Holds(from, "x*") || r.Holds(object.Path{Namespace: "ns2", Kind: object.KindSec, Name: "app"}, "*") {
		t.Errorf("holds: %+v", r.Files)
	}
	data, err := os.ReadFile(filepath.Join(p.env.StateDir, "installed"))
	if err != nil || strings.Contains(string(data), "\"other\"") {
		t.Errorf("the record: %s, %v", data, err)
	}
	if err := install.Forget(p.env.StateDir); err != nil {
		t.Fatal(err)
	}
	if got := install.Remarks(p.env.StateDir); got != nil {
		t.Errorf("remarks %v without a record", got)
	}
}

func TestAFileThatVanishedIsARemark(t *testing.T) {
	t.Parallel()
	p := newPlace(t, stores())
	p.must("/a from ./cfg/app key app.conf")
	if got := install.Remarks(p.env.StateDir); got != nil {
		t.Errorf("got %v", got)
	}
	if err := os.Remove(filepath.Join(p.dir, "a")); err != nil {
		t.Fatal(err)
	}
	if got := install.Remarks(p.env.StateDir); len(got) != 1 || !strings.Contains(got[0].Message, "is not there any more") {
		t.Errorf("got %v", got)
	}
}
