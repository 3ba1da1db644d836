package watch

import (
	"context"
	"errors"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

func run(context.Context, *iostreams.Streams, Options, Source) error {
	return errors.New("not written yet")
}
func identity(titles []string) int      { return -1 }
func cut(text string, width int) string { return text }
func textFrame(raw []byte, n int) Frame {
	return Frame{Rows: []Row{{Cells: strings.Split(string(raw), "\n")}}, Count: n}
}
