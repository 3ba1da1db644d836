package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ControlGroups returns the control groups of the process that connected conn, one
// for each hierarchy, as /proc says now. The kernel recorded the process when it
// connected, and holds on to it: a number that was given to another process since
// is noticed. A process that ended is in no group any more, in spite of what /proc
// says of it.
func ControlGroups(conn net.Conn) (groups []string, err error) {
	fd, err := pidfdOf(conn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	pid, err := pidOf(fd)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	text, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("control group of the peer: %w", err)
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil, fmt.Errorf("control group of the peer: %w", err)
	}
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("control group of the peer: process %d is gone: %w", pid, err)
	}
	if !lives(string(stat)) {
		return nil, fmt.Errorf("control group of the peer: process %d has ended", pid)
	}
	if groups, err = ParseControlGroups(string(text)); err != nil {
		return nil, fmt.Errorf("control group of the peer, process %d: %w", pid, err)
	}
	return groups, nil
}

// lives reads a stat file of /proc: whether the first thread of the process runs,
// the one whose groups are told.
func lives(stat string) bool {
	_, state, ok := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	return ok && state != "" && !strings.ContainsRune("ZXx", rune(state[0]))
}

func pidfdOf(conn net.Conn) (fd int, err error) {
	uc, ok := conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("peer of a %T: not a unix socket", conn)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("peer: %w", err)
	}
	var optErr error
	err = raw.Control(func(s uintptr) { fd, optErr = unix.GetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_PEERPIDFD) })
	if errors.Is(optErr, unix.ENOPROTOOPT) {
		return -1, ErrNoPidfd
	}
	if err = errors.Join(err, optErr); err != nil {
		return -1, fmt.Errorf("pidfd of the peer: %w", err)
	}
	return fd, nil
}

// pidOf is the number of the process of a pidfd, in our namespace.
func pidOf(fd int) (int, error) {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, fmt.Errorf("pidfd of the peer: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "Pid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || pid <= 0 {
				return 0, fmt.Errorf("pidfd of the peer: process %s: it is gone, or out of sight", strings.TrimSpace(text))
			}
			return pid, nil
		}
	}
	return 0, errors.New("pidfd of the peer: the kernel does not say of which process")
}
