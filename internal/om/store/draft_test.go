package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// edit writes in the draft as an editor does: another file, renamed over it.
func edit(t *testing.T, d *store.Draft, text string) {
	t.Helper()
	if err := os.WriteFile(d.Name+"~", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.Name+"~", d.Name); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, s site, p object.Path) *store.Draft {
	t.Helper()
	d, err := s.Edit(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func noDraft(t *testing.T, s site) {
	t.Helper()
	if left, _ := filepath.Glob(s.file(".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnEditIsCommittedFromItsDraft(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", old)
	d := begin(t, s, path(t, "web"))
	data, err := os.ReadFile(d.Name)
	if err != nil || string(data) != old {
		t.Fatalf("the draft is %q, %v", data, err)
	}
	info, err := os.Stat(d.Name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the draft has mode %v, %v", info.Mode(), err)
	}
	edit(t, d, strings.Replace(old, "old", "new", 1))

	done, err := s.Commit(t.Context(), d)

	if err != nil || !done.Changed || !strings.Contains(s.read(t, "web.conf"), "a = new") {
		t.Errorf("got %+v, %v", done, err)
	}
	noDraft(t, s)
}

func TestAnEditThatChangesNothingLeavesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", old)

	done, err := s.Commit(t.Context(), begin(t, s, path(t, "web")))

	if err != nil || done.Changed {
		t.Errorf("got %+v, %v", done, err)
	}
	noDraft(t, s)
}

func TestARefusedEditIsRecoveredOrDiscarded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"unknown keyword", "[DEFAULT]\nid = x\norchestrat = ha\n", "orchestrate"},
		{"syntax", "[DEFAULT]\nid = x\n[broken\n", "line 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			p := path(t, "web")
			s.write(t, "web.conf", old)
			d := begin(t, s, p)
			edit(t, d, c.text)

			_, err := s.Commit(t.Context(), d)

			fails(t, err, c.want)
			if s.read(t, "web.conf") != old {
				t.Error("it was written")
			}

			_, err = s.Edit(p)
			var left *store.DraftError
			if !errors.As(err, &left) || left.Draft != d.Name {
				t.Errorf("got %v", err)
			}
			fails(t, err, "--recover", "--discard")

			again, err := s.Recover(p)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(again.Name); err != nil || string(data) != c.text {
				t.Errorf("recovered %q, %v", data, err)
			}
			edit(t, again, "[DEFAULT]\nid = x\norchestrate = ha\n")
			if _, err := s.Commit(t.Context(), again); err != nil {
				t.Error(err)
			}
			noDraft(t, s)

			edit(t, begin(t, s, p), c.text)
			if err := s.Discard(p); err != nil {
				t.Error(err)
			}
			noDraft(t, s)
			if _, err := s.Edit(p); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutDraftThereIsNothingToRecoverOrDiscard(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", old)
	_, errRecover := s.Recover(path(t, "web"))
	for _, err := range []error{errRecover, s.Discard(path(t, "web"))} {
		if _, ok := errors.AsType[*store.NoDraftError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnEditDoesNotOverwriteWhatWasCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "web")
	s.write(t, "web.conf", old)
	d := begin(t, s, p)
	edit(t, d, strings.Replace(old, "old", "mine", 1))
	if _, err := s.Update(t.Context(), p, set(t, "env.b=theirs")); err != nil {
		t.Fatal(err)
	}

	_, err := s.Commit(t.Context(), d)

	if _, ok := errors.AsType[*store.ConflictError](err); !ok {
		t.Fatalf("got %v", err)
	}
	fails(t, err, s.file("web.conf"), d.Name, "--recover", "--discard")
	if !strings.Contains(s.read(t, "web.conf"), "theirs") {
		t.Error("it was overwritten")
	}

	d, err = s.Recover(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), d); err != nil || !strings.Contains(s.read(t, "web.conf"), "mine") {
		t.Errorf("the recovered edit: %v\n%s", err, s.read(t, "web.conf"))
	}
	noDraft(t, s)
}

func TestABrokenConfigurationIsRepairedByAnEdit(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[broken\n")
	d := begin(t, s, path(t, "web"))
	edit(t, d, "[env]\na = 1\n")

	_, err := s.Commit(t.Context(), d)

	if err != nil || !strings.Contains(s.read(t, "web.conf"), "a = 1") {
		t.Errorf("got %v", err)
	}
}

func TestTheNodeConfigurationIsEditedBeforeItExists(t *testing.T) {
	t.Parallel()
	s := empty(t)
	d := begin(t, s, object.Path{})
	edit(t, d, "[node]\nenv = PRD\n")

	_, err := s.Commit(t.Context(), d)

	n, errNode := s.Node()
	if err != nil || errNode != nil || n.Env != "PRD" {
		t.Errorf("got %v, %v, %+v", err, errNode, n)
	}
	noDraft(t, s)
}

func TestADraftWhereNothingWasTypedIsDropped(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = "+oneID+"\n")
	for _, p := range []object.Path{path(t, "web"), {}} {
		d, err := s.Edit(p)
		if err != nil {
			t.Fatal(err)
		}
		if dropped, err := s.Drop(d); err != nil || !dropped {
			t.Errorf("%s: %t, %v", p, dropped, err)
		}
		if d, err = s.Edit(p); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Name, []byte("typed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if dropped, err := s.Drop(d); err != nil || dropped {
			t.Errorf("%s: what was typed: %t, %v", p, dropped, err)
		}
		if _, err := s.Recover(p); err != nil {
			t.Error(err)
		}
	}
	empty := empty(t)
	d, err := empty.Edit(object.Path{})
	if err != nil {
		t.Fatal(err)
	}
	if dropped, err := empty.Drop(d); err != nil || !dropped {
		t.Errorf("without configuration: %t, %v", dropped, err)
	}
}
