package store_test

import (
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
