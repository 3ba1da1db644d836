package iostreams_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// terminal returns a pseudo terminal of 132 columns.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 132}); err != nil {
		t.Fatal(err)
	}
	return slave
}

// Not parallel: it stands in for the standard output of the process.
func TestATerminalTakesColoursUnlessItIsToldNot(t *testing.T) { //nolint:paralleltest // see above
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	os.Stdout = terminal(t)

	for _, c := range []struct {
		env   map[string]string
		color bool
		width int
	}{
		{nil, true, 132},
		{map[string]string{"NO_COLOR": "1"}, false, 132},
		{map[string]string{"NO_COLOR": ""}, true, 132},
		{map[string]string{"TERM": "dumb", "COLUMNS": "60"}, false, 60},
		{map[string]string{"COLUMNS": "none"}, true, 132},
	} {
		s := iostreams.System(env(c.env))
		if !s.OutTTY || s.Color != c.color || s.Width != c.width {
			t.Errorf("%v: terminal %v, colour %v, width %d", c.env, s.OutTTY, s.Color, s.Width)
		}
		if err := s.SetColor("yes"); err != nil || !s.Color {
			t.Errorf("--color yes: %v, %v", s.Color, err)
		}
		if err := s.SetColor("auto"); err != nil || s.Color != c.color {
			t.Errorf("--color auto: %v, %v", s.Color, err)
		}
	}
}

func TestAPipeHasNeitherColoursNorWidth(t *testing.T) { //nolint:paralleltest // it stands in for the standard output
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	os.Stdout = w

	s := iostreams.System(env(map[string]string{"COLUMNS": "80"}))

	if s.OutTTY || s.Color || s.Width != 0 {
		t.Errorf("terminal %v, colour %v, width %d", s.OutTTY, s.Color, s.Width)
	}
}
