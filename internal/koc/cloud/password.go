package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// password is the first there is of: typed, read from standard input, of the
// settings, asked for on the terminal. The caller holds the lock.
func (c *Cloud) password(ctx context.Context) (string, error) {
	s := c.settings
	if c.prompted != "" {
		return c.prompted, nil
	}
	if c.options.PasswordStdin {
		if s.level("password") == typed {
			return "", errors.New("--os-password and --os-password-stdin exclude each other: give one of them")
		}
		text, err := readPassword(c.options.Streams.In)
		if err != nil {
			return "", fmt.Errorf("--os-password-stdin: %w", err)
		}
		c.prompted = text
		c.conceal(text)
		return text, nil
	}
	if p := s.text("password"); p != "" {
		return p, nil
	}
	if !c.options.Streams.InTTY {
		who := s.text("username")
		if who == "" {
			who = s.text("user_id")
		}
		return "", fmt.Errorf("no credentials found: there is no password of %s: set OS_PASSWORD, give --os-password-stdin, or add it to clouds.yaml or secure.yaml", who)
	}
	text, err := ask(ctx, c.options.Streams.Err)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	c.prompted = text
	c.conceal(text)
	return text, nil
}

const maxPassword = 64 << 10

// readPassword takes all of a stream but one line end as the password.
func readPassword(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	p, _ := strings.CutSuffix(string(text), "\n")
	p, _ = strings.CutSuffix(p, "\r")
	switch {
	case len(text) > maxPassword:
		return "", errors.New("standard input is too long for a password")
	case p == "":
		return "", errors.New("standard input is empty")
	case strings.ContainsAny(p, "\r\n"):
		return "", errors.New("standard input has more than one line: give it the password alone")
	}
	return p, nil
}

// ask reads a password from the terminal of the process, without echo. It ends
// with ctx, which leaves the terminal as it was.
func ask(ctx context.Context, fallback io.Writer) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	out := io.Writer(tty)
	if err != nil {
		tty, out = os.Stdin, fallback
	} else {
		defer func() { _ = tty.Close() }()
	}
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	_, _ = io.WriteString(out, "Password: ")
	type read struct {
		text []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // ends with the process when ctx ends first: a terminal cannot be interrupted
		text, err := term.ReadPassword(fd)
		done <- read{text, err}
	}()
	select {
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		_, _ = io.WriteString(out, "\n")
		return "", ctx.Err()
	case r := <-done:
		_, _ = io.WriteString(out, "\n")
		if r.err == nil && len(r.text) == 0 {
			return "", errors.New("it is empty")
		}
		return string(r.text), r.err
	}
}
