// Command cloud serves a small OpenStack in memory, for the demonstration and the
// benchmarks. It prints the environment that leads koc to it, and ends with its
// standard input.
//
//	cloud [SERVERS]
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/koc/cloudtest"
)

func main() {
	c, err := cloudtest.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cloud:", err)
		os.Exit(1)
	}
	servers := 3
	if len(os.Args) > 1 {
		if servers, err = strconv.Atoi(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "cloud:", err)
			os.Exit(2)
		}
	}
	c.AddServers(servers)
	for _, pair := range c.Env() {
		_, _ = fmt.Fprintln(os.Stdout, "export", pair)
	}
	_, _ = fmt.Fprintln(os.Stdout)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = c.Close()
}
