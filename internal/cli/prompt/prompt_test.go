package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/cli/prompt"
)

func TestAPasswordIsTheFirstLineOfAPipe(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"secret\n": "secret", "secret": "secret", "secret\r\nmore\n": "secret", "a b \n": "a b ",
	} {
		s, in, out, errs := iostreams.Test()
		in.WriteString(input)
		got, err := prompt.Password(t.Context(), s, "Password: ")
		if err != nil || got.Reveal() != want {
			t.Errorf("%q: %q, %v", input, got.Reveal(), err)
		}
		if out.Len()+errs.Len() > 0 {
			t.Errorf("%q: it asked %q %q", input, out, errs)
		}
		if rest := in.String(); strings.Contains(input, "more") && rest != "more\n" {
			t.Errorf("what follows was read: %q is left", rest)
		}
	}
	for _, input := range []string{"", "\n", "\r\n", strings.Repeat("x", 5000)} {
		s, in, _, _ := iostreams.Test()
		in.WriteString(input)
		if got, err := prompt.Password(t.Context(), s, ""); err == nil {
			t.Errorf("%.10q is a password: %q", input, got.Reveal())
		}
	}
}

func TestAChoiceIsANumberOrTheThing(t *testing.T) {
	t.Parallel()
	s, in, _, errs := iostreams.Test()
	if _, err := prompt.Choose(t.Context(), s, "Context: ", []string{"a"}); !errors.Is(err, prompt.ErrNoTerminal) {
		t.Errorf("got %v", err)
	}
	s.InTTY = true
	for input, want := range map[string]int{"2\n": 1, "a\n": 0, "7\nb\n": 1} {
		in.Reset()
		in.WriteString(input)
		if got, err := prompt.Choose(t.Context(), s, "Context: ", []string{"a", "b"}); err != nil || got != want {
			t.Errorf("%q: %d, %v", input, got, err)
		}
	}
	if !strings.Contains(errs.String(), "  1  a\n  2  b\nContext: ") || !strings.Contains(errs.String(), `"7" is none of them`) {
		t.Errorf("%s", errs)
	}
	in.Reset()
	if _, err := prompt.Choose(t.Context(), s, "Context: ", []string{"a"}); err == nil {
		t.Error("nothing is a choice")
	}
}
