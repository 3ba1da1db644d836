// Package station is what a client of the API remembers of the clusters it may
// talk to: the contexts, in a file that a person may edit, and the tokens of their
// sessions, each in a file of its own that nobody else can read.
//
//	~/.config/opensvc/contexts.json         clusters, users, contexts: no secret
//	~/.cache/opensvc/tokens/<context>.json  the tokens a login gave, mode 0600
//
// Both are replaced as a whole, under a lock: two programs never mix their changes.
package station

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// Station is where the files are.
type Station struct {
	home string
}

// At returns the station of the user whose home is given.
func At(home string) Station { return Station{home: home} }

// Path is the file of the contexts.
func (s Station) Path() string { return filepath.Join(s.home, ".config", "opensvc", "contexts.json") }

func (s Station) tokenDir() string { return filepath.Join(s.home, ".cache", "opensvc", "tokens") }

// check says what keeps a station from having files.
func (s Station) check() error {
	if s.home == "" {
		return errors.New("there is no place for the contexts: set HOME")
	}
	return nil
}

// lockLimit is how long another program may hold a file: a renewal of a token is
// one request.
const lockLimit = 30 * time.Second

// lock keeps other programs from the file until it is unlocked. The lock ends with
// the process, whatever happens to it.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	err = retry.Until(waiting, retry.Policy{Interval: 5 * time.Millisecond, Max: 100 * time.Millisecond}, func(context.Context) (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case err == nil:
		return func() { _ = f.Close() }, nil
	case ctx.Err() == nil && waiting.Err() != nil:
		err = fmt.Errorf("%s: another program has held it for %s", name+".lock", lockLimit)
	}
	return nil, errors.Join(err, f.Close())
}

// replace writes a file of this user only, as a whole. A symbolic link is followed:
// some keep their settings elsewhere.
func replace(name string, data []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	// Not renameio.WriteFile, which keeps the mode of the file it replaces.
	f, err := renameio.NewPendingFile(name, renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
