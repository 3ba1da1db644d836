package command

import "slices"

// opened adds, to a command line that names no command, the one that a program
// runs then. What asks for an explanation gets it.
func (t Tree) opened(known Words, args []string) []string {
	if t.Alone == "" || known.firstWord(args) < len(args) {
		return args
	}
	if _, selector := known.leadingSelector(args); selector != "" {
		return args // of a command that is missing
	}
	for _, a := range args {
		if slices.Contains([]string{"-h", "--help", "--version", "--"}, a) {
			return args
		}
	}
	return append(slices.Clone(args), t.Alone)
}
