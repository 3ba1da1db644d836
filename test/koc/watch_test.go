package koc_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/koc/cloudtest"
)

// tmux is a terminal with a shell in it, as an operator has.
type tmux struct {
	*testing.T

	socket string
}

func newTmux(t *testing.T, env []string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		hosttest.Skip(t, "no tmux to watch a terminal with: %v", err)
	}
	m := &tmux{T: t, socket: filepath.Join(t.TempDir(), "s")}
	ctx := context.WithoutCancel(t.Context()) // it has to be ended yet when the test is over
	t.Cleanup(func() { _ = exec.CommandContext(ctx, "tmux", "-S", m.socket, "kill-server").Run() })
	args := []string{"-S", m.socket, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "12"}
	// A shell with job control and a prompt that is known.
	cmd := exec.CommandContext(ctx, "tmux", append(args, "bash", "--norc", "--noprofile")...)
	cmd.Env = append(append(os.Environ(), env...), "PS1=prompt> ", "TERM=screen", "LC_ALL=C.UTF-8", "BASH_SILENCE_DEPRECATION_WARNING=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	m.until("prompt>")
	return m
}

func (m *tmux) do(args ...string) string {
	m.Helper()
	out, err := exec.CommandContext(m.Context(), "tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// keys presses keys, by their names in tmux.
func (m *tmux) keys(names ...string) {
	m.Helper()
	m.do(append([]string{"send-keys", "-t", "0"}, names...)...)
}

// until waits for a text on the screen and returns the screen.
func (m *tmux) until(text string) string {
	m.Helper()
	return m.wait(text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (m *tmux) wait(what string, shown func(screen string) bool) string {
	m.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	end := time.Now().Add(time.Minute)
	for range look.C {
		screen := m.do("capture-pane", "-p", "-t", "0")
		if shown(screen) {
			return screen
		}
		if time.Now().After(end) {
			m.Fatalf("%s: the screen is\n%s", what, screen)
		}
	}
	return ""
}

// modes are the settings of the terminal while a command that ended left it.
func (m *tmux) modes() string {
	m.Helper()
	// What is typed before the shell asks for it may be dropped with the modes of the command.
	m.wait("the prompt", func(screen string) bool {
		screen = strings.TrimSpace(screen)
		return screen[strings.LastIndex(screen, "\n")+1:] == "prompt>"
	})
	m.keys("clear; echo modes=$(stty -g)", "Enter")
	screen := m.wait("the modes", func(screen string) bool { return strings.HasPrefix(screen, "modes=") })
	first, _, _ := strings.Cut(screen, "\n")
	return first
}

func TestWatchingInARealTerminal(t *testing.T) {
	t.Parallel()
	c, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.AddServers(20)
	m := newTmux(t, c.Env())
	before := m.modes()
	m.keys("clear; echo kept; koc server list -c Name -c Status --watch=1s", "Enter")

	screen := m.until("lines 1–7 of 21")
	for _, want := range []string{"koc server list · every 1s · ", " · 20 rows · ", " · ok · diff on · ", " · ? keys", "| server-00007 | ACTIVE |", "── 14 below · "} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}

	m.keys("PageDown", "Down")
	m.until("lines 9–15 of 21")
	m.keys("Home", "C-f", "Up")
	m.until("lines 7–13 of 21")
	m.keys("?")
	m.until("longer, shorter interval")
	m.keys("?", "+")
	m.until("every 2s")
	m.keys("p")
	m.until("· paused ·")
	m.do("resize-window", "-t", "0", "-x", "40", "-y", "8")
	m.wait("a narrow screen", func(screen string) bool {
		return strings.HasPrefix(screen, "koc server … · paused · ") && strings.Contains(screen, "── 6 above, 12 below")
	})
	m.do("resize-window", "-t", "0", "-x", "100", "-y", "12")

	m.keys("C-z")
	m.until("Stopped")
	m.keys("fg", "Enter")
	m.until("lines 7–13 of 21")

	m.keys("q")
	screen = m.until("kept")
	if strings.Contains(screen, "server-0") {
		t.Errorf("what is left:\n%s", screen)
	}
	if after := m.modes(); after != before {
		t.Errorf("the terminal had %s, has %s", before, after)
	}
}

func TestAWatchThatIsKilledPutsTheTerminalBack(t *testing.T) {
	t.Parallel()
	c, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	m := newTmux(t, c.Env())
	before := m.modes()
	// The shell kills what it runs in front of it: its own child, by its number.
	for _, signal := range []string{"TERM", "HUP", "INT", "QUIT"} {
		m.keys("clear; sh -c '(sleep 1; kill -"+signal+" $$) & exec koc server list --watch=1s'; echo code=$?", "Enter")
		m.until("? keys")
		m.until("code=130")
		if after := m.modes(); after != before {
			t.Errorf("%s: the terminal had %s, has %s", signal, before, after)
		}
	}
}
