package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func TestCreateWritesTheWholeConfigurationInOneCommit(t *testing.T) {
	t.Parallel()
	s := open(t)
	change := set(t, "app#1.type=simple", "app#1.start=/usr/bin/python3 -m http.server 8099", "orchestrate=ha", "nodes={clusternodes}")

	done, err := s.Create(t.Context(), path(t, "hello"), nil, store.CreateOptions{Change: change})

	if err != nil || !done.Changed || len(done.Warnings) > 0 {
		t.Fatalf("got %+v, %v", done, err)
	}
	f, err := s.Load(path(t, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	id, _ := f.Doc.Get(config.Key{Section: "DEFAULT", Option: "id"})
	if u, err := uuid.Parse(id); err != nil || u.Version() != 4 {
		t.Errorf("the id is %q", id)
	}
	want := "[DEFAULT]\norchestrate = ha\nnodes = {clusternodes}\nid = " + id + "\n\n[app#1]\ntype = simple\nstart = /usr/bin/python3 -m http.server 8099\n"
	if got := s.read(t, "hello.conf"); !sameLines(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if f.Checksum != done.Checksum || !f.ModTime.Equal(done.ModTime) || done.Path != path(t, "hello") {
		t.Errorf("committed %+v, loaded %+v", done, f)
	}
}

func sameLines(a, b string) bool {
	count := func(s string) map[string]int {
		m := map[string]int{}
		for l := range strings.Lines(s) {
			m[l]++
		}
		return m
	}
	return cmp.Equal(count(a), count(b))
}

func TestModesOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	s := empty(t)
	for _, text := range []string{"web", "cfg/hosts", "ns1/svc/web"} {
		if _, err := s.Create(t.Context(), path(t, text), nil, store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]os.FileMode{
		".": 0o700, "web.conf": 0o600, "cfg": 0o755, "cfg/hosts.conf": 0o600, "namespaces": 0o700, "namespaces/ns1": 0o755, "namespaces/ns1/svc": 0o755,
		"namespaces/ns1/svc/web.conf": 0o600,
	} {
		info, err := os.Stat(s.file(name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestCreateRefusesAnExistingObjectUnlessForced(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "web")
	if _, err := s.Create(t.Context(), p, parse(t, "[env]\na = 1\n"), store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := s.read(t, "web.conf")

	_, err := s.Create(t.Context(), p, parse(t, "[env]\na = 2\n"), store.CreateOptions{})

	if _, ok := errors.AsType[*store.ExistsError](err); !ok {
		t.Fatalf("got %v", err)
	}
	fails(t, err, "web already exists", "--force")
	if s.read(t, "web.conf") != before {
		t.Error("it was written")
	}

	if _, err := s.Create(t.Context(), p, parse(t, "[env]\na = 2\n"), store.CreateOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.read(t, "web.conf"), strings.Replace(before, "a = 1", "a = 2", 1); !sameLines(got, want) {
		t.Errorf("got %s, want the same object with %s", got, want)
	}
}

const source = `[DEFAULT]
id = 11111111-1111-4111-8111-111111111111
nodes = n1

[disk#1]
type = md
uuid = dead:beef
uuid@n1 = dead:b00f
devs = /dev/a

[env]
name = original
size = 10m
`

func TestACloneIsAnotherObject(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := parse(t, source)

	_, err := s.Create(t.Context(), path(t, "copy"), doc, store.CreateOptions{Env: map[string]string{"name": "copied"}, Namespace: "test"})
	if err != nil {
		t.Fatal(err)
	}
	got := s.read(t, "namespaces/test/svc/copy.conf")
	for _, gone := range []string{"dead:beef", "dead:b00f", "11111111", "original"} {
		if strings.Contains(got, gone) {
			t.Errorf("%s was copied:\n%s", gone, got)
		}
	}
	for _, kept := range []string{"devs = /dev/a", "name = copied", "size = 10m", "\nid = "} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is missing:\n%s", kept, got)
		}
	}
	if string(doc.Bytes()) != source {
		t.Error("the source document changed")
	}
}

func TestARestoredObjectKeepsWhatItRecorded(t *testing.T) {
	t.Parallel()
	s := open(t)

	_, err := s.Create(t.Context(), path(t, "web"), parse(t, source), store.CreateOptions{Restore: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(t, "web.conf"); got != source {
		t.Errorf("got\n%s", got)
	}
}

func TestMetadataIsDropped(t *testing.T) {
	t.Parallel()
	s := open(t)

	_, err := s.Create(t.Context(), path(t, "web"), parse(t, "[metadata]\nname = x\nchecksum = y\n\n[env]\na = 1\n"), store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.read(t, "web.conf"); strings.Contains(got, "metadata") || strings.Contains(got, "checksum") {
		t.Errorf("got\n%s", got)
	}
}

func TestUpdateIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\norchestrate = ha\n\n# kept\n[app#1]\ntype = simple\ntags = a b\n\n[app#2]\ntype = simple\n\n[app#3]\ntype = simple\n")
	change := set(t, "app#1.tags+=c", "app.optional=true", "env.x=1")
	change.Delete = []string{"app#2"}
	change.Unset = []config.Key{{Section: "DEFAULT", Option: "orchestrate"}}

	done, err := s.Update(t.Context(), path(t, "web"), change)

	if err != nil || !done.Changed {
		t.Fatalf("got %+v, %v", done, err)
	}
	want := "[DEFAULT]\nid = x\n\n# kept\n[app#1]\ntype = simple\ntags = a b c\noptional = true\n\n[app#3]\ntype = simple\noptional = true\n\n[env]\nx = 1\n"
	if diff := cmp.Diff(want, s.read(t, "web.conf")); diff != "" {
		t.Error(diff)
	}
}

func TestACommitWithoutEffectDoesNotWrite(t *testing.T) {
	t.Parallel()
	s := open(t)
	text := "[DEFAULT]\nid = x\n\n[env]\na=1 ; odd spacing\n"
	s.write(t, "web.conf", text)
	before, err := os.Stat(s.file("web.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() (store.Committed, error){ //nolint:paralleltest // the cases share a file
		"update":  func() (store.Committed, error) { return s.Update(t.Context(), path(t, "web"), set(t, "env.a=1")) },
		"replace": func() (store.Committed, error) { return s.Replace(t.Context(), path(t, "web"), []byte(text)) },
		"nothing": func() (store.Committed, error) { return s.Update(t.Context(), path(t, "web"), config.Change{}) },
	} {
		t.Run(what, func(t *testing.T) {
			done, err := do()

			if err != nil || done.Changed || !done.ModTime.Equal(before.ModTime()) {
				t.Errorf("got %+v, %v", done, err)
			}
			after, err := os.Stat(s.file("web.conf"))
			if err != nil || !os.SameFile(before, after) || s.read(t, "web.conf") != text {
				t.Errorf("the file changed (%v)", err)
			}
		})
	}
}

func TestReplaceKeepsTheId(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = mine\n")

	_, err := s.Replace(t.Context(), path(t, "web"), []byte("[env]\na = 1\n"))

	if err != nil || !strings.Contains(s.read(t, "web.conf"), "id = mine") {
		t.Errorf("got %v\n%s", err, s.read(t, "web.conf"))
	}

	_, err = s.Replace(t.Context(), path(t, "web"), []byte("[env]\na = 1\n[broken\n"))
	fails(t, err, "web", "line 3")
}

func TestEachCommitHasALaterVersionWhateverTheClock(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\n")
	future := time.Now().Add(48 * time.Hour) // the clock was set back since
	if err := os.Chtimes(s.file("web.conf"), future, future); err != nil {
		t.Fatal(err)
	}
	last := future
	for i := range 20 {
		done, err := s.Update(t.Context(), path(t, "web"), set(t, "env.a="+strings.Repeat("x", i+1)))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(s.file("web.conf"))
		if err != nil {
			t.Fatal(err)
		}
		if !done.ModTime.After(last) || !info.ModTime().Equal(done.ModTime) {
			t.Fatalf("version %v (%v on disk) follows %v", done.ModTime, info.ModTime(), last)
		}
		last = done.ModTime
	}
}

func TestARefusedCommitSaysWhyAndWritesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ops  []string
		want []string
	}{
		"unknown keyword":       {[]string{"app#1.strat=/bin/true"}, []string{"app#1.strat", "start"}},
		"unknown section":       {[]string{"apq#1.type=simple"}, []string{"apq#1", "app#1"}},
		"unknown driver":        {[]string{"app#1.type=simpel"}, []string{"app#1", "simpel", "simple"}},
		"not a candidate":       {[]string{"topology=foo"}, []string{"topology", "foo", "failover"}},
		"does not convert":      {[]string{"rollback=yes"}, []string{"rollback", "yes", "true"}},
		"bad duration":          {[]string{"app#1.timeout=soon"}, []string{"app#1.timeout", "soon"}},
		"unknown node":          {[]string{"nodes=n1 n9"}, []string{"nodes", "n9 is not a node of the cluster", "n1, n2, n3"}},
		"unknown node, scoped":  {[]string{"nodes@n1=n8"}, []string{"nodes@n1", "n8"}},
		"bad reference":         {[]string{"app#1.start={nosuch}"}, []string{"app#1.start", "{nosuch}"}},
		"cycle":                 {[]string{"env.a={env.b}", "env.b={env.a}"}, []string{"env.a", "env.b", "circle"}},
		"not scopable":          {[]string{"topology@n1=flex"}, []string{"topology@n1"}},
		"wrong kind":            {[]string{"grant=root"}, []string{"grant", "usr"}},
		"insert in a text":      {[]string{"comment[0]=x"}, []string{"comment"}},
		"insert past the end":   {[]string{"app#1.tags[9]=x"}, []string{"app#1.tags", "9"}},
		"wrong on a peer only":  {[]string{"app#1.timeout@n2=soon", "nodes=n1 n2"}, []string{"app#1.timeout@n2", "soon"}},
		"several at once":       {[]string{"app#1.strat=1", "topology=foo"}, []string{"app#1.strat", "topology"}},
		"secret of the cluster": {[]string{"env.x={cluster.secret}"}, []string{"env.x", "cluster"}},
		"secret of the node":    {[]string{"env.x={node.cluster.secret}"}, []string{"env.x", "may not be referred to"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			text := "[DEFAULT]\nid = x\n\n[app#1]\ntype = simple\nstart = /bin/true\n"
			s.write(t, "web.conf", text)

			_, err := s.Update(t.Context(), path(t, "web"), set(t, c.ops...))

			fails(t, err, append(c.want, "web")...)
			if s.read(t, "web.conf") != text {
				t.Error("it was written")
			}
			if strings.Contains(err.Error(), "abcdef") {
				t.Error("the secret shows")
			}

			_, err = s.Create(t.Context(), path(t, "new"), parse(t, text), store.CreateOptions{Change: set(t, c.ops...)})
			fails(t, err, c.want...)
			if s.Exists(path(t, "new")) {
				t.Error("it was created")
			}
		})
	}
}

func TestTheRefusalHoldsTheAlerts(t *testing.T) {
	t.Parallel()
	s := open(t)

	_, err := s.Create(t.Context(), path(t, "web"), parse(t, "[DEFAULT]\ntopology = foo\n"), store.CreateOptions{})

	var invalid *store.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Alerts) != 1 || invalid.Alerts[0].Kind != keyword.AlertCandidate || invalid.Alerts[0].Key() != "topology" {
		t.Errorf("got %v", err)
	}
}

func TestWarningsDoNotRefuse(t *testing.T) {
	t.Parallel()
	s := open(t)

	done, err := s.Create(t.Context(), path(t, "web"), parse(t, "[DEFAULT]\nflex_min = 2\n"), store.CreateOptions{})

	if err != nil || len(done.Warnings) != 1 || done.Warnings[0].Option != "flex_min" {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestAnObjectStaysEditableWhenANodeLeftTheCluster(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\nnodes = n1 gone\n")

	done, err := s.Update(t.Context(), path(t, "web"), set(t, "env.a=1"))

	if err != nil || !done.Changed || len(done.Warnings) > 0 {
		t.Errorf("got %+v, %v", done, err)
	}
	_, err = s.Update(t.Context(), path(t, "web"), set(t, "nodes+=gone2"))
	fails(t, err, "gone2 is not a node")
}

func TestNodeAndClusterConfigurationsAreMadeByTheirFirstUpdate(t *testing.T) {
	t.Parallel()
	s := empty(t)

	_, errNode := s.Update(t.Context(), object.Path{}, set(t, "node.env=PRD"))
	_, errCluster := s.Update(t.Context(), object.Cluster(), set(t, "cluster.name=c1", "cluster.nodes=n1", "hb#1.type=unicast"))
	_, errBad := s.Update(t.Context(), object.Cluster(), set(t, "hb#test.type=unsupported"))

	if errNode != nil || errCluster != nil {
		t.Fatal(errNode, errCluster)
	}
	fails(t, errBad, "cluster", "hb#test", "unsupported", "unicast")
	if got := s.read(t, "node.conf"); !strings.Contains(got, "env = PRD") || !strings.Contains(got, "id = ") {
		t.Errorf("got\n%s", got)
	}
	if _, err := s.Create(t.Context(), object.Cluster(), nil, store.CreateOptions{}); err == nil {
		t.Error("the cluster can be created")
	}
	fails(t, s.Delete(t.Context(), object.Cluster()), "cluster", "cannot be deleted")
	fails(t, s.Delete(t.Context(), object.Path{}), "node", "cannot be deleted")
}

func TestDeleteRemovesTheConfigurationAndTheState(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, text := range []string{"web", "ns1/svc/web"} {
		p := path(t, text)
		if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(s.paths.Var(), filepath.FromSlash(p.StateDir()))
		if err := os.MkdirAll(filepath.Join(state, "app#1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Edit(p); err != nil {
			t.Fatal(err)
		}

		if err := s.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}

		if s.Exists(p) {
			t.Error("the configuration is there")
		}
		if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the state is there: %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.FileName(p)), ".*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(s.paths.Locks(), "objects", "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{}); err != nil {
			t.Errorf("it cannot be created again: %v", err)
		}
		if err := s.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// hold takes the lock of an object as another process would.
func hold(t *testing.T, s site, name string, pid string) {
	t.Helper()
	dir := filepath.Join(s.paths.Locks(), "objects")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if _, err := f.WriteString(pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

func TestACommitWaitsForTheLockThenNamesItsHolder(t *testing.T) {
	t.Parallel()
	s := open(t)
	hold(t, s, "root_svc_web", "4242\n")

	_, err := s.WithWaitLock(30*time.Millisecond).Create(t.Context(), path(t, "web"), nil, store.CreateOptions{})

	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.Pid != 4242 || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	fails(t, err, "web", "locked by process 4242", "--waitlock")
	if _, err := s.Create(t.Context(), path(t, "other"), nil, store.CreateOptions{}); err != nil {
		t.Errorf("another object is locked too: %v", err)
	}
}

func TestACancelledCommitStopsWaiting(t *testing.T) {
	t.Parallel()
	s := open(t)
	hold(t, s, "root_svc_web", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := s.Create(ctx, path(t, "web"), nil, store.CreateOptions{})

	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	fails(t, err, "locked by another process")
}

func TestALockFileLeftByADeadProcessLocksNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	dir := filepath.Join(s.paths.Locks(), "objects")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "root_svc_web"), []byte("999999999\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	_, err := s.WithWaitLock(time.Second).Create(t.Context(), path(t, "web"), nil, store.CreateOptions{})
	if err != nil {
		t.Error(err)
	}
}

func TestConcurrentUpdatesAllCount(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\n\n[app#1]\ntype = simple\n")
	const writers, each = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		own := store.New(hostOf(s), drivers) // as processes of their own
		wg.Go(func() {
			for i := range each {
				_, err := own.Update(t.Context(), path(t, "web"), set(t, "app#1.tags+="+string(rune('a'+w))+string(rune('0'+i))))
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	wg.Wait()

	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	f, err := s.Load(path(t, "web"))
	if err != nil {
		t.Fatal(err)
	}
	tags, _ := f.Doc.Get(config.Key{Section: "app#1", Option: "tags"})
	if n := len(strings.Fields(tags)); n != writers*each {
		t.Errorf("%d of %d updates are there: %s", n, writers*each, tags)
	}
}

func TestCreatesAndDeletesOfOneObjectDoNotMix(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "web")
	var wg sync.WaitGroup
	failures := make(chan error, 100)
	for range 4 {
		own := store.New(hostOf(s), drivers)
		wg.Go(func() {
			for range 10 {
				_, err := own.Create(t.Context(), p, nil, store.CreateOptions{})
				var exists *store.ExistsError
				if err != nil && !errors.As(err, &exists) {
					failures <- err
				}
				err = own.Delete(t.Context(), p)
				var missing *object.NotFoundError
				if err != nil && !errors.As(err, &missing) {
					failures <- err
				}
			}
		})
	}
	wg.Wait()
	close(failures)

	for err := range failures {
		t.Error(err)
	}
	if s.Exists(p) {
		t.Error("it exists")
	}
}
