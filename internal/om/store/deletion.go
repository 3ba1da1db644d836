package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Deletion says that an object was deleted from the whole cluster. A configuration
// that is gone without one was removed by hand.
type Deletion struct {
	At time.Time `json:"at"`
	// Checksum and ModTime are those of the configuration that was deleted. Another one
	// is that of an object made again.
	Checksum string    `json:"checksum"`
	ModTime  time.Time `json:"mtime"`
}

func (s *Store) deletionFile(p object.Path) string {
	return filepath.Join(s.host.Paths.Var(), "replica", "deleted", strings.ReplaceAll(p.FQN(), "/", "_"))
}

// DeleteEverywhere is [Store.Delete] that says that the object is to be nowhere: the
// nodes that still have it are to delete it, too. It is said first: who is killed in
// between has the deletion asked for again.
func (s *Store) DeleteEverywhere(ctx context.Context, p object.Path) error {
	return s.delete(ctx, p, func() error {
		current, err := s.current(p)
		if err != nil || current == nil {
			return s.sayDeleted(p, Deletion{}) // be it unreadable
		}
		return s.sayDeleted(p, Deletion{Checksum: current.checksum, ModTime: current.info.ModTime()})
	})
}

func (s *Store) sayDeleted(p object.Path, d Deletion) error {
	d.At = time.Now().Round(0)
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	file := s.deletionFile(p)
	if err := makeDir(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("record the deletion: %w", err)
	}
	if err := renameio.WriteFile(file, data, 0, renameio.WithTempDir(filepath.Dir(file)), renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("record the deletion: %w", err)
	}
	s.step("deletion recorded")
	return nil
}

// Deletion returns what was said of the deletion of an object, nil when it was not
// deleted from the whole cluster, or when that was taken note of.
func (s *Store) Deletion(p object.Path) (*Deletion, error) {
	data, err := os.ReadFile(s.deletionFile(p))
	if err != nil {
		if missing(err) {
			return nil, nil //nolint:nilnil // nothing was said
		}
		return nil, fmt.Errorf("the deletion of %s: %w", name(p), err)
	}
	var d Deletion
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("the deletion of %s: %s: %w", name(p), s.deletionFile(p), err)
	}
	return &d, nil
}

// Deletions lists the objects that are said to be deleted.
func (s *Store) Deletions() ([]object.Path, error) {
	names, err := entries(filepath.Dir(s.deletionFile(object.Path{Namespace: "ns", Kind: object.KindSvc, Name: "name"})))
	var paths []object.Path
	for _, n := range names {
		parts := strings.Split(n, "_")
		if len(parts) != 3 {
			continue
		}
		p := object.Path{Namespace: parts[0], Kind: object.Kind(parts[1]), Name: parts[2]}
		if p.Validate() == nil {
			paths = append(paths, p)
		}
	}
	return paths, err
}

// DeletionNoted forgets what was said of a deletion: it is recorded elsewhere, or an
// object of the name was made again.
func (s *Store) DeletionNoted(p object.Path) error {
	if err := os.Remove(s.deletionFile(p)); err != nil && !missing(err) {
		return fmt.Errorf("the deletion of %s: %w", name(p), err)
	}
	return nil
}
