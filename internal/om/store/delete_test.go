package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// The daemon evaluates the status of an object, and writes it down, while a
// command deletes the object.
func TestAStatusWrittenMeanwhileDoesNotStopADelete(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "svc1")
	state := filepath.Join(s.paths.Var(), filepath.FromSlash(p.StateDir()))
	for range 50 {
		if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(state, 0o700); err != nil {
			t.Fatal(err)
		}
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range 20 { // the directory may be gone at any of them
				_ = os.WriteFile(filepath.Join(state, strconv.Itoa(i)), nil, 0o600)
			}
		})
		err := s.Delete(t.Context(), p)
		writer.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Between any two steps of a deletion somebody may write a status.
func TestNothingOutlivesADelete(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "svc1")
	if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(s.paths.Var(), filepath.FromSlash(p.StateDir()))
	write := func() {
		if err := errors.Join(os.MkdirAll(state, 0o700), os.WriteFile(filepath.Join(state, "status.json"), nil, 0o600)); err != nil {
			t.Error(err)
		}
	}
	steps := 0
	if err := s.At(func(string) { steps++; write() }).Delete(t.Context(), p); err != nil || steps < 2 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	entries, err := os.ReadDir(filepath.Dir(state))
	if err != nil || len(entries) > 0 {
		t.Errorf("remains %v, %v", entries, err)
	}

	write()
	if err := s.Bury(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("written after the deletion: %v", err)
	}
}

func TestTheStateOfAnObjectThatExistsIsNotBuried(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(t, "svc1")
	if _, err := s.Create(t.Context(), p, nil, store.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(s.paths.Var(), filepath.FromSlash(p.StateDir()))
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Bury(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(state); err != nil {
		t.Error(err)
	}
}
