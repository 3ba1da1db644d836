package store_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// The tests below run TestHelperProcess in a process of its own, to be killed
// or short of room. Its arguments: a root, what to do, and its detail.

// again runs the test binary as the helper process.
func again(t *testing.T, s site, args ...string) error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{self, "-test.run=^TestHelperProcess$", "--", s.paths.Root}, args...)
	out, err := host.NewRunner().Run(t.Context(), host.Cmd{Argv: argv})
	if err != nil {
		t.Logf("%s%s", out.Stdout, out.Stderr)
	}
	return err
}

func TestHelperProcess(t *testing.T) { //nolint:paralleltest // a process of its own
	if flag.NArg() < 3 {
		return // not a helper: one of the tests below starts it
	}
	root, what, detail := flag.Arg(0), flag.Arg(1), flag.Arg(2)
	s := store.New(host.Host{Paths: host.Paths{Root: root}, Hostname: "n1"}, drivers)
	p := object.Path{Namespace: "ns1", Kind: object.KindSvc, Name: "web"}
	dying := s.At(func(step string) {
		if step == detail {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it is delivered
		}
	})
	var err error
	switch what {
	case "create":
		_, err = dying.Create(t.Context(), p, nil, store.CreateOptions{Change: set(t, "env.a=new")})
	case "update":
		_, err = dying.Update(t.Context(), p, set(t, "env.a=new"))
	case "delete":
		err = dying.Delete(t.Context(), p)
	case "delete everywhere":
		err = dying.DeleteEverywhere(t.Context(), p)
	case "steps": // of an operation, one a line
		var names []string
		trace := s.At(func(step string) { names = append(names, step) })
		switch detail {
		case "delete":
			err = trace.Delete(t.Context(), p)
		case "delete everywhere":
			err = trace.DeleteEverywhere(t.Context(), p)
		default:
			_, err = trace.Update(t.Context(), p, set(t, "env.a=new"))
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(root, "steps"), []byte(strings.Join(names, "\n")), 0o600))
	case "no room":
		err = shortOfRoom(t, s, p)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func shortOfRoom(t *testing.T, s *store.Store, p object.Path) error {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 512, Max: 512}); err != nil {
		return err
	}
	_, err := s.Update(t.Context(), p, set(t, "env.a="+strings.Repeat("x", 2000)))
	if err == nil || !strings.Contains(err.Error(), "write the configuration of ns1/svc/web") || !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("a commit without room answers: %w", err)
	}
	return nil
}

const old = "[DEFAULT]\nid = x\n\n[env]\na = old\n"

// steps lists where an operation can be killed.
func steps(t *testing.T, operation string) []string {
	t.Helper()
	s := open(t)
	s.write(t, "namespaces/ns1/svc/web.conf", old)
	if err := again(t, s, "steps", operation); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(s.paths.Root, "steps"))
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Split(string(data), "\n")
	if len(names) < 2 {
		t.Fatalf("%s has the steps %q", operation, names)
	}
	return names
}

func killed(t *testing.T, err error) {
	t.Helper()
	var exit *host.ExitError
	if !errors.As(err, &exit) || exit.Signal != syscall.SIGKILL {
		t.Fatalf("the process ended with %v, not killed", err)
	}
}

func TestACommitKilledAnywhereLeavesTheOldFileOrTheNew(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"update", "create"} {
		names := steps(t, "update")
		at := slices.Index(names, "replaced")
		if at < 0 {
			t.Fatalf("no step replaces the file: %q", names)
		}
		for i, step := range names {
			replaced := i >= at
			t.Run(operation+" at "+step, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				p := path(t, "ns1/svc/web")
				if operation == "update" {
					s.write(t, "namespaces/ns1/svc/web.conf", old)
				}

				killed(t, again(t, s, operation, step))

				switch {
				case replaced:
					if got := s.read(t, "namespaces/ns1/svc/web.conf"); !strings.Contains(got, "a = new") || !strings.Contains(got, "id = ") {
						t.Errorf("got\n%s", got)
					}
				case operation == "create":
					if s.Exists(p) {
						t.Error("half of the object exists")
					}
				default:
					if got := s.read(t, "namespaces/ns1/svc/web.conf"); got != old {
						t.Errorf("got\n%s", got)
					}
				}
				if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{Force: true, Change: set(t, "env.a=next")}); err != nil {
					t.Errorf("the next commit fails: %v", err)
				}
				if left, _ := filepath.Glob(s.file("namespaces/ns1/svc/.*")); len(left) > 0 {
					t.Errorf("left after the next commit: %v", left)
				}
			})
		}
	}
}

func TestADeleteKilledAnywhereCanBeDoneAgain(t *testing.T) {
	t.Parallel()
	for _, step := range steps(t, "delete") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			p := path(t, "ns1/svc/web")
			s.write(t, "namespaces/ns1/svc/web.conf", old)

			killed(t, again(t, s, "delete", step))

			err := s.Delete(t.Context(), p)
			var missing *object.NotFoundError
			if err != nil && !errors.As(err, &missing) {
				t.Error(err)
			}
			if s.Exists(p) {
				t.Error("it exists")
			}
		})
	}
}

func TestADeletionEverywhereKilledAnywhereIsSaidOnceTheFileIsGone(t *testing.T) {
	t.Parallel()
	for _, step := range steps(t, "delete everywhere") {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			p := path(t, "ns1/svc/web")
			s.write(t, "namespaces/ns1/svc/web.conf", old)

			killed(t, again(t, s, "delete everywhere", step))

			if d, err := s.Deletion(p); err != nil || d == nil && !s.Exists(p) {
				t.Errorf("it is gone, and nobody knows why: %v", err)
			}
		})
	}
}

func TestACommitWithoutRoomLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "namespaces/ns1/svc/web.conf", old)

	if err := again(t, s, "no room", "-"); err != nil {
		t.Fatal(err)
	}

	if got := s.read(t, "namespaces/ns1/svc/web.conf"); got != old {
		t.Errorf("got\n%s", got)
	}
	if left, _ := filepath.Glob(s.file("namespaces/ns1/svc/.*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := s.Update(t.Context(), path(t, "ns1/svc/web"), set(t, "env.a=new")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
