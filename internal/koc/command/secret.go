package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Secret asks for a secret: on a terminal without echo, else it takes a line of
// standard input, and nothing after it.
func (c *Call) Secret(prompt string) (string, error) {
	if f, ok := c.Streams.In.(*os.File); ok && c.Streams.InTTY {
		c.Notef("%s", prompt)
		text, err := term.ReadPassword(int(f.Fd()))
		c.Notef("\n")
		if err != nil {
			return "", fmt.Errorf("read from the terminal: %w", err)
		}
		return string(text), nil
	}
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := c.Streams.In.Read(one)
		if n > 0 {
			if one[0] == '\n' {
				return strings.TrimSuffix(string(line), "\r"), nil
			}
			line = append(line, one[0])
		}
		switch {
		case errors.Is(err, io.EOF) && len(line) > 0:
			return string(line), nil
		case errors.Is(err, io.EOF):
			return "", errors.New("standard input ended where a secret was expected")
		case err != nil:
			return "", err
		}
	}
}

// NewSecret asks for a secret that is set: twice on a terminal.
func (c *Call) NewSecret(prompt string) (string, error) {
	first, err := c.Secret(prompt)
	if err != nil || !c.Streams.InTTY {
		return first, err
	}
	again, err := c.Secret("Once more: ")
	if err == nil && again != first {
		err = errors.New("the two are not the same: nothing was changed")
	}
	return first, err
}
