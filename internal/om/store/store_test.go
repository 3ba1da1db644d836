package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// drivers are resources of two groups, enough to be wrong about.
func drivers(kind object.Kind) []keyword.Section {
	if !kind.Runs() {
		return nil
	}
	table := func(declare func(*keyword.Table)) func() *keyword.Table {
		return func() *keyword.Table {
			t := &keyword.Table{}
			declare(t)
			return t
		}
	}
	var (
		text  string
		words []string
		flag  bool
		size  int64
	)
	return []keyword.Section{
		{
			Name: "app", Doc: "Applications.", Indexed: true, DefaultType: "forking",
			Types: map[string]func() *keyword.Table{
				"": table(func(k *keyword.Table) {
					k.List(&words, "tags", "Words.").Scopable()
					k.Bool(&flag, "optional", "May fail.").Scopable()
					k.Duration(new(time.Duration), "timeout", "How long.").Scopable()
				}),
				"simple":  table(func(k *keyword.Table) { k.String(&text, "start", "The command.").Scopable() }),
				"forking": table(func(k *keyword.Table) { k.String(&text, "script", "The command.").Scopable() }),
			},
		},
		{
			Name: "disk", Doc: "Disks.", Indexed: true,
			Types: map[string]func() *keyword.Table{
				"md": table(func(k *keyword.Table) {
					k.String(&text, "uuid", "Who it is.").Scopable().Recorded()
					k.List(&words, "devs", "What it is made of.").Scopable()
					k.Size(&size, "size", "How large.")
				}),
			},
		},
	}
}

type site struct {
	*store.Store

	paths host.Paths
}

// open returns the store of node n1 of a cluster of three.
func open(tb testing.TB) site {
	tb.Helper()
	s := empty(tb)
	s.write(tb, "cluster.conf", "[DEFAULT]\nid = 6d3a6b0e-5b1c-4b37-9f0a-000000000001\n\n[cluster]\nid = c1id\nname = c1\nnodes = n1 n2 n3\ndns = 192.0.2.1 192.0.2.2\nsecret = abcdef\n\n[node]\nenv = PRD\nready_period = 3s\n\n[labels]\naz = north\n")
	s.write(tb, "node.conf", "[DEFAULT]\nid = 6d3a6b0e-5b1c-4b37-9f0a-000000000002\n\n[node]\nready_period = 2s\n\n[labels]\naz = east\n\n[env]\ncolor = green\n")
	return s
}

func empty(tb testing.TB) site {
	tb.Helper()
	h := host.Host{Paths: hosttest.Paths(tb), Hostname: "n1", Self: "/usr/bin/om"}
	return site{Store: store.New(h, drivers), paths: h.Paths}
}

func (s site) file(name string) string { return filepath.Join(s.paths.Etc(), filepath.FromSlash(name)) }

