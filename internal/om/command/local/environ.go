package local

import (
	"slices"
	"strings"
)

// daemonEnviron is what a daemon keeps of the environment of the shell it is
// started from: what any program needs, what is addressed to the agent, and where
// its service manager listens. The rest would be that of all its services.
func daemonEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !strings.HasPrefix(name, "LC_") && !strings.HasPrefix(name, "OSVC_") &&
			!slices.Contains([]string{"PATH", "LANG", "TZ", "HOME", "NOTIFY_SOCKET"}, name)
	})
}
