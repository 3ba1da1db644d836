package keyword

import "github.com/holdfast-ops/holdfast/internal/om/config"

// Level is how bad an alert is.
type Level string

// The levels: an error refuses the configuration.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Alert is something wrong in a configuration.
type Alert struct {
	Level   Level  `json:"level"`
	Kind    string `json:"kind"` // one of the Alert constants
	Section string `json:"section"`
	Option  string `json:"option"` // with its scope
	Driver  string `json:"driver"`
	Comment string `json:"comment"`
}

// The kinds of alerts.
const (
	AlertUnknownSection = "unknown section"
	AlertUnknownDriver  = "unknown driver"
	AlertUnknownKeyword = "unknown keyword"
	AlertScoping        = "scoping"
	AlertEvaluation     = "evaluation"
	AlertCandidate      = "not a candidate"
	AlertConversion     = "does not convert"
	AlertRequired       = "required"
	AlertDeprecated     = "deprecated"
	AlertDuplicate      = "duplicate"
	AlertDepends        = "depends"
)

// Validate checks the whole document of ev, as the node of ev reads it.
func (s *Schema) Validate(ev *config.Evaluator, c Context) []Alert { panic("to write") }
