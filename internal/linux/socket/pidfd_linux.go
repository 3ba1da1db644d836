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

// ControlGroup returns the control group of the process that connected conn, as
// /proc says now. The kernel holds on to the process meanwhile: a number that was
// given to another one since is noticed.
func ControlGroup(conn net.Conn) (group string, err error) {
	fd, err := pidfdOf(conn)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	pid, err := pidOf(fd)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", fmt.Errorf("control group of the peer: %w", err)
	}
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return "", fmt.Errorf("control group of the peer: process %d is gone: %w", pid, err)
	}
	return unifiedGroup(string(data)), nil
}

// unifiedGroup reads a cgroup file of /proc: the group of the unified hierarchy,
// else that of systemd.
func unifiedGroup(text string) string {
	named := ""
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			return parts[2]
		case parts[1] == "name=systemd":
			named = parts[2]
		}
	}
	return named
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
