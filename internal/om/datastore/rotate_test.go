package datastore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const newSecret = "a new secret"

// sealedSite holds three keys in each of a sec and a usr.
func sealedSite(t hosttest.TB) site {
	t.Helper()
	s := open(t)
	for _, kind := range []object.Kind{object.KindSec, object.KindUsr} {
		if err := s.SetAll(context.Background(), path(kind), map[string][]byte{"a": []byte("1"), "b": {0xff}, "password": []byte("hunter2")}); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return s
}

// lost lists the keys of a sealedSite that cannot be read, by a process that
// knows nothing but the files.
func (s site) lost(t hosttest.TB) []string {
	t.Helper()
	d := datastore.New(s.store)
	var lost []string
	for _, kind := range []object.Kind{object.KindSec, object.KindUsr} {
		for key, want := range map[string]string{"a": "1", "b": "\xff"} {
			if got, err := d.Decode(path(kind), key); string(got) != want || err != nil {
				lost = append(lost, fmt.Sprintf("%s %s: %q, %v", kind, key, got, err))
			}
		}
	}
	if ok, err := d.CheckPassword(path(object.KindUsr), []byte("hunter2")); !ok || err != nil {
		lost = append(lost, fmt.Sprintf("the password: %v, %v", ok, err))
	}
	return lost
}

func (s site) formerSecrets(t hosttest.TB) []secret.String {
	t.Helper()
	known, err := s.store.ClusterSecrets()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return known.Former
}

func TestARotationSealsEveryKeyAnew(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	before := s.raw(t, path(object.KindSec), "a")

	done, err := s.Rotate(t.Context(), secret.New(newSecret))

	if err != nil || done.Keys != 6 || len(done.Unreadable) > 0 || done.Pending {
		t.Errorf("got %+v, %v", done, err)
	}
	if lost := s.lost(t); len(lost) > 0 {
		t.Errorf("lost: %s", lost)
	}
	if s.raw(t, path(object.KindSec), "a") == before {
		t.Error("a key is sealed with the former secret")
	}
	if text := s.file(t, object.Cluster()); strings.Contains(text, clusterSecret) || strings.Contains(text, "former") || !strings.Contains(text, newSecret) {
		t.Errorf("the former secret is still there:\n%s", text)
	}
}

var errCrash = errors.New("crash")

// crashAt rotates the secret and stops at the nth step; it reports whether it got so far.
func (s site) crashAt(n int) (crashed bool) {
	defer func() { crashed = recover() == errCrash }() //nolint:errorlint // the very value
	step := 0
	_, _ = s.At(func(string) {
		if step == n {
			panic(errCrash)
		}
		step++
	}).Rotate(context.Background(), secret.New(newSecret))
	return false
}

func TestACrashAnywhereInARotationLosesNoKey(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		s := sealedSite(t)
		crashed := s.crashAt(n)

		if lost := s.lost(t); len(lost) > 0 {
			t.Fatalf("stopped at step %d: lost %s", n, lost)
		}
		if _, err := s.Reseal(t.Context()); err != nil {
			t.Fatalf("stopped at step %d: %v", n, err)
		}
		if lost, former := s.lost(t), s.formerSecrets(t); len(lost) > 0 || len(former) > 0 {
			t.Fatalf("stopped at step %d, then ended: lost %s, %d former secrets", n, lost, len(former))
		}
		if !crashed {
			if n < 6 {
				t.Errorf("a rotation has %d steps only: the test stops nowhere", n)
			}
			return
		}
	}
}

func TestTheLawOfRotationsTellsASecretForgottenTooEarly(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	s.crashAt(0)

	if err := s.store.ForgetSecrets(t.Context(), s.formerSecrets(t)); err != nil {
		t.Fatal(err)
	}

	if len(s.lost(t)) == 0 {
		t.Error("keys open with a secret nobody has: the law cannot fail")
	}
}

