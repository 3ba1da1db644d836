// Package koc is the OpenStack client: its tree of commands and what a run of one
// is made of.
package koc

import (
	"context"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/program"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// Main runs the program and exits.
func Main(version string) {
	program.Main("koc", func(ctx context.Context, p program.Process) int {
		return New(version).Run(ctx, p)
	})
}

// New is the program of a version.
func New(version string) *command.Program {
	return &command.Program{
		Name:     "koc",
		Version:  version,
		Short:    "OpenStack from the command line",
		Services: Services(),
		Open:     func(c *command.Call) (*cloud.Cloud, error) { return cloud.New(options(c, version)), nil },
	}
}

// options are what a command line says of the session.
func options(c *command.Call, version string) cloud.Options {
	o := cloud.Options{
		Set:           map[string]string{},
		Env:           c.Env,
		Streams:       c.Streams,
		Version:       version,
		Compat:        c.Compat(),
		PasswordStdin: c.Is("os-password-stdin"),
		Debug:         c.Is("debug"),
		Timing:        c.Is("timing"),
		TokenCache:    c.Is("token-cache"),
	}
	for _, f := range command.Globals() {
		name, isSetting := strings.CutPrefix(f.Name, "os-")
		switch f.Name {
		case "insecure", "verify", "timeout":
			isSetting = true
		case "os-password-stdin", "os-beta-command", "os-profile":
			isSetting = false
		}
		if text, given := c.Global(f.Name); isSetting && given {
			o.Set[strings.ReplaceAll(name, "-", "_")] = text
		}
	}
	return o
}
