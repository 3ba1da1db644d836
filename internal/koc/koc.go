// Package koc is the OpenStack client: its tree of commands and what a run of one
// is made of.
package koc

import (
	"context"
	"io"
	"log"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// Main runs the program and exits.
func Main(version string) {
	// The HTTP client of the standard library has something to say of services that
	// send more than they should. Nobody here can do anything about it.
	log.SetOutput(io.Discard)
	program.Main("koc", func(p program.Process, signals func() context.Context) int {
		return New(version).Start(p, signals)
	})
}

// New is the program of a version.
func New(version string) *command.Program {
	return &command.Program{
		Name:     "koc",
		Version:  version,
		Short:    "OpenStack from the command line",
		Services: Services,
		Open:     func(c *command.Call) (*cloud.Cloud, error) { return cloud.New(options(c, version)), nil },
	}
}
