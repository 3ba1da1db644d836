package krops_test

import (
	"context"
	"net"

	"github.com/rogpeppe/go-internal/testscript"
)

// silent is the command silent: an engine listens and never answers.
func silent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: silent")
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "unix", ts.MkAbs("engine.sock"))
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	go func() {
		var kept []net.Conn
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			kept = append(kept, conn)
		}
		for _, conn := range kept {
			_ = conn.Close()
		}
	}()
}
