package render

import (
	"errors"
	"iter"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

func list(*iostreams.Streams, Options, []Column, iter.Seq2[[]any, error]) error {
	return errors.New("not written yet")
}
func show(*iostreams.Streams, Options, []Field) error { return errors.New("not written yet") }
func (o Options) wants(c Column) bool                 { return !c.Hidden }
