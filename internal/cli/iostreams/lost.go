package iostreams

import (
	"os"
	"sync"
)

// watched is an output that remembers what could not be written: many writers do
// not look, and the shell is told of success.
type watched struct {
	file *os.File

	mu   sync.Mutex
	lost error
}

// Write implements io.Writer.
func (w *watched) Write(data []byte) (int, error) {
	n, err := w.file.Write(data)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.lost == nil {
			w.lost = err
		}
	}
	return n, err
}

// File is the file itself, for a command that writes to it.
func (w *watched) File() *os.File { return w.file }

// Lost returns why some of the output could not be written, nil when all of it was.
func (s *Streams) Lost() error {
	if s == nil {
		return nil
	}
	w, ok := s.Out.(*watched)
	if !ok {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}
