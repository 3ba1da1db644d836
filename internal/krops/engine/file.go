package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/moby/moby/client"
)

// fileLimit is more than any file we read.
const fileLimit = 4 << 20

// ReadFile reads a file of a container; fs.ErrNotExist when it has none.
func (e *Engine) ReadFile(ctx context.Context, c Container, name string) ([]byte, error) {
	ctx, cancel := query(ctx)
	defer cancel()
	got, err := e.api.CopyFromContainer(ctx, c.ID, client.CopyFromContainerOptions{SourcePath: name})
	if absent(err) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of container %s: %w", name, c.Name, err)
	}
	defer got.Content.Close() //nolint:errcheck // it was only read
	archive := tar.NewReader(got.Content)
	for {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("read %s of container %s: %w", name, c.Name, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(archive, fileLimit+1))
		if err == nil && len(text) > fileLimit {
			err = errors.New("it is too large")
		}
		if err != nil {
			return nil, fmt.Errorf("read %s of container %s: %w", name, c.Name, err)
		}
		return text, nil
	}
}

// WriteFile writes a file of a container with the directories above it.
func (e *Engine) WriteFile(ctx context.Context, c Container, name string, text []byte) error {
	ctx, cancel := query(ctx)
	defer cancel()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	inside := strings.TrimPrefix(path.Clean(name), "/")
	err := errors.Join(directories(w, path.Dir(inside)),
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: inside, Mode: 0o644, Size: int64(len(text))}))
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err == nil {
		_, err = e.api.CopyToContainer(ctx, c.ID, client.CopyToContainerOptions{DestinationPath: "/", Content: &archive})
	}
	if err != nil {
		return fmt.Errorf("write %s of container %s: %w", name, c.Name, err)
	}
	return nil
}

func directories(w *tar.Writer, dir string) error {
	if dir == "." || dir == "/" {
		return nil
	}
	if err := directories(w, path.Dir(dir)); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
}
