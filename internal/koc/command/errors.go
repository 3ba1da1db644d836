package command

import (
	"fmt"
	"slices"
	"strings"
)

// Rejected is the exit code for a command line that cannot be understood.
const Rejected = 2

// UsageError is a command line that cannot be understood. Nothing was done.
type UsageError struct {
	Message string
	// Upstream is the message in the words of argparse, for the OpenStack voice;
	// "" is Message.
	Upstream string
	// Usage is what to print below: the usage line, or where help is.
	Usage string
	// Command is the words of the command, "" when they are wrong themselves.
	Command string
}

// Error implements error.
func (e *UsageError) Error() string { return e.Message }

// ExitCode is [Rejected].
func (e *UsageError) ExitCode() int { return Rejected }

// Reject is for a command that finds its command line wrong before it asks
// anything of the cloud.
func Reject(format string, a ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, a...)}
}

func rejected(upstream, format string, a ...any) *UsageError {
	return &UsageError{Message: fmt.Sprintf(format, a...), Upstream: upstream}
}

// Undone is an interruption whose error says what became of what was begun.
func Undone(err error) error { return &undone{err} }

type undone struct{ error }

func (e *undone) Unwrap() error { return e.error }

// nearest returns up to three of the names that are close to what was typed.
func nearest(typed string, names []string) []string {
	type guess struct {
		name string
		far  int
	}
	var guesses []guess
	for _, name := range names {
		far := distance(typed, name)
		if far <= max(2, len(typed)/3) && near(typed, name) || len(typed) > 2 && strings.HasPrefix(name, typed) {
			guesses = append(guesses, guess{name, far})
		}
	}
	if begun := slices.DeleteFunc(slices.Clone(guesses), func(g guess) bool { return !strings.HasPrefix(g.name, typed) }); len(begun) > 0 {
		guesses = begun // what was shortened too much
	}
	slices.SortStableFunc(guesses, func(a, b guess) int { return a.far - b.far })
	var best []string
	for _, g := range guesses[:min(3, len(guesses))] {
		best = append(best, g.name)
	}
	return best
}

// near reports whether less than half of what was typed has to change: of each
// word, when there are as many. "module list" is not near to "role list".
func near(typed, name string) bool {
	words, others := strings.Fields(typed), strings.Fields(name)
	if len(words) != len(others) {
		return 2*distance(typed, name) < len(typed)
	}
	for i, word := range words {
		if 2*distance(word, others[i]) >= max(len(word), 2) {
			return false
		}
	}
	return true
}

// distance counts the letters to change, add, remove or swap between two words.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// didYouMean is the tail of a message about an unknown name.
func didYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	quoted := make([]string, len(near))
	for i, n := range near {
		quoted[i] = `"` + n + `"`
	}
	return "; did you mean " + strings.Join(quoted, " or ") + "?"
}
