//go:build !linux

package socket

import (
	"errors"
	"fmt"
	"net"
)

func shortName(fd int, base string) string { return fmt.Sprintf("/dev/fd/%d/%s", fd, base) }

// PeerOf is only known on linux.
func PeerOf(net.Conn) (Peer, error) { return Peer{}, errors.ErrUnsupported }

// ControlGroups is only known on linux.
func ControlGroups(net.Conn) ([]string, error) { return nil, ErrNoPidfd }
