package om_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
)

// tmux is a terminal with a shell in it, as an operator has.
type tmux struct {
	*testing.T

	socket string
	env    []string
}

func newTmux(t *testing.T, env []string) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		hosttest.Skip(t, "no tmux to open the terminal interface in: %v", err)
	}
	m := &tmux{T: t, socket: filepath.Join(t.TempDir(), "s"), env: append(os.Environ(), env...)}
	ctx := context.WithoutCancel(t.Context()) // it has to be ended yet when the test is over
	t.Cleanup(func() { _ = exec.CommandContext(ctx, "tmux", "-S", m.socket, "kill-server").Run() })
	args := []string{"-S", m.socket, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "24"}
	// A shell with job control and a prompt that is known.
	cmd := exec.CommandContext(ctx, "tmux", append(args, "bash", "--norc", "--noprofile")...)
	cmd.Env = append(slices.Clip(m.env), "PS1=prompt> ", "TERM=screen", "LC_ALL=C.UTF-8", "BASH_SILENCE_DEPRECATION_WARNING=1")
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

// until waits for texts on the screen and returns the screen.
func (m *tmux) until(texts ...string) string {
	m.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	end := time.Now().Add(time.Minute)
	for range look.C {
		screen := m.do("capture-pane", "-p", "-t", "0")
		missing := ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		if missing == "" {
			return screen
		}
		if time.Now().After(end) {
			m.Fatalf("no %q: the screen is\n%s", missing, screen)
		}
	}
	return ""
}

// modes are the settings of the terminal while a command that ended left it.
func (m *tmux) modes() string {
	m.Helper()
	m.keys("clear; echo modes=$(stty -g)", "Enter")
	screen := m.until("modes=", "prompt>")
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "modes=") && !strings.Contains(line, "stty") {
			return line
		}
	}
	return m.modes()
}

// om runs om beside the terminal.
func (m *tmux) om(args ...string) string {
	m.Helper()
	cmd := exec.CommandContext(m.Context(), "om", args...)
	cmd.Env = m.env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		m.Fatalf("om %s: %v: %s", args, err, errs.String())
	}
	return string(out)
}

func TestTheTerminalInterfaceInARealTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killUnder(root); removeGroups(root) })
	port, err := ports.take()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("root/etc/node.conf", fmt.Sprintf("[listener]\naddr = 127.0.0.1\nport = %d\n", port))
	m := newTmux(t, []string{
		"OSVC_ROOT_PATH=" + root, "HOME=" + dir, "OSVC_SERVER=127.0.0.1:" + strconv.Itoa(port),
		"OSVC_TOKEN_FILE=" + filepath.Join(dir, "token"), "OSVC_CA_FILE=" + filepath.Join(dir, "ca.pem"),
	})
	m.om("web", "create", "--kw", "fs#1.type=flag", "--kw", "app#1.type=simple", "--kw", "app#1.start=/bin/sleep 1000")
	m.om("daemon", "start")
	write("token", m.om("daemon", "auth", "token"))
	write("ca.pem", m.om("daemon", "auth", "ca"))
	before := m.modes()

	// A password is not seen, and a question that is interrupted leaves the terminal
	// as it was.
	m.om("system/usr/john", "create", "--kw", "grant=root")
	m.om("system/usr/john", "key", "add", "--name", "password", "--value", "secret")
	write("contexts.json", fmt.Sprintf(`{"clusters":{"lab":{"server":"127.0.0.1:%d","certificate_authority":%q}},"users":{"john":{}},
		"contexts":{"john@lab":{"cluster":"lab","user":"john"}}}`, port, filepath.Join(dir, "ca.pem")))
	m.keys("mkdir -p ~/.config/opensvc; mv ~/contexts.json ~/.config/opensvc; clear; ox context login", "Enter")
	m.until("1  john@lab", "Context:")
	m.keys("1", "Enter")
	m.until("Password for john@lab:")
	m.keys("C-c")
	m.until("Password for john@lab:", "prompt>")
	if after := m.modes(); after != before {
		t.Errorf("a question leaves the terminal with %s, it had %s", after, before)
	}
	m.keys("clear; ox --context john@lab context login", "Enter")
	m.until("Password for john@lab:")
	m.keys("secret", "Enter")
	if screen := m.until("Login successful."); strings.Contains(screen, "secret") {
		t.Errorf("the password is seen:\n%s", screen)
	}

	m.keys("clear; echo kept; ox", "Enter")
	m.until(" live", "Objects ", "web ", "down")

	// Act, and see it happen.
	m.keys("End", "a")
	m.until("act on web")
	m.keys("s")
	m.until("start web? y/n")
	m.keys("y")
	m.until("start web: succeeded", "no 1/1")
	m.keys("Enter")
	m.until("› web", "Resources on", "app#1")
	m.keys("l")
	m.until("log of web on", "done start")
	m.keys("Escape", "Escape")
	m.until("Objects ")

	// What others do is seen too, on a smaller screen as well.
	m.do("resize-window", "-t", "0", "-x", "60", "-y", "14")
	m.om("web", "stop", "--wait")
	m.until("down", "no 0/1")

	// The daemon comes back, and so does the picture.
	m.om("daemon", "stop")
	m.until(" lost ")
	m.om("daemon", "start")
	m.until(" live")

	m.do("resize-window", "-t", "0", "-x", "100", "-y", "24")
	m.keys("q")
	m.until("kept", "prompt>")
	if after := m.modes(); after != before {
		t.Errorf("the terminal is left with %s, it had %s", after, before)
	}
}
