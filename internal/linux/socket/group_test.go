package socket_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/linux/socket"
)

func TestTheControlGroupsOfAProcess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"0::/user.slice/a\n": {"/user.slice/a"},
		"12:pids:/docker/x\n2:cpu,cpuacct:/\n1:name=systemd:/docker/x\n0::/system.slice/docker.service\n": {"/docker/x", "/", "/system.slice/docker.service"},
		"0::/a:b/c: d\n":       {"/a:b/c: d"},
		"0::/../b\n":           {"/../b"},
		"0::/gone (deleted)\n": {"/gone (deleted)"},

		"":                   nil,
		"\n":                 nil,
		"0::":                nil,
		"0::/a":              nil, // cut short
		"0::a\n":             nil,
		"0:/a\n":             nil,
		"x::/a\n":            nil,
		"-1::/a\n":           nil,
		"1:cpu:/a\n0::\n":    nil,
		"1:cpu:/a\n\n0::/\n": nil,
	} {
		got, err := socket.ParseControlGroups(text)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func FuzzParseControlGroups(f *testing.F) {
	f.Add("12:pids:/docker/x\n1:name=systemd:/\n0::/init\n")
	f.Add("0::/a:b\n")
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := socket.ParseControlGroups(text)
		if (err == nil) == (len(groups) == 0) {
			t.Fatalf("%q, %v", groups, err)
		}
		for i, g := range groups {
			if !strings.HasPrefix(g, "/") || strings.Contains(g, "\n") || slices.Contains(groups[:i], g) || !strings.Contains(text, ":"+g+"\n") {
				t.Errorf("group %q of %q", g, text)
			}
		}
	})
}
