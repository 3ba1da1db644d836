package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Incoming is a configuration that was written on another node.
type Incoming struct {
	Data    []byte
	ModTime time.Time // there, and here
	Over    string    // checksum of what it replaces; empty: nothing is there
	// Archive keeps what is replaced: who wrote the new one had not seen it.
	Archive bool
	// Before is called under the lock, when all that can be refused was not.
	Before func(fresh *config.Document) error
}

// Installed tells what became of a configuration that came.
type Installed struct {
	Checksum string
	ModTime  time.Time
	Backup   string // file that has what was replaced, when it was archived
}

// ChangedError says that a configuration is not the one that was to be replaced.
type ChangedError struct{ Path object.Path }

// Error says so.
func (e *ChangedError) Error() string {
	return name(e.Path) + ": the configuration changed meanwhile"
}

// Install puts a configuration of another node in place, in one commit, byte for byte
// and with its time. It must be valid here, too.
//
// One of the cluster that replaces what its writer had not seen keeps the secrets of
// that, so that what they sealed can be opened: then it is another one.
func (s *Store) Install(ctx context.Context, p object.Path, in Incoming) (done Installed, err error) {
	doc, err := config.Parse(in.Data)
	if err != nil {
		return Installed{}, fmt.Errorf("%s: %w", name(p), err)
	}
	l, err := s.lock(ctx, p)
	if err != nil {
		return Installed{}, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	current, err := s.unchanged(p, in.Over)
	if err != nil {
		return Installed{}, err
	}
	var former *config.Document
	if current != nil {
		former = current.doc
	}
	data := in.Data
	if in.Archive && p == object.Cluster() {
		if err := s.keepSecrets(p, doc, former); err != nil {
			return Installed{}, err
		}
		data = doc.Bytes()
	}
	if err := s.admit(p, doc, former); err != nil {
		return Installed{}, err
	}
	if in.Archive && current != nil {
		if done.Backup, err = s.archive(p, current.data); err != nil {
			return Installed{}, err
		}
	}
	if in.Before != nil {
		if err := in.Before(doc); err != nil {
			return Installed{}, err
		}
	}
	s.step("accepted")
	done.Checksum = checksum(data)
	done.ModTime, err = s.writeDated(p, data, func(f *os.File) (time.Time, error) {
		return in.ModTime, os.Chtimes(f.Name(), in.ModTime, in.ModTime)
	})
	if err != nil {
		return Installed{}, fmt.Errorf("write the configuration of %s: %w", name(p), err)
	}
	return done, nil
}

// admit refuses what is not valid here. Who wrote it was let name nodes that left the
// cluster, where they were named before.
func (s *Store) admit(p object.Path, doc, former *config.Document) error {
	if !isSite(p) {
		former = doc
	}
	alerts := slices.DeleteFunc(s.validate(p, doc, former), func(a keyword.Alert) bool { return a.Level != keyword.LevelError })
	if len(alerts) > 0 {
		return &InvalidError{Path: p, Alerts: alerts}
	}
	return nil
}

// unchanged reads a configuration, and refuses another one than that of a checksum.
func (s *Store) unchanged(p object.Path, over string) (*version, error) {
	current, err := s.current(p)
	if err != nil {
		return nil, err
	}
	if found := current != nil; found != (over != "") || found && current.checksum != over {
		return nil, &ChangedError{Path: p}
	}
	return current, nil
}

// Withdraw archives a configuration that is for this node no more, then removes it with
// its state, as [Store.Delete] does. over is the checksum of what may be removed.
func (s *Store) Withdraw(ctx context.Context, p object.Path, over string) (backup string, err error) {
	if isSite(p) {
		return "", fmt.Errorf("%s: this configuration is never removed", name(p))
	}
	l, err := s.lock(ctx, p)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	current, err := s.unchanged(p, over)
	if err != nil || current == nil {
		return "", err
	}
	if backup, err = s.archive(p, current.data); err != nil {
		return "", err
	}
	if err := s.remove(p); err != nil {
		return backup, fmt.Errorf("remove %s: %w", name(p), err)
	}
	return backup, l.remove()
}

// Scope lists the nodes a configuration is for, as this node reads it.
func (s *Store) Scope(p object.Path, doc *config.Document) ([]string, error) {
	ev, err := s.Evaluator(p, doc, "")
	if err != nil {
		return nil, err
	}
	nodes := append([]string{}, ev.Scope.Nodes...)
	return append(nodes, ev.Scope.DRPNodes...), nil
}
