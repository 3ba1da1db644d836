// Package command is the command line of om and ox: the verbs, declared once as
// data, the tree built from them, and the selector-first syntax.
//
// A run builds only the path of the command it runs and the flags of that one
// leaf, so that a command costs what it does and nothing else.
package command

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Words is what [Rewrite] knows of the command line: the names of the commands
// found at the root, and the global flags that take a value.
type Words struct {
	Commands   []string // "svc", "node", "monitor", "mon"...
	Selecting  []string // those of Commands that take a selector: "svc", "monitor"...
	ValueFlags []string // "--color", "--server"...
}

// Rewrite turns a selector-first command line into its canonical form:
//
//	hello start          -> svc -s hello start
//	ns1/vol/data status  -> vol -s ns1/vol/data status
//	web* ls              -> all -s web* ls
//	- ls                 -> all -s - ls
//	--service hello ls   -> svc -s hello ls
//
// A command line whose first word is a command is returned as is, so rewriting
// twice changes nothing. Leading global flags are kept in front. After
// "__complete" the words being completed are rewritten the same way, except the
// last one, which is not finished. The arguments given are not modified.
func Rewrite(known Words, args []string) []string {
	i := known.firstWord(args)
	if head, selector := known.leadingSelector(args[:i]); selector != "" {
		return known.selected(head, selector, args[i:])
	}
	if i == len(args) {
		return args
	}
	word := args[i]
	switch {
	case isCompletion(word):
		head, tail := args[:i+1], args[i+1:]
		finished := tail[:max(0, len(tail)-1)]
		_, selector := known.leadingSelector(finished[:known.firstWord(finished)])
		if selector == "" && known.firstWord(tail) >= len(tail)-1 {
			return args
		}
		return slices.Concat(head, Rewrite(known, tail))
	case word == "" || word == "--" || slices.Contains(known.Commands, word) || word != "-" && strings.HasPrefix(word, "-"):
		return args
	}
	return slices.Concat(args[:i], []string{subsystemOf(word), "-s", word}, args[i+1:])
}

// leadingSelector takes out of the flags before the first word those that give
// the selector, the last one winning. It is a flag of the commands below the root.
func (known Words) leadingSelector(flags []string) (head []string, selector string) {
	for i := 0; i < len(flags); i++ {
		name, value, attached := strings.Cut(flags[i], "=")
		selects := slices.Contains(selectorNames(), name)
		switch {
		case selects && attached && value != "":
			selector = value
		case selects && !attached && i+1 < len(flags) && flags[i+1] != "":
			i++
			selector = flags[i]
		case selects:
			return nil, "" // without its value: the parser says so
		case !attached && slices.Contains(known.ValueFlags, name):
			if i+1 == len(flags) {
				return nil, ""
			}
			head = append(head, flags[i], flags[i+1])
			i++
		default:
			head = append(head, flags[i])
		}
	}
	return head, selector
}

// selected puts a selector after the command it is for: the first word when it
// takes one, else the one that the selector goes to.
func (known Words) selected(head []string, selector string, tail []string) []string {
	i := known.firstWord(tail)
	if i < len(tail) && slices.Contains(known.Selecting, tail[i]) {
		return slices.Concat(head, tail[:i+1], []string{"-s", selector}, tail[i+1:])
	}
	return slices.Concat(head, []string{subsystemOf(selector), "-s", selector}, tail)
}

// selectorNames are the spellings of the flag that selects objects.
func selectorNames() []string { return []string{"-s", "--selector", "--service"} }

// firstWord returns the index of the first argument that is neither a flag nor
// the value of one.
func (known Words) firstWord(args []string) int {
	i := 0
	for i < len(args) && len(args[i]) > 1 && args[i][0] == '-' && args[i] != "--" {
		if slices.Contains(known.ValueFlags, args[i]) || slices.Contains(selectorNames(), args[i]) {
			i++
		}
		i++
	}
	return min(i, len(args))
}

// subsystemOf names the command an object selector goes to: the kind of the
// path it is, or "all" when it may designate objects of several kinds.
func subsystemOf(selector string) string {
	p, err := object.Parse(selector)
	if err != nil {
		return "all"
	}
	return string(p.Kind)
}

func isCompletion(word string) bool { return word == "__complete" || word == "__completeNoDesc" }
