package keyword

import "github.com/holdfast-ops/holdfast/internal/om/config"

// Decode fills the fields bound by t from a section, as the node of ev reads
// it. Every problem is reported, joined.
func Decode(ev *config.Evaluator, section string, t *Table, c Context) error { panic("to write") }
