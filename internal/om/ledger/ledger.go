// Package ledger keeps records across the restarts of a daemon: a file of JSON
// lines that is appended to, and rewritten by its owner when it has grown.
//
// It is a memory, not a database: an append waits for no disk, and what a crash
// cut short is passed over. A nil ledger remembers nothing.
package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"
)

// maxLine bounds a record: a longer one is damaged.
const maxLine = 1 << 20

// Ledger is a file of records. It is safe for concurrent use.
type Ledger[T any] struct {
	name string

	mu    sync.Mutex
	file  *os.File
	lines int
}

// At returns the ledger of that name. Nothing is opened yet.
func At[T any](name string) *Ledger[T] { return &Ledger[T]{name: name} }

// Load returns the records, in the order they were written. Lines that are none are
// passed over.
func (l *Ledger[T]) Load() ([]T, error) {
	if l == nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", l.name, err)
	}
	defer file.Close() //nolint:errcheck // only read
	var all []T
	l.lines = 0
	in := bufio.NewReaderSize(file, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			l.lines++
			var v T
			if json.Unmarshal(line, &v) == nil {
				all = append(all, v)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return all, fmt.Errorf("load %s: %w", l.name, err)
		}
	}
}

// Append adds a record.
func (l *Ledger[T]) Append(v T) (err error) {
	if l == nil {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("append to %s: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return fmt.Errorf("append to %s: %w", l.name, err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		// What was written of it is ended, so that the next one stands alone.
		_, _ = l.file.WriteString("\n")
		return fmt.Errorf("append to %s: %w", l.name, err)
	}
	l.lines++
	return nil
}

func (l *Ledger[T]) open() error {
	if l.file != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	// A line that was cut short must not take the next one with it.
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			_, _ = file.WriteString("\n")
		}
	}
	l.file = file
	return nil
}

// Lines is how many lines the file has, as far as this process knows.
func (l *Ledger[T]) Lines() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines
}

// Rewrite replaces the records, in one step.
func (l *Ledger[T]) Rewrite(all []T) error {
	if l == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, v := range all {
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("rewrite %s: %w", l.name, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(l.name), 0o700); err != nil {
		return fmt.Errorf("rewrite %s: %w", l.name, err)
	}
	if err := renameio.WriteFile(l.name, b.Bytes(), 0o600, renameio.IgnoreUmask()); err != nil {
		return fmt.Errorf("rewrite %s: %w", l.name, err)
	}
	l.lines = len(all)
	return l.close()
}

// Close closes the file. A later append opens it again.
func (l *Ledger[T]) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

func (l *Ledger[T]) close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}
