package logbook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// blockSize is about how much is read, and indexed, at once.
	blockSize = 64 << 10
	indexed   = ".idx"
)

func (b *Book) name() string { return filepath.Join(b.dir, "om.log") }

func (b *Book) numbered(n int) string { return fmt.Sprintf("%s.%06d", b.name(), n) }

// closed lists the numbers of the closed segments, the oldest first.
func (b *Book) closed() ([]int, error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		if digits, ok := strings.CutPrefix(e.Name(), "om.log."); ok {
			if n, err := strconv.Atoi(digits); err == nil && n > 0 && e.Name() == filepath.Base(b.numbered(n)) {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// drop removes a closed segment and its index.
func (b *Book) drop(n int) error {
	err := os.Remove(b.numbered(n))
	if indexErr := os.Remove(b.numbered(n) + indexed); !errors.Is(indexErr, os.ErrNotExist) {
		err = errors.Join(err, indexErr)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// segment is a file of the store, held open.
type segment struct {
	file *os.File
	info os.FileInfo
	size int64 // when it was opened
	name string
	open bool // it may grow
}

// snapshot opens every segment, the oldest first. The one appended to is opened
// before the others are looked for: closed in between, it is met twice, never missed.
func (b *Book) snapshot() (found []*segment, err error) {
	defer func() {
		if err != nil {
			closeAll(found)
			found = nil
		}
	}()
	current, err := openSegment(b.name())
	if err != nil {
		return nil, err
	}
	if current != nil {
		current.open = true
		found = append(found, current)
	}
	numbers, err := b.closed()
	if err != nil {
		return found, err
	}
	for _, n := range slices.Backward(numbers) {
		s, err := openSegment(b.numbered(n))
		switch {
		case err != nil:
			return found, err
		case s == nil: // dropped meanwhile
		case current != nil && os.SameFile(s.info, current.info):
			_ = s.file.Close() // only read
		default:
			found = append(found, s)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// openSegment returns nil for a file that does not exist.
func openSegment(name string) (*segment, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &segment{file: file, info: info, size: info.Size(), name: name}, nil
}

func closeAll(segments []*segment) {
	for _, s := range segments {
		_ = s.file.Close() // only read
	}
}

// before returns the lines that end at an offset, about a block of them, and
// where the first begins. At the offset 0 there are none.
func (s *segment) before(end int64) (lines []byte, start int64, err error) {
	for size := int64(blockSize); end > 0; size *= 2 {
		start = max(0, end-size)
		lines = make([]byte, end-start)
		n, err := s.file.ReadAt(lines, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		lines = lines[:n] // shorter when somebody truncated it
		if start == 0 {
			return lines, 0, nil
		}
		if cut := bytes.IndexByte(lines, '\n'); cut >= 0 && cut < len(lines)-1 {
			return lines[cut+1:], start + int64(cut) + 1, nil
		}
	}
	return nil, 0, nil
}

// whole is the size of the segment without a line that is being written.
func (s *segment) whole() (int64, error) {
	if !s.open {
		return s.size, nil
	}
	for size := int64(4 << 10); ; size *= 2 {
		start := max(0, s.size-size)
		tail := make([]byte, s.size-start)
		n, err := s.file.ReadAt(tail, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if cut := bytes.LastIndexByte(tail[:n], '\n'); cut >= 0 || start == 0 {
			return start + int64(cut) + 1, nil
		}
	}
}
