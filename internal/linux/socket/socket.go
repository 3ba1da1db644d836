// Package socket opens unix stream sockets, whatever the length of their path,
// and tells who is at the other end.
//
// The kernel takes at most 107 bytes of path. A longer one is reached through
// the directory that holds it, opened first: /proc/self/fd/N/name.
package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// ErrNoPidfd says that the kernel does not hold on to the peer of a unix socket:
// that came with Linux 6.5.
var ErrNoPidfd = errors.New("the kernel gives no pidfd of the peer of a unix socket")

// maxPath is how much of a path a unix address holds.
const maxPath = 107

// Dial connects to the socket at path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	var conn net.Conn
	err := through(path, func(short string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn, nil
}

// Listen makes the socket at path. A socket file left by a process that is gone
// is replaced; the caller makes sure that no other process serves it. The file
// is removed when the listener is closed, unless another one took its place.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		if info, statErr := os.Lstat(path); statErr == nil && info.IsDir() {
			return nil, fmt.Errorf("listen on %s: a directory that holds something is there: move it away", path)
		}
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	var listener *net.UnixListener
	err := through(path, func(short string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false) // the short name is gone by then
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", path, err), listener.Close())
	}
	return &removing{UnixListener: listener, path: path, made: made}, nil
}

type removing struct {
	*net.UnixListener
	path string
	made os.FileInfo
}

// Close stops listening and removes the file.
func (l *removing) Close() error {
	err := l.UnixListener.Close()
	if found, statErr := os.Lstat(l.path); statErr == nil && !os.SameFile(found, l.made) {
		return err
	}
	if rm := os.Remove(l.path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}

// through calls use with a name of the file at path that fits an address.
func through(path string, use func(short string) error) (err error) {
	if len(path) <= maxPath {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return use(shortName(int(dir.Fd()), filepath.Base(path)))
}

// Peer is the process at the other end of a connection, as the kernel recorded
// it when it connected.
type Peer struct {
	Pid, UID, GID int
}
