package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fetchTimeout bounds how long the source of a key is waited for.
const fetchTimeout = 30 * time.Second

// checkSource refuses what is neither a file nor a URL to fetch.
func checkSource(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("write a file, as an absolute name, or an http or https URL")
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return errors.New("the URL names no host")
		}
		return nil
	case "file", "":
		if filepath.IsAbs(u.Path) {
			return nil
		}
	}
	return errors.New("write a file, as an absolute name, or an http or https URL")
}

// seed makes the key of an item out of its source.
func (r *run) seed(ctx context.Context, item Item) error {
	if item.From.Namespace != r.env.Path.Namespace {
		return fmt.Errorf("%s is of another namespace: its keys can be shared, and are written there", item.From)
	}
	var limit int64
	if known := r.env.Installation.MaxKeySize; known != nil {
		limit = known()
	}
	if limit <= 0 {
		limit = 1 << 20
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	value, err := fetch(ctx, item.Source, limit)
	if err != nil {
		return fmt.Errorf("source of key %s: %w", item.Key, err)
	}
	r.env.Infof("make key %s of %s from %s", item.Key, item.From, shown(item.Source))
	if err := r.env.Installation.Keys.Add(ctx, item.From, item.Key, value); err != nil {
		return fmt.Errorf("source of key %s: %w", item.Key, err)
	}
	return nil
}

// shown is a source without the password it may hold.
func shown(source string) string {
	if u, err := url.Parse(source); err == nil {
		return u.Redacted()
	}
	return source
}

func fetch(ctx context.Context, source string, limit int64) (value []byte, err error) {
	u, err := url.Parse(source)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	if u.Scheme == "" || u.Scheme == "file" {
		return readFile(u.Path, limit)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 5 || u.Scheme == "https" && to.URL.Scheme != "https" {
			return errors.New("redirected once too often, or to http")
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", u.Redacted(), strings.ToLower(resp.Status))
	}
	return bounded(resp.Body, limit, u.Redacted())
}

func readFile(name string, limit int64) (value []byte, err error) {
	// A pipe must not hold the action up.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a file")}
	}
	return bounded(file, limit, name)
}

func bounded(from io.Reader, limit int64, what string) ([]byte, error) {
	value, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(value)) > limit {
		err = fmt.Errorf("%s: more than %d bytes, which is node.max_key_size", what, limit)
	}
	return value, err
}
