package socket

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func shortName(fd int, base string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", fd, base) }

// PeerOf returns who connected conn.
func PeerOf(conn net.Conn) (Peer, error) {
	uc, ok := conn.(syscall.Conn)
	if _, isTCP := conn.(*net.TCPConn); !ok || isTCP {
		return Peer{}, fmt.Errorf("peer of a %T: not a unix socket", conn)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, credErr); err != nil {
		return Peer{}, fmt.Errorf("peer credentials: %w", err)
	}
	return Peer{Pid: int(cred.Pid), UID: int(cred.Uid), GID: int(cred.Gid)}, nil
}
