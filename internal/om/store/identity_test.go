package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const (
	oneID   = "0e745444-6724-48f9-8167-e865b4f9ec94"
	otherID = "0e745444-6724-48f9-8167-e865b4f9ec95"
)

func idOf(tb testing.TB, s site, name string) string {
	tb.Helper()
	f, err := s.Load(path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	id, _ := f.Doc.Get(config.Key{Section: "DEFAULT", Option: "id"})
	return id
}

func TestTheIdentityOfAnObjectIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = "+oneID+"\n")

	for name, change := range map[string]config.Change{
		"emptied":  set(t, "id="),
		"unset":    {Unset: []config.Key{{Section: "DEFAULT", Option: "id"}}},
		"cut away": set(t, "id-="+oneID),
	} {
		_, err := s.Update(t.Context(), path(t, "web"), change)
		if err == nil || !strings.Contains(err.Error(), "web: the id of an object is not removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := idOf(t, s, "web"); got != oneID {
		t.Errorf("the id is %q", got)
	}
}

func TestTheIdentityOfAnObjectIsNotChosen(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = "+oneID+"\n")
	want := "the id of an object is not chosen"

	for _, id := range []string{otherID, "hello"} {
		_, err := s.Update(t.Context(), path(t, "web"), set(t, "id="+id))
		fails(t, err, "web: "+want)
		_, err = s.Create(t.Context(), path(t, "new"), nil, store.CreateOptions{Change: set(t, "id="+id)})
		fails(t, err, "new: "+want)
	}
	_, err := s.Create(t.Context(), path(t, "new"), nil, store.CreateOptions{Restore: true, Change: set(t, "id=hello")})
	fails(t, err, `id: value "hello": not a uuid`)

	if _, err := s.Update(t.Context(), path(t, "web"), set(t, "id="+oneID)); err != nil {
		t.Errorf("its own: %v", err)
	}
	if _, err := s.Update(t.Context(), path(t, "web"), config.Change{Delete: []string{"DEFAULT"}, Set: set(t, "env.a=1").Set}); err != nil || idOf(t, s, "web") != oneID {
		t.Errorf("the section deleted: %q, %v", idOf(t, s, "web"), err)
	}
	if _, err := s.Create(t.Context(), path(t, "new"), nil, store.CreateOptions{Restore: true, Change: set(t, "id="+otherID)}); err != nil || idOf(t, s, "new") != otherID {
		t.Errorf("restored: %q, %v", idOf(t, s, "new"), err)
	}
}

func TestAMissingIdentityIsMade(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"missing": "[env]\na = 1\n", "empty": "[DEFAULT]\nid =\n\n[env]\na = 1\n"} {
		s := open(t)
		s.write(t, "web.conf", text)

		if _, err := s.Update(t.Context(), path(t, "web"), set(t, "env.a=2")); err != nil {
			t.Fatal(err)
		}

		if _, err := uuid.Parse(idOf(t, s, "web")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnIdentityOfOldIsKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = old\n")

	_, err := s.Update(t.Context(), path(t, "web"), set(t, "env.a=2"))

	if err != nil || idOf(t, s, "web") != "old" {
		t.Errorf("%q, %v", idOf(t, s, "web"), err)
	}
}

func TestTwoObjectsDoNotShareAnIdentity(t *testing.T) {
	t.Parallel()
	s := open(t)
	saved := parse(t, "[DEFAULT]\nid = "+oneID+"\n")
	restore := store.CreateOptions{Restore: true}
	if _, err := s.Create(t.Context(), path(t, "web"), saved, restore); err != nil {
		t.Fatal(err)
	}
	want := "id: " + oneID + " is the id of web: delete that one first"

	_, err := s.Create(t.Context(), path(t, "ns1/svc/copy"), saved, restore)
	fails(t, err, want)
	_, err = s.Create(t.Context(), path(t, "copy"), nil, store.CreateOptions{Restore: true, Change: set(t, "id="+oneID)})
	fails(t, err, want)
	s.write(t, "other.conf", "[DEFAULT]\nid = "+otherID+"\n")
	_, err = s.Replace(t.Context(), path(t, "other"), []byte("[DEFAULT]\nid = "+oneID+"\n"))
	fails(t, err, want)

	if _, err := s.Create(t.Context(), path(t, "web"), saved, store.CreateOptions{Restore: true, Force: true}); err != nil {
		t.Error(err)
	}
	if _, err := s.Create(t.Context(), path(t, "copy"), saved, store.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTheIdentityOfACopyIsWhereThatOfItsSourceWas(t *testing.T) {
	t.Parallel()
	s := open(t)
	source := parse(t, "[DEFAULT]\n# who\nid = "+oneID+"\norchestrate = ha\n\n[env]\na = 1\n")

	if _, err := s.Create(t.Context(), path(t, "copy"), source, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	id := idOf(t, s, "copy")
	if got, want := s.read(t, "copy.conf"), "[DEFAULT]\n# who\nid = "+id+"\norchestrate = ha\n\n[env]\na = 1\n"; got != want || id == oneID {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
