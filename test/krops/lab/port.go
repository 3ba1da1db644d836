package lab

import (
	"net"
	"sync"
)

var (
	portsMu sync.Mutex
	// portsGiven are those handed out in this process: the kernel gives a port again
	// that nobody listens on yet.
	portsGiven = map[int]bool{}
)

// Port returns a port of 127.0.0.1 that is free.
func Port() (int, error) {
	portsMu.Lock()
	defer portsMu.Unlock()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
		if err != nil {
			return 0, err
		}
		port := portOf(l)
		if err := l.Close(); err != nil {
			return 0, err
		}
		if !portsGiven[port] {
			portsGiven[port] = true
			return port, nil
		}
	}
}

// portOf is the port of a listener on TCP.
func portOf(l net.Listener) int {
	address, _ := l.Addr().(*net.TCPAddr)
	return address.Port
}

// somePorts returns n free ports.
func somePorts(n int) ([]int, error) {
	list := make([]int, n)
	for i := range list {
		port, err := Port()
		if err != nil {
			return nil, err
		}
		list[i] = port
	}
	return list, nil
}