func (s site) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(s.file(name)), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func (s site) read(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(s.file(name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func path(tb testing.TB, text string) object.Path {
	tb.Helper()
	p, err := object.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func parse(tb testing.TB, text string) *config.Document {
	tb.Helper()
	doc, err := config.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func set(tb testing.TB, ops ...string) config.Change {
	tb.Helper()
	var c config.Change
	for _, text := range ops {
		op, err := config.ParseOp(text)
		if err != nil {
			tb.Fatal(err)
		}
		c.Set = append(c.Set, op)
	}
	return c
}

// fails checks that an error says all of the words.
func fails(tb testing.TB, err error, words ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("%q is not in: %v", w, err)
		}
	}
}

func TestListGivesTheObjectsOfTheTree(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, name := range []string{
		"web.conf", "3.web.conf", "cfg/hosts.conf", "vol/v1.conf", "namespaces/ns1/svc/web.conf", "namespaces/ns1/nscfg/namespace.conf",
		"namespaces/system/sec/ca.conf", "nscfg/namespace.conf",
		// not objects
		".web.conf123", ".web.conf.edit-new", "web.d/x.conf", "Web.conf", "readme", "cfg/x.conf.bak", "svc/other.conf", "namespaces/root/svc/x.conf", "namespaces/ns1/foo/x.conf", "namespaces/ns1/x.conf", "other/y.conf",
	} {
		s.write(t, name, "")
	}

	got, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got {
		names = append(names, p.String())
	}
	want := []string{"ns1/", "ns1/svc/web", "cluster", "cfg/hosts", "root/", "3.web", "web", "vol/v1", "system/sec/ca"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestAnAgentWithoutConfigurationHasNoObject(t *testing.T) {
	t.Parallel()
	s := empty(t)

	got, err := s.List()

	if len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "# hand made\n[env]\na=1\n")

	f, err := s.Load(path(t, "web"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.file("web.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if string(f.Doc.Bytes()) != "# hand made\n[env]\na=1\n" || f.Name != s.file("web.conf") || !f.ModTime.Equal(info.ModTime()) || len(f.Checksum) != 64 {
		t.Errorf("got %+v", f)
	}
}

func TestALoadedDocumentIsTheCallersToEdit(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[env]\na = 1\n")
	first, err := s.Load(path(t, "web"))
	if err != nil {
		t.Fatal(err)
	}

	first.Doc.DeleteSection("env")

	second, err := s.Load(path(t, "web"))
	if err != nil || !second.Doc.Has("env") {
		t.Errorf("the edit shows in another load (%v)", err)
	}
}

func TestALoadSeesWhatWasJustWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	other := store.New(host.Host{Paths: s.paths, Hostname: "n1"}, drivers)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\n\n[env]\na = 0\n")
	for i := range 30 {
		value := string(rune('a' + i%26))

		if _, err := other.Update(t.Context(), path(t, "web"), set(t, "env.a="+value)); err != nil {
			t.Fatal(err)
		}

		f, err := s.Load(path(t, "web"))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := f.Doc.Get(config.Key{Section: "env", Option: "a"}); got != value {
			t.Fatalf("got %q after a commit of %q", got, value)
		}
	}
}

func TestAMissingObjectIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "ns1/svc/gone")
	for what, do := range map[string]func() error{ //nolint:paralleltest // what follows looks at what the cases left
		"load":     func() error { _, err := s.Load(p); return err },
		"update":   func() error { _, err := s.Update(t.Context(), p, set(t, "env.a=1")); return err },
		"replace":  func() error { _, err := s.Replace(t.Context(), p, []byte("[env]\n")); return err },
		"delete":   func() error { return s.Delete(t.Context(), p) },
		"settings": func() error { _, err := s.Object(p); return err },
		"edit":     func() error { _, err := s.Edit(p); return err },
		"recover":  func() error { _, err := s.Recover(p); return err },
	} {
		t.Run(what, func(t *testing.T) {
			err := do()

			var missing *object.NotFoundError
			if !errors.As(err, &missing) || missing.ExitCode() != 2 {
				t.Fatalf("got %v", err)
			}
			fails(t, err, "ns1/svc/gone: object not found")
		})
	}
	if s.Exists(p) {
		t.Error("it exists")
	}
	left, _ := os.ReadDir(filepath.Join(s.paths.Etc(), "namespaces"))
	if len(left) > 0 {
		t.Errorf("a directory was made for it: %v", left)
	}
}

func TestAFileThatCannotBeReadIsAnErrorNotAnAbsence(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := os.MkdirAll(s.file("web.conf"), 0o700); err != nil { // reads as an error, for root too
		t.Fatal(err)
	}

	_, err := s.Load(path(t, "web"))

	fails(t, err, "read the configuration of web", s.file("web.conf"), "is a directory")
	if _, ok := errors.AsType[*object.NotFoundError](err); ok {
		t.Error("it counts as missing")
	}
	_, err = s.Create(t.Context(), path(t, "web"), nil, store.CreateOptions{Force: true})
	fails(t, err, "read the configuration of web")
}

func TestASyntaxErrorNamesTheFileAndTheLine(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[env]\na = 1\n[broken\n")

	_, err := s.Load(path(t, "web"))

	fails(t, err, s.file("web.conf"), "line 3")
}

func TestABrokenClusterConfigurationIsNeverTakenForAbsent(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "cluster.conf", "[cluster]\nname = c1\n[broken\n")
	s.write(t, "web.conf", "[DEFAULT]\nid = x\n")
	p := path(t, "web")
	for what, do := range map[string]func() error{ //nolint:paralleltest // what follows looks at what the cases left
		"cluster":   func() error { _, err := s.Cluster(); return err },
		"node":      func() error { _, err := s.Node(); return err },
		"listener":  func() error { _, err := s.Listener(); return err },
		"secret":    func() error { _, err := s.ClusterSecret(); return err },
		"labels":    func() error { _, err := s.Labels(); return err },
		"evaluator": func() error { _, err := s.Evaluator(p, parse(t, ""), ""); return err },
		"object":    func() error { _, err := s.Object(p); return err },
		"update":    func() error { _, err := s.Update(t.Context(), p, set(t, "env.a=1")); return err },
		"merge":     func() error { _, err := s.Merged(); return err },
	} {
		t.Run(what, func(t *testing.T) { fails(t, do(), s.file("cluster.conf"), "line 3") })
	}
	if nodes := s.Nodes(); nodes != nil {
		t.Errorf("its nodes are %v", nodes)
	}
	if alerts := s.Validate(p, parse(t, "")); len(alerts) != 1 || alerts[0].Level != keyword.LevelError {
		t.Errorf("an object validates with %v", alerts)
	}

	if _, err := s.Replace(t.Context(), object.Cluster(), []byte("[cluster]\nname = c2\nnodes = n1\n")); err != nil {
		t.Errorf("it cannot be repaired: %v", err)
	}
	if c, err := s.Cluster(); err != nil || c.Name != "c2" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func BenchmarkListAndLoad500Objects(b *testing.B) {
	s := open(b)
	for i := range 500 {
		s.write(b, "namespaces/ns/svc/"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+".conf", "[DEFAULT]\nid = x\nnodes = *\norchestrate = ha\n\n[app#1]\ntype = simple\nstart = /bin/true\n")
	}
	for b.Loop() {
		all, err := s.List()
		if err != nil || len(all) != 501 {
			b.Fatal(len(all), err)
		}
		for _, p := range all {
			if _, err := s.Load(p); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkObjectSettings(b *testing.B) {
	s := open(b)
	s.write(b, "web.conf", "[DEFAULT]\nid = x\nnodes = *\norchestrate = ha\n\n[app#1]\ntype = simple\nstart = /bin/true\n")
	for b.Loop() {
		if _, err := s.Object(object.Path{Namespace: "root", Kind: "svc", Name: "web"}); err != nil {
			b.Fatal(err)
		}
	}
}

func hostOf(s site) host.Host { return host.Host{Paths: s.paths, Hostname: "n1", Self: "/usr/bin/om"} }

func TestADirectoryIsNoObject(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\n")
	s.write(t, "dir.conf/web.conf", "[DEFAULT]\n")
	if err := os.Symlink(s.file("web.conf"), s.file("link.conf")); err != nil {
		t.Fatal(err)
	}

	got, err := s.List()

	if diff := cmp.Diff([]object.Path{object.Cluster(), path(t, "link"), path(t, "web")}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if s.Exists(path(t, "dir")) || !s.Exists(path(t, "link")) {
		t.Error("a directory exists, or a link does not")
	}
}

func TestWhatIsNoFileIsNeverOpened(t *testing.T) {
	t.Parallel()
	web := object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}
	for is, put := range map[string]func(name string) error{
		"a named pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a directory":  func(name string) error { return os.Mkdir(name, 0o700) },
		"a device":     func(name string) error { return os.Symlink("/dev/zero", name) },
		"a socket": func(name string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: name}), syscall.Close(fd))
		},
	} {
		t.Run(is, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "hf") //nolint:usetesting // an address is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			s := store.New(host.Host{Paths: host.Paths{Root: dir}, Hostname: "n1"}, drivers)
			name := s.FileName(web)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), put(name)); err != nil {
				t.Fatal(err)
			}
			want := "read the configuration of web: " + name + " is " + is + ", not a file: move it away and put the file back"

			_, loadErr := s.Load(web)
			_, textErr := s.Text(web)
			_, editErr := s.Update(t.Context(), web, config.Change{Delete: []string{"app#1"}})

			for what, err := range map[string]error{"load": loadErr, "text": textErr, "update": editErr} {
				if err == nil || err.Error() != want {
					t.Errorf("%s: got %v, want %s", what, err, want)
				}
			}
		})
	}
}

func TestALinkToAFileIsAConfiguration(t *testing.T) {
	t.Parallel()
	s := open(t)
	web := object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}
	target := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.WriteFile(target, []byte("[env]\na = 1\n"), 0o600), os.Symlink(target, s.FileName(web))); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Load(web); err != nil || !f.Doc.Has("env") {
		t.Errorf("got %v", err)
	}
}

func TestABrokenConfigurationSaysHowToRepairIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[app#1\n")
	_, err := s.Load(object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"})
	if err == nil || !strings.HasSuffix(err.Error(), ": repair it with om web config edit") {
		t.Errorf("got %v", err)
	}
}
