// Command beacon is the service of the virtual machines, and the client of their power
// switch. It says that it lives on a serial line, which no cut cable silences, and only
// as long as its machine lives.
//
//	beacon serve ADDRESS       tells clients the name of the machine
//	beacon fence NODE ADDRESS  has the power of a machine cut
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "beacon:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1])
	case len(args) == 3 && args[0] == "fence":
		return fence(ctx, args[1], args[2])
	}
	return errors.New("usage: serve ADDRESS, fence NODE ADDRESS")
}

func serve(ctx context.Context, address string) error {
	node, err := os.Hostname()
	if err != nil {
		return err
	}
	line, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(line, "start"); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	go answer(listener, node)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_, err := fmt.Fprintln(line, "stop")
			return err
		case <-tick.C:
			if _, err := fmt.Fprintln(line, "lives"); err != nil {
				return err
			}
		}
	}
}

func answer(listener net.Listener, node string) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, node)
		_ = c.Close()
	}
}

func fence(ctx context.Context, node, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err := fmt.Fprintln(c, node); err != nil {
		return err
	}
	said, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if string(said) != "off\n" {
		return fmt.Errorf("the power of %s was not cut: %q", node, said)
	}
	return nil
}
