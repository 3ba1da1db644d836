package resource

import "github.com/holdfast-ops/holdfast/internal/om/object"

// Renewal asks for the renewal of the certificate of a sec, when it is due.
type Renewal struct {
	Sec object.Path
	For string // the namespace on whose behalf: the sec is in it, or shared with it
	// Root is a directory and Dir one below it, where a web server reads the
	// answers to challenges. Nothing is written outside Root. An empty Root leaves
	// it to the configuration of the sec.
	Root, Dir string
	Infof     func(format string, a ...any)
}

// Header has a directory that other resources use: the top of what it holds.
type Header interface {
	Head() string
}
