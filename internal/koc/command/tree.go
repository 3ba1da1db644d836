package command

import (
	"iter"
	"slices"
	"strings"
)

// maxWords is how many words a command has at most.
const maxWords = 8

// tree finds commands by their words.
type tree []Entry

// at returns the command of a path, nil when it is none.
func (t tree) at(path string) *Entry {
	for i := range t {
		if t[i].Name == path {
			return &t[i]
		}
	}
	return nil
}

// below yields the commands under a path, itself left out.
func (t tree) below(path string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range t {
			if path == "" || len(t[i].Name) > len(path) && t[i].Name[len(path)] == ' ' && t[i].Name[:len(path)] == path {
				if !yield(&t[i]) {
					return
				}
			}
		}
	}
}

// children are the words that may follow a path.
func (t tree) children(path string) []string {
	var words []string
	for e := range t.below(path) {
		word, _, _ := strings.Cut(strings.TrimPrefix(e.Name[len(path):], " "), " ")
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// names are the commands under a path, sorted.
func (t tree) names(path string) []string {
	var all []string
	for e := range t.below(path) {
		all = append(all, e.Name)
	}
	slices.Sort(all)
	return all
}

// step returns the path that a word leads to. A prefix of one word only stands for
// it, but not below a command that runs by itself: there the word may be its
// argument, and an abbreviation must not change what a line means.
func (t tree) step(path, word string) (string, bool) {
	var match string
	count := 0
	for _, child := range t.children(path) {
		if child == word {
			return join(path, child), true
		}
		if word != "" && strings.HasPrefix(child, word) {
			match = child
			count++
		}
	}
	if count == 1 && t.at(path) == nil {
		return join(path, match), true
	}
	return path, false
}

func join(path, word string) string {
	if path == "" || word == "" {
		return path + word
	}
	return path + " " + word
}

// abbreviated finds the only command of as many words that these are prefixes of,
// as the openstack client does, the longest first.
func (t tree) abbreviated(words []string) (e *Entry, used int) {
	for n := min(len(words), maxWords); n > 0; n-- {
		if e := t.at(strings.Join(words[:n], " ")); e != nil {
			return e, n
		}
		var found *Entry
		several := false
		for i := range t {
			if matches(t[i].Name, words[:n]) {
				several = found != nil
				if several {
					break
				}
				found = &t[i]
			}
		}
		if found != nil && !several {
			return found, n
		}
	}
	return nil, 0
}

func matches(name string, words []string) bool {
	parts := strings.Fields(name)
	if len(parts) != len(words) {
		return false
	}
	for i, w := range words {
		if w == "" || !strings.HasPrefix(parts[i], w) {
			return false
		}
	}
	return true
}

// target is what a command line is about.
type target struct {
	path  string // group or command
	entry *Entry // nil for a group
	args  []string
	words []string // arguments that were words or might have been, for the messages
}

// scanner looks for command words among flags that it does not know yet.
type scanner struct {
	tree    tree
	globals *grammar
	cliff   bool // abbreviate as the openstack client does, also where it might surprise
}

// find splits a command line into a command and its arguments. What follows a flag
// that is not global is taken for a word when it can be one, else for a value; when
// the command then says otherwise, always for a value.
func (s *scanner) find(args []string) target {
	t, used := s.attempt(args, false)
	if t.entry != nil && s.stands(t.entry, args, used) {
		return t
	}
	if greedy, used := s.attempt(args, true); greedy.entry != nil && s.stands(greedy.entry, args, used) {
		return greedy
	}
	return t
}

func (s *scanner) attempt(args []string, greedy bool) (target, []int) {
	path, places, n := s.walk(args, greedy)
	words := make([]string, len(places))
	for i, at := range places {
		words[i] = args[at]
	}
	e := s.tree.at(path)
	if s.cliff || e == nil {
		if other, count := s.tree.abbreviated(words); other != nil {
			e, path, n = other, other.Name, count
		}
	}
	used := places[:n]
	return target{path: path, entry: e, args: without(args, used), words: words}, used
}

// stands reports whether the arguments taken for words are the first ones also when
// the flags of the command are known.
func (s *scanner) stands(e *Entry, args []string, used []int) bool {
	if len(used) == 0 || used[len(used)-1] == len(used)-1 {
		return true
	}
	cmd := e.Build()
	g := newGrammar(&cmd, s.globals.cmd.Flags)
	return slices.Equal(g.positions(args, len(used)), used)
}

// positions are the indexes of the first n arguments that are no flags and no
// values; fewer when a flag among them is none of the command.
func (g *grammar) positions(args []string, n int) []int {
	var places []int
	for i := 0; i < len(args) && len(places) < n; i++ {
		t, err := g.token(args[i])
		switch {
		case err != nil || t.kind == unknown || args[i] == "--":
			return places
		case t.kind == positional:
			places = append(places, i)
		case g.consumes(t) && i+1 < len(args):
			if next, err := g.token(args[i+1]); err == nil && next.kind == positional {
				i++
			}
		}
	}
	return places
}

// consumes reports whether a flag takes the argument after it.
func (g *grammar) consumes(t token) bool {
	f := t.flag
	if t.spelling != "" && !strings.HasPrefix(t.spelling, "--") {
		for t.attached && !f.takesValue() {
			next, ok := g.short[t.value[0]]
			if !ok {
				return false
			}
			f, t.value = next, t.value[1:]
			t.attached = t.value != ""
		}
	}
	return f.takesValue() && !t.attached && !f.Attached
}

// walk follows the words from the root. It returns where they lead, the places of
// all arguments that might be words, and how many of them are.
func (s *scanner) walk(args []string, greedy bool) (path string, places []int, n int) {
	done := false
	after := false // behind a flag nobody knows yet
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		t, err := s.globals.token(args[i])
		if err != nil || len(args[i]) > 1 && args[i][0] == '-' && t.kind == positional {
			t.kind = unknown // a word does not begin with a dash
		}
		switch t.kind {
		case option:
			after = false
			if s.globals.consumes(t) {
				i++
			}
		case unknown:
			done = done || s.tree.at(path) != nil
			after = !strings.Contains(args[i], "=")
			if greedy && after {
				i++
			}
		case positional, dashes:
			next, ok := path, false
			if !done && n < maxWords {
				next, ok = s.tree.step(path, args[i])
			}
			if ok {
				path = next
				n++
				places = append(places, i)
			} else if !after {
				done = true
				places = append(places, i)
			}
			after = false
		}
	}
	return path, places, n
}

func without(args []string, used []int) []string {
	rest := make([]string, 0, len(args))
	for i, a := range args {
		if !slices.Contains(used, i) {
			rest = append(rest, a)
		}
	}
	return rest
}
