package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Values are the parsed values of a command line. The names are those of the
// declaration, of flags ("mtu") and arguments ("<network>") alike; a name that is
// not declared panics, since that is a mistake of the program.
type Values struct {
	decl  map[string]*value
	order []*occurrence // of flags, as they were written
}

// value is what a command line says of one declared name.
type value struct {
	flag *Flag // nil for an argument
	arg  *Arg  // nil for a flag
	all  []string
	set  bool
	// global is false for a flag of the command that has the name of a global one.
	global bool
}

type occurrence struct {
	flag *Flag
	text string
}

// Pair is one key=value.
type Pair struct{ Key, Value string }

func (v *Values) of(name string) *value {
	found, ok := v.decl[name]
	if !ok {
		panic(fmt.Sprintf("command: no flag or argument %q is declared", name))
	}
	return found
}

// Declares reports whether the command or the global flags declare a name. Code
// that several commands share asks it; a command knows its own names.
func (v *Values) Declares(name string) bool { return v.decl[name] != nil }

// Global is the last value of a global flag, when it was given. Unlike Text it is
// not taken in by a flag of the command with the same name.
func (v *Values) Global(name string) (string, bool) {
	found := v.of(name)
	return v.Text(name), found.global && found.set
}

// Given reports whether the flag or argument was in the command line.
func (v *Values) Given(name string) bool { return v.of(name).set }

// Is reports whether a flag without value was given. --flag=false takes it back.
func (v *Values) Is(name string) bool { return v.Text(name) == "true" }

// Text is the last value, else the default, else "".
func (v *Values) Text(name string) string {
	found := v.of(name)
	switch {
	case len(found.all) > 0:
		return found.all[len(found.all)-1]
	case found.flag != nil && !found.set:
		return found.flag.Default
	}
	return ""
}

// Texts are all values in order (items of Commas flags one by one); nil when none was given and there is no default.
func (v *Values) Texts(name string) []string {
	found := v.of(name)
	all := found.all
	switch {
	case found.flag == nil:
		return slices.Clone(all)
	case !found.set && found.flag.Default != "":
		all = []string{found.flag.Default}
	case !found.flag.keepsAll() && len(all) > 1:
		all = all[len(all)-1:]
	}
	if found.flag.Type != Commas {
		return slices.Clone(all)
	}
	var items []string
	for _, one := range all {
		items = append(items, strings.Split(one, ",")...)
	}
	return items
}

// Int is the value as a number, 0 when there is none. Parse has checked it.
func (v *Values) Int(name string) int {
	n, _ := strconv.Atoi(v.Text(name))
	return n
}

// Float is the value as a number, 0 when there is none.
func (v *Values) Float(name string) float64 {
	n, _ := strconv.ParseFloat(v.Text(name), 64)
	return n
}

// Pairs are the pairs of a KeyValue or KeyList flag in the order of first appearance, the last value of a key for KeyValue.
func (v *Values) Pairs(name string) []Pair {
	found := v.of(name)
	var pairs []Pair
	for _, text := range v.Texts(name) {
		key, val, _ := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if found.flag != nil && found.flag.Type != KeyList {
			if at := slices.IndexFunc(pairs, func(p Pair) bool { return p.Key == key }); at >= 0 {
				pairs[at].Value = val
				continue
			}
		}
		pairs = append(pairs, Pair{key, val})
	}
	return pairs
}

// Map is Pairs as a map; never nil.
func (v *Values) Map(name string) map[string]string {
	m := map[string]string{}
	for _, p := range v.Pairs(name) {
		m[p.Key] = p.Value
	}
	return m
}

// Records are the records of a Records flag.
func (v *Values) Records(name string) []map[string]string {
	var records []map[string]string
	for _, text := range v.Texts(name) {
		record := map[string]string{}
		for _, p := range splitRecord(text, v.of(name).flag.LooseCommas) {
			record[p.Key] = p.Value
		}
		records = append(records, record)
	}
	return records
}

// Sequence are the values of several flags in the order of the command line, for
// those whose order between each other matters (--network, --port and --nic).
func (v *Values) Sequence(names ...string) []Pair {
	for _, name := range names {
		v.of(name)
	}
	var pairs []Pair
	for _, o := range v.order {
		if slices.Contains(names, o.flag.Name) {
			pairs = append(pairs, Pair{o.flag.Name, o.text})
		}
	}
	return pairs
}

// splitRecord splits key=value,key=value. With loose commas a piece without an
// equals sign belongs to the value before it. Parse has checked the rest.
func splitRecord(text string, loose bool) []Pair {
	var pairs []Pair
	for piece := range strings.SplitSeq(text, ",") {
		key, val, ok := strings.Cut(piece, "=")
		if !ok && loose && len(pairs) > 0 {
			pairs[len(pairs)-1].Value += "," + piece
			continue
		}
		pairs = append(pairs, Pair{strings.TrimSpace(key), val})
	}
	return pairs
}
