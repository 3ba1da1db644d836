// Command cloud serves a small OpenStack in memory for the demonstration. It
// prints the environment that leads koc to it, and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/holdfast-ops/holdfast/internal/koc/cloudtest"
)

func main() {
	c, err := cloudtest.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cloud:", err)
		os.Exit(1)
	}
	c.AddServers(3)
	for _, pair := range c.Env() {
		_, _ = fmt.Fprintln(os.Stdout, "export", pair)
	}
	_, _ = fmt.Fprintln(os.Stdout)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = c.Close()
}
