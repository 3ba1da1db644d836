package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// backupDir has the configurations that were replaced by others, or removed, without
// having been seen by who did.
func (s *Store) backupDir() string { return filepath.Join(s.host.Paths.Var(), "backup") }

// Archive keeps the configuration of an object, as it now is, and names the file.
func (s *Store) Archive(p object.Path) (file string, err error) {
	current, err := s.current(p)
	if err != nil {
		return "", err
	}
	if current == nil {
		return "", &object.NotFoundError{What: name(p)}
	}
	return s.archive(p, current.data)
}

// archive keeps data. What is there already, for it was archived by who was killed
// before it could go on, is kept once.
func (s *Store) archive(p object.Path, data []byte) (file string, err error) {
	dir := s.backupDir()
	if err := makeDir(dir, 0o700); err != nil {
		return "", fmt.Errorf("archive %s: %w", name(p), err)
	}
	prefix := strings.ReplaceAll(p.FQN(), "/", ".") + "_"
	names, err := entries(dir)
	if err != nil {
		return "", fmt.Errorf("archive %s: %w", name(p), err)
	}
	for _, known := range names {
		if !strings.HasPrefix(known, prefix) || !strings.HasSuffix(known, ".bck") {
			continue
		}
		if is, err := os.ReadFile(filepath.Join(dir, known)); err == nil && bytes.Equal(is, data) {
			return filepath.Join(dir, known), nil
		}
	}
	for at := time.Now().UTC(); ; at = at.Add(time.Nanosecond) {
		file = filepath.Join(dir, prefix+at.Format(time.RFC3339Nano)+".bck")
		if _, err := os.Lstat(file); missing(err) {
			break
		}
	}
	if err := renameio.WriteFile(file, data, 0, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600)); err != nil {
		return "", fmt.Errorf("archive %s: %w", name(p), err)
	}
	if err := syncDir(dir); err != nil {
		return "", fmt.Errorf("archive %s: %w", name(p), err)
	}
	s.step("archived")
	return file, nil
}
