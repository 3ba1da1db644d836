package watchtest_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/watch/watchtest"
)

func TestTheScreenOfTheTestsIsStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\x1b[5A":      `sequence "\x1b[5A"`,
		"\x1b]0;t\x07": `sequence "\x1b]0;t\a"`,
		"\r":           `control character '\r'`,
		"\x1b[3;1H":    `position "3;1" on a screen of 2 rows, 4 columns`,
		"abcde":        `"e" beyond column 4 of row 1`,
		"abc漢":         `"漢" beyond column 4 of row 1`,
		"abcd\x1b[K":   "erasing the last character of row 1",
		"\x1b[?2004h":  "mode 2004",
	} {
		screen := watchtest.NewScreen(4, 2)
		if _, err := screen.Write([]byte(text)); err != nil {
			t.Error(err)
		}
		if got := strings.Join(screen.Faults(), "\n"); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
