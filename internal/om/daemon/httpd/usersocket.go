package httpd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
)

// ListenUserSocket makes the socket of the local accounts at path, in a directory
// that only its owner and the members of a group enter.
func ListenUserSocket(path string, group int) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := makeUserDir(dir, group); err != nil {
		return nil, fmt.Errorf("directory of the user socket: %w", err)
	}
	l, err := socket.Listen(path)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Lchown(path, -1, group), os.Chmod(path, 0o660)); err != nil { //nolint:gosec // the group may connect
		return nil, errors.Join(fmt.Errorf("access to the user socket: %w", err), l.Close())
	}
	return userListener{l}, nil
}

// makeUserDir makes the directory of the user socket. One that is there is looked
// at as what it is: a link would have another directory opened to the group.
func makeUserDir(dir string, group int) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // /run, when it is not there
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory: move it away", dir)
	}
	return errors.Join(os.Lchown(dir, -1, group), os.Chmod(dir, 0o750)) //nolint:gosec // the group enters
}

// userListener marks the connections of the user socket.
type userListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l userListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a %T on the user socket", conn), conn.Close())
	}
	return userConn{unixConn}, nil
}

// userConn is a connection of the user socket.
type userConn struct{ *net.UnixConn }

// userOf is who connected to the user socket.
func userOf(conn userConn) (auth.Caller, error) {
	p, err := socket.PeerOf(conn)
	if err != nil {
		return auth.Caller{}, err
	}
	groups, err := socket.ControlGroups(conn)
	if errors.Is(err, socket.ErrNoPidfd) {
		return auth.Caller{UID: p.UID, Unseen: true}, nil
	}
	return auth.Caller{UID: p.UID, Groups: groups}, err
}

// recogniseUser identifies who came through the user socket.
func (s *Server) recogniseUser(ctx context.Context, p peer) (auth.Principal, error) {
	if p.err != nil {
		return auth.Principal{}, p.err
	}
	if s.o.Credentials.Accounts == nil {
		return auth.Principal{}, errors.New("user socket: no account is known")
	}
	return s.o.Credentials.Accounts.Verify(ctx, p.user, now())
}