func TestARotationDuringAnotherLosesNoKey(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	s.crashAt(2)

	done, err := s.Rotate(t.Context(), secret.New("a third secret"))

	if err != nil || done.Pending || len(s.lost(t)) > 0 || len(s.formerSecrets(t)) > 0 {
		t.Errorf("got %+v, %v, lost %s", done, err, s.lost(t))
	}
}

func TestAFormerSecretGoesOnlyWhenNothingNeedsIt(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	s.crashAt(0)
	cluster := object.Cluster()

	for what, write := range map[string]func() error{
		"unset": func() error {
			_, err := s.store.Update(t.Context(), cluster, config.Change{Unset: []config.Key{{Section: "cluster", Option: "former_secrets"}}})
			return err
		},
		"replaced": func() error {
			_, err := s.store.Replace(t.Context(), cluster, []byte("[cluster]\nname = c1\nnodes = "+writer+"\nid = 11111111-1111-4111-8111-111111111111\nsecret = "+newSecret+"\n"))
			return err
		},
	} {
		if err := write(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if lost := s.lost(t); len(lost) > 0 {
			t.Errorf("%s: lost %s", what, lost)
		}
	}
}

func TestWhatNoSecretOpensIsToldAndDoesNotHoldARotationUp(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	sec := path(object.KindSec)
	if _, err := s.store.Modify(t.Context(), sec, func(doc *config.Document) error {
		return doc.Set(config.Key{Section: "data", Option: "broken"}, "crypt:1:AAAA")
	}); err != nil {
		t.Fatal(err)
	}

	done, err := s.Rotate(t.Context(), secret.New(newSecret))

	if err != nil || done.Pending || len(done.Unreadable) != 1 || done.Unreadable[0] != sec.String()+": key broken" {
		t.Errorf("got %+v, %v", done, err)
	}
	if s.raw(t, sec, "broken") != "crypt:1:AAAA" {
		t.Error("it was written")
	}
}

func TestAnUnreadableObjectHoldsARotationUp(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	sec := path(object.KindSec)
	text := s.file(t, sec)
	s.write(t, sec, "[data\n")

	done, err := s.Rotate(t.Context(), secret.New(newSecret))
	if err == nil || !done.Pending {
		t.Errorf("got %+v, %v", done, err)
	}
	s.write(t, sec, text)

	if lost := s.lost(t); len(lost) > 0 {
		t.Errorf("lost: %s", lost)
	}
}

func TestOtherNodesKeepTheFormerSecret(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	s.write(t, object.Cluster(), "[cluster]\nname = c1\nnodes = "+writer+" n2\nsecret = "+clusterSecret+"\n")

	done, err := s.Rotate(t.Context(), secret.New(newSecret))

	if err != nil || !done.Pending || done.Keys != 6 || len(s.formerSecrets(t)) != 1 {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestReadersAndWritersDoNotNoticeARotation(t *testing.T) {
	t.Parallel()
	s := sealedSite(t)
	sec := path(object.KindSec)
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for ctx.Err() == nil {
			if got, err := s.Decode(sec, "a"); string(got) != "1" || err != nil {
				t.Errorf("read %q, %v", got, err)
				return
			}
		}
	})
	for w := range 2 {
		writers.Go(func() {
			for i := range 4 {
				if err := s.Add(t.Context(), sec, fmt.Sprintf("w%d-%d", w, i), []byte(strconv.Itoa(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}

	for i := range 3 {
		if _, err := s.Rotate(t.Context(), secret.New("secret "+strconv.Itoa(i))); err != nil {
			t.Error(err)
		}
	}
	writers.Wait()
	cancel()
	readers.Wait()

	for w := range 2 {
		for i := range 4 {
			if got, err := s.Decode(sec, fmt.Sprintf("w%d-%d", w, i)); string(got) != strconv.Itoa(i) || err != nil {
				t.Errorf("w%d-%d: %q, %v", w, i, got, err)
			}
		}
	}
}
