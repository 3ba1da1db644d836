package koc

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
)

// options are what a command line says of the session. The environment is read by
// the session itself, as a named cloud decides which of its variables count.
func options(c *command.Call, version string) cloud.Options {
	on := func(name string) bool {
		text, given := c.Global(name)
		return given && text == "true"
	}
	o := cloud.Options{
		Set:           map[string]string{},
		Env:           c.Env,
		Streams:       c.Streams,
		Version:       version,
		Compat:        c.Compat(),
		PasswordStdin: on("os-password-stdin"),
		Debug:         on("debug"),
		Timing:        on("timing"),
		Quiet:         on("quiet"),
		TokenCache:    on("token-cache"),
	}
	for _, f := range command.Globals() {
		name, ok := setting(f.Name)
		if text, given := c.Global(f.Name); ok && given {
			o.Set[name] = text
		}
	}
	return o
}

// setting is the name in clouds.yaml of what a global flag sets, false for one
// that is no setting of the session.
func setting(flag string) (name string, ok bool) {
	switch flag {
	case "insecure", "verify", "timeout":
		return flag, true
	case "keyvrm-endpoint":
		return "keyvrm_endpoint_override", true
	case "os-password-stdin", "os-beta-command", "os-profile":
		return "", false
	}
	name, ok = strings.CutPrefix(flag, "os-")
	return strings.ReplaceAll(name, "-", "_"), ok
}
