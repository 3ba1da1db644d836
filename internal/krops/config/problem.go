package config

import "strings"

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	At   Position
	Text string
}

// FileError is all that is wrong with a configuration file, in its order.
type FileError struct {
	Name string // of the file, as the caller calls it
	List []Problem
}

// Error lists the problems, one a line, as "file:line:column: text".
func (p *FileError) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = p.Line(problem)
	}
	return strings.Join(lines, "\n")
}

// Line is one of the problems with its place.
func (p *FileError) Line(problem Problem) string {
	if at := problem.At.String(); at != "" {
		return p.Name + ":" + at + ": " + problem.Text
	}
	return p.Name + ": " + problem.Text
}
