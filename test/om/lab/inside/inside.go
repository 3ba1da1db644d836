// Command inside is the one program of the image of the lab: it does what the script
// asks of a container, by the name it is called or by its first argument.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	words := os.Args[1:]
	if name := filepath.Base(os.Args[0]); name == "sh" {
		words = []string{"sh"}
	}
	if err := do(append(words, "wait")); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do(words []string) error {
	switch words[0] {
	case "env": // writes the environment in a file, and waits
		if err := os.WriteFile(words[1], []byte(strings.Join(os.Environ(), "\n")+"\n"), 0o600); err != nil {
			return err
		}
		_, _ = os.Stdout.WriteString("the environment is written\nwaiting in vain\n")
	case "fail":
		return errors.New("told to fail")
	case "done":
		_, err := os.Stdout.WriteString("done, and no more\n")
		return err
	case "sh": // a shell that echoes what it is given
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "ask": // asks a server on a unix socket
		client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", words[1])
		}}}
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost"+words[2], http.NoBody)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if _, err = io.Copy(os.Stdout, answer.Body); err != nil {
			return err
		}
		_, _ = os.Stdout.WriteString("\n") // an engine may hold a line back until its end
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	return nil
}
