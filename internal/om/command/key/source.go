package key

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/prompt"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

const (
	// maxValue bounds what is read: no key is larger, whatever node.max_key_size says.
	maxValue = 16 << 20
	// deviceSize is what is read of a device, which has no end.
	deviceSize = 32
	// fetchTimeout bounds the reading of a URL.
	fetchTimeout = time.Minute
)

// named is a key and its value.
type named struct {
	name  string
	value []byte
}

// source is where the values of keys come from.
type source struct {
	from   string // as typed
	name   string // of the key, "" to name it after the file
	secret bool   // what is typed on a terminal must not show
}

// read returns the keys, and whether a device gave the value.
func (s source) read(ctx context.Context, c *verb.Call) (values []named, device bool, err error) {
	if s.from == "" {
		return nil, false, app.Usage("--from is given nothing: name a file, a directory, a URL, a device, or - for the standard input")
	}
	if s.from == "-" {
		value, err := s.input(ctx, c)
		return []named{{s.name, value}}, false, errors.Join(needName(s.name), err)
	}
	if u, err := url.Parse(s.from); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		value, err := fetch(ctx, u)
		return []named{{s.or(path.Base(u.Path)), value}}, false, err
	}
	return s.file()
}

// or is the name of the key, or another one when none was given.
func (s source) or(name string) string {
	if s.name != "" {
		return s.name
	}
	return name
}

// input reads the standard input, without showing a secret that is typed.
func (s source) input(ctx context.Context, c *verb.Call) ([]byte, error) {
	if !c.Streams.InTTY || !s.secret {
		return bounded(c.Streams.In, "the standard input")
	}
	typed, err := prompt.Password(ctx, c.Streams, "Value of "+s.name+": ")
	return []byte(typed.Reveal()), err
}

func (s source) file() (values []named, device bool, err error) {
	info, err := os.Stat(s.from)
	if err != nil {
		return nil, false, fmt.Errorf("--from: %w", err)
	}
	if info.IsDir() {
		values, err = s.directory()
		return values, false, err
	}
	readable := []fs.FileMode{0, fs.ModeNamedPipe, fs.ModeDevice | fs.ModeCharDevice}
	if !slices.Contains(readable, info.Mode().Type()) {
		return nil, false, fmt.Errorf("--from %s: it is no file, directory, pipe or character device", s.from)
	}
	f, err := os.Open(s.from)
	if err != nil {
		return nil, false, fmt.Errorf("--from: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	device = info.Mode()&fs.ModeCharDevice != 0
	var from io.Reader = f
	if device {
		from = io.LimitReader(f, deviceSize)
	}
	value, err := bounded(from, s.from)
	return []named{{s.or(filepath.Base(s.from)), value}}, device, err
}

// directory reads the files below a directory. Links are not followed: they may
// lead out of it.
func (s source) directory() (values []named, err error) {
	root, err := os.OpenRoot(s.from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	total := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no file: give its content alone, with --from %s --name NAME", name, filepath.Join(s.from, name))
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		value, err := bounded(f, name)
		if total += len(value); err == nil && total > maxValue {
			err = fmt.Errorf("its files hold more than %d MiB", maxValue>>20)
		}
		values = append(values, named{path.Join(s.name, name), value})
		return err
	})
	if err == nil && len(values) == 0 {
		err = errors.New("there is no file in it")
	}
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", s.from, err)
	}
	return values, nil
}

func bounded(from io.Reader, what string) ([]byte, error) {
	value, err := io.ReadAll(io.LimitReader(from, maxValue+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	case len(value) > maxValue:
		return nil, fmt.Errorf("read %s: it is larger than %d MiB", what, maxValue>>20)
	}
	return value, nil
}

// fetch reads a URL. A redirection may not leave TLS.
func fetch(ctx context.Context, from *url.URL) (value []byte, err error) {
	shown := from.Redacted()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--from %s: %w", shown, err)
	}
	client := &http.Client{Timeout: fetchTimeout, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 5 || from.Scheme == "https" && to.URL.Scheme != "https" {
			return errors.New("redirected too often, or to http")
		}
		return nil
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("--from %s: the server answers %s", shown, response.Status)
	}
	return bounded(response.Body, shown)
}
