// Package prompt asks a person: a line, a choice, a password that is not shown.
// Questions go to the error stream, so that a result on the output stays clean.
package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// maxLine bounds a line: nobody types more, and a file given by mistake is longer.
const maxLine = 4096

// Password asks for a password without showing what is typed. When the standard
// input is no terminal, the password is its first line, and nothing is asked.
func Password(ctx context.Context, s *iostreams.Streams, question string) (secret.String, error) {
	text, err := password(ctx, s, question)
	switch {
	case err != nil:
		return secret.String{}, err
	case text == "":
		return secret.String{}, errors.New("the password is empty")
	}
	return secret.New(text), nil
}

func password(ctx context.Context, s *iostreams.Streams, question string) (string, error) {
	in, ok := s.In.(*os.File)
	if !s.InTTY || !ok {
		text, err := line(s.In)
		if err != nil {
			return "", fmt.Errorf("read the password on the standard input: %w", err)
		}
		return text, nil
	}
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	if _, err := fmt.Fprint(s.Err, question); err != nil {
		return "", err
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		_, _ = fmt.Fprintln(s.Err)
		if errors.Is(a.err, io.EOF) {
			return "", nil
		}
		return string(a.text), a.err
	case <-ctx.Done():
		// The read goes on, but the terminal shows again what is typed.
		err := term.Restore(fd, before)
		_, _ = fmt.Fprintln(s.Err)
		return "", errors.Join(ctx.Err(), err)
	}
}

// line reads the first line, byte by byte: what follows is for somebody else.
func line(in io.Reader) (string, error) {
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n', n == 0 && errors.Is(err, io.EOF):
			return strings.TrimSuffix(b.String(), "\r"), nil
		case n == 1 && b.Len() == maxLine:
			return "", fmt.Errorf("its first line has more than %d bytes", maxLine)
		case n == 1:
			b.WriteByte(one[0])
		case err != nil:
			return "", err
		}
	}
}

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// Choose asks for one of several and returns its position. The answer is a number
// or the choice itself.
func Choose(ctx context.Context, s *iostreams.Streams, question string, choices []string) (int, error) {
	if !s.InTTY {
		return 0, ErrNoTerminal
	}
	for i, c := range choices {
		if _, err := fmt.Fprintf(s.Err, "%3d  %s\n", i+1, c); err != nil {
			return 0, err
		}
	}
	for {
		if _, err := fmt.Fprint(s.Err, question); err != nil {
			return 0, err
		}
		text, err := ask(ctx, s.In)
		if err != nil {
			return 0, err
		}
		if text == "" {
			return 0, errors.New("nothing was chosen")
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(choices) {
			return n - 1, nil
		}
		for i, c := range choices {
			if c == text {
				return i, nil
			}
		}
		if _, err := fmt.Fprintf(s.Err, "%q is none of them\n", text); err != nil {
			return 0, err
		}
	}
}

// ask reads a line, or gives up when ctx ends.
func ask(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := line(in)
		answers <- answer{strings.TrimSpace(text), err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
