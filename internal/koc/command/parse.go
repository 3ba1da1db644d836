package command

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the arguments of a command, without its words, by its declaration
// and the global flags, as argparse does: flags anywhere, unambiguous prefixes,
// "--" before arguments that begin with a dash.
//
// Beyond argparse it takes arguments apart from each other by flags in every case,
// and --flag=true or --flag=false for a flag without a value. At --help it stops
// reading, and nothing is missing.
func Parse(cmd *Command, globals []Flag, args []string) (*Values, error) {
	g := newGrammar(cmd, globals)
	return g.parse(args)
}

// grammar is a command with the flags in force, ready to read arguments.
type grammar struct {
	cmd     *Command
	flags   []*Flag
	long    map[string]*Flag // by spelling without dashes
	short   map[byte]*Flag
	numbers bool // a flag looks like a negative number
	// upstream leaves our own flags out of abbreviations: what upstream can tell
	// apart must stay so.
	upstream bool
	// firstGlobal is where the global flags begin.
	firstGlobal int
}

func newGrammar(cmd *Command, globals []Flag) *grammar {
	formatter := formatterFlags(cmd)
	g := &grammar{cmd: cmd, long: make(map[string]*Flag, 2*(len(cmd.Flags)+len(globals))), short: map[byte]*Flag{}}
	g.flags = make([]*Flag, 0, len(cmd.Flags)+len(formatter)+len(globals))
	for i, set := range [][]Flag{cmd.Flags, formatter, globals} {
		if i == 2 {
			g.firstGlobal = len(g.flags)
		}
		for j := range set {
			g.add(&set[j])
		}
	}
	return g
}

// add makes a flag known. Names that are taken stay what they are: a command may
// give a global or formatter flag a meaning of its own.
func (g *grammar) add(f *Flag) {
	if len(f.Name) == 1 {
		g.addShort(f.Name[0], f)
	} else if _, taken := g.long[f.Name]; taken {
		return
	} else {
		g.long[f.Name] = f
	}
	g.flags = append(g.flags, f)
	if f.Short != "" {
		g.addShort(f.Short[0], f)
	}
	for _, also := range f.Also {
		if len(also) == 1 {
			g.addShort(also[0], f)
		} else if _, taken := g.long[also]; !taken {
			g.long[also] = f
		}
	}
}

func (g *grammar) addShort(letter byte, f *Flag) {
	if _, taken := g.short[letter]; taken {
		return
	}
	g.short[letter] = f
	g.numbers = g.numbers || letter >= '0' && letter <= '9'
}

// token is one argument, classified.
type token struct {
	text string
	kind kind
	flag *Flag
	// spelling is what the flag was written as, in full.
	spelling string
	// value is what is attached to the flag; letters are the rest of a cluster.
	value    string
	attached bool
}

type kind int

const (
	positional kind = iota
	option
	unknown
	dashes // the first "--"
)

// classify tells flags from arguments.
func (g *grammar) classify(args []string) ([]token, *UsageError) {
	tokens := make([]token, len(args))
	ended := false
	for i, text := range args {
		switch {
		case ended:
			tokens[i] = token{text: text}
		case text == "--":
			tokens[i] = token{text: text, kind: dashes}
			ended = true
		default:
			t, err := g.token(text)
			if err != nil {
				return nil, err
			}
			tokens[i] = t
		}
	}
	return tokens, nil
}

func (g *grammar) token(text string) (token, *UsageError) {
	plain := token{text: text}
	if len(text) < 2 || text[0] != '-' {
		return plain, nil
	}
	if text[1] == '-' {
		name, val, attached := strings.Cut(text[2:], "=")
		f, spelling, err := g.find(name)
		switch {
		case err != nil:
			return plain, err
		case f != nil:
			return token{text: text, kind: option, flag: f, spelling: dashed(spelling), value: val, attached: attached}, nil
		}
	} else {
		if f, ok := g.short[text[1]]; ok {
			return token{text: text, kind: option, flag: f, spelling: text[:2], value: text[2:], attached: len(text) > 2}, nil
		}
		if !g.numbers && negative(text) {
			return plain, nil
		}
	}
	if strings.Contains(text, " ") {
		return plain, nil
	}
	plain.kind = unknown
	return plain, nil
}

// negative reports whether text is -5 or -0.5.
func negative(text string) bool {
	whole, fraction, dot := strings.Cut(text[1:], ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if !dot {
		return whole != "" && digits(whole)
	}
	return fraction != "" && digits(whole) && digits(fraction)
}

// find returns the flag of a name or of an unambiguous prefix of one, nil for none.
func (g *grammar) find(name string) (f *Flag, spelling string, err *UsageError) {
	if f, ok := g.long[name]; ok && len(name) > 1 {
		return f, name, nil
	}
	if name == "" {
		return nil, "", nil
	}
	var spellings []string
	several := false
	for _, candidate := range g.flags {
		if candidate.Koc && g.upstream {
			continue
		}
		for _, known := range candidate.spellings() {
			if len(known) > 1 && g.long[known] == candidate && strings.HasPrefix(known, name) {
				several = several || f != nil && f != candidate
				f, spelling = candidate, known
				spellings = append(spellings, dashed(known))
			}
		}
	}
	if !several {
		if len(spellings) > 1 {
			spelling = f.Name
		}
		return f, spelling, nil
	}
	return nil, "", rejected(
		"ambiguous option: --"+name+" could match "+strings.Join(spellings, ", "),
		"flag --%s is ambiguous: it could be %s", name, strings.Join(spellings, " or "))
}

// run is one reading of arguments.
type run struct {
	*grammar
	values  *Values
	tokens  []token
	at      int
	places  []string // positionals
	strange []string // unknown flags
}

func (g *grammar) parse(args []string) (*Values, error) {
	tokens, err := g.classify(args)
	if err != nil {
		return nil, err
	}
	r := &run{grammar: g, tokens: tokens, values: g.empty()}
	for r.at < len(r.tokens) {
		t := r.tokens[r.at]
		r.at++
		switch t.kind {
		case positional:
			r.places = append(r.places, t.text)
		case unknown:
			r.strange = append(r.strange, t.text)
		case dashes:
		case option:
			if err := r.option(t); err != nil {
				return nil, err
			}
			if v := r.values.decl["help"]; v != nil && v.set {
				return r.values, nil
			}
		}
	}
	if err := r.finish(); err != nil {
		return nil, err
	}
	return r.values, nil
}

func (g *grammar) empty() *Values {
	v := &Values{decl: make(map[string]*value, len(g.flags)+len(g.cmd.Args))}
	all := make([]value, len(g.flags)+len(g.cmd.Args))
	for i, f := range g.flags {
		all[i].flag = f
		all[i].global = i >= g.firstGlobal
		v.decl[f.Name] = &all[i]
	}
	for i := range g.cmd.Args {
		at := len(g.flags) + i
		all[at].arg = &g.cmd.Args[i]
		v.decl[g.cmd.Args[i].Name] = &all[at]
	}
	return v
}

// option reads a flag, the rest of its cluster, and its value.
func (r *run) option(t token) *UsageError {
	for !t.flag.takesValue() && t.attached && !strings.HasPrefix(t.spelling, "--") && !strings.HasPrefix(t.value, "=") {
		if err := r.accept(t.flag, t.spelling, "true"); err != nil {
			return err
		}
		next, ok := r.short[t.value[0]]
		if !ok {
			return rejected("argument "+names(t.flag)+": ignored explicit argument '"+t.value+"'",
				"unknown flag -%c in %s", t.value[0], t.text)
		}
		t.flag, t.spelling, t.value, t.attached = next, "-"+t.value[:1], t.value[1:], len(t.value) > 1
	}
	if !strings.HasPrefix(t.spelling, "--") {
		t.value = strings.TrimPrefix(t.value, "=")
	}
	switch {
	case !t.flag.takesValue():
		return r.toggle(t)
	case t.attached:
		return r.accept(t.flag, t.spelling, t.value)
	}
	if !t.flag.Attached || r.loose(t.flag) {
		if text, ok := r.follows(); ok {
			return r.accept(t.flag, t.spelling, text)
		}
	}
	if t.flag.Optional != "" {
		return r.accept(t.flag, t.spelling, t.flag.Optional)
	}
	return rejected("argument "+names(t.flag)+": expected one argument",
		"flag %s needs a value %s", t.spelling, t.flag.Value)
}

// loose reports whether the next argument is a value that an attached flag takes.
func (r *run) loose(f *Flag) bool {
	return r.at < len(r.tokens) && r.tokens[r.at].kind == positional &&
		slices.ContainsFunc(f.Loose, func(v string) bool { return strings.EqualFold(v, r.tokens[r.at].text) })
}

// toggle reads a flag without a value.
func (r *run) toggle(t token) *UsageError {
	if !t.attached {
		return r.accept(t.flag, t.spelling, "true")
	}
	yes, err := strconv.ParseBool(strings.ToLower(t.value))
	if err != nil {
		return rejected("argument "+names(t.flag)+": ignored explicit argument '"+t.value+"'",
			"flag %s takes no value but true or false, got %q", t.spelling, t.value)
	}
	return r.accept(t.flag, t.spelling, strconv.FormatBool(yes))
}

// follows takes the next argument when it can be a value.
func (r *run) follows() (string, bool) {
	if r.at >= len(r.tokens) || r.tokens[r.at].kind != positional {
		return "", false
	}
	r.at++
	return r.tokens[r.at-1].text, true
}

// accept checks and keeps a value of a flag.
func (r *run) accept(f *Flag, spelling, text string) *UsageError {
	if f.takesValue() {
		checked, err := checkFlag(f, spelling, text)
		if err != nil {
			return err
		}
		text = checked
	}
	if text == "true" || f.takesValue() {
		if err := r.excluded(f, spelling); err != nil {
			return err
		}
	}
	v := r.values.decl[f.Name]
	v.set = true
	v.all = append(v.all, text)
	r.values.order = append(r.values.order, &occurrence{flag: f, text: text})
	return nil
}

// excluded refuses a flag beside another of its groups.
func (r *run) excluded(f *Flag, spelling string) *UsageError {
	for _, group := range r.cmd.Exclusive {
		members := groupNames(group)
		if !slices.Contains(members, f.Name) {
			continue
		}
		for _, other := range members {
			v := r.values.decl[other]
			if other == f.Name || v == nil || !r.chosen(v) {
				continue
			}
			name := other
			if v.flag != nil {
				name = v.flag.Dashed()
			}
			return rejected("argument "+names(f)+": not allowed with argument "+name,
				"%s and %s exclude each other", name, spelling)
		}
	}
	return nil
}

// chosen reports whether a value counts for its group: one that was given, and not
// taken back by =false.
func (r *run) chosen(v *value) bool {
	if !v.set {
		return false
	}
	return v.flag == nil || v.flag.takesValue() || v.all[len(v.all)-1] == "true"
}

// groupNames are the flags of a group, without its mark.
func groupNames(group string) []string {
	return strings.Fields(strings.TrimPrefix(group, "!"))
}

// names are the spellings of a flag as argparse joins them.
func names(f *Flag) string {
	all := []string{f.Dashed()}
	if f.Short != "" {
		all = append([]string{"-" + f.Short}, all...)
	}
	return strings.Join(all, "/")
}

// finish gives the arguments their places and looks for what is missing.
func (r *run) finish() *UsageError {
	if len(r.strange) > 0 {
		return r.unknownFlag(r.strange[0])
	}
	missing, err := r.place()
	if err != nil {
		return err
	}
	var flags []string
	for _, f := range r.flags {
		if f.Required && !r.values.decl[f.Name].set {
			flags = append(flags, f.Dashed())
		}
	}
	if all := slices.Concat(missing, flags); len(all) > 0 {
		what := "argument"
		if len(missing) == 0 {
			what = "flag"
		}
		if len(all) > 1 {
			what += "s"
		}
		return rejected("the following arguments are required: "+strings.Join(all, ", "),
			"missing %s %s", what, strings.Join(all, ", "))
	}
	return r.groupsFilled()
}

// groupsFilled looks for groups that have too many of their members, or none of
// those they need.
func (r *run) groupsFilled() *UsageError {
	for _, group := range r.cmd.Exclusive {
		members := groupNames(group)
		var chosen []string
		for i, name := range members {
			v := r.values.decl[name]
			if v == nil {
				continue
			}
			if v.flag != nil {
				members[i] = v.flag.Dashed()
			}
			if r.chosen(v) {
				chosen = append(chosen, members[i])
			}
		}
		// Flags were compared as they came; arguments have their places only now.
		if len(chosen) > 1 {
			return rejected("argument "+chosen[1]+": not allowed with argument "+chosen[0],
				"%s and %s exclude each other", chosen[0], chosen[1])
		}
		if len(chosen) > 0 || !strings.HasPrefix(group, "!") {
			continue
		}
		return rejected("one of the arguments "+strings.Join(members, " ")+" is required",
			"one of %s is needed", strings.Join(members, ", "))
	}
	return nil
}

func (r *run) unknownFlag(text string) *UsageError {
	name, _, _ := strings.Cut(text, "=")
	var known []string
	for spelling, f := range r.long {
		if !f.Hidden {
			known = append(known, dashed(spelling))
		}
	}
	slices.Sort(known)
	return rejected("unrecognized arguments: "+strings.Join(r.strange, " "),
		"unknown flag %s%s", name, didYouMean(nearest(name, known)))
}

// place gives each argument its share: as many as it can have while the ones after
// it get the least they need.
func (r *run) place() (missing []string, err *UsageError) {
	left := r.places
	for i := range r.cmd.Args {
		a := &r.cmd.Args[i]
		later := 0
		for _, b := range r.cmd.Args[i+1:] {
			if !b.Optional {
				later++
			}
		}
		n := min(1, len(left))
		if a.Many {
			n = max(n, len(left)-later)
		}
		if a.Optional {
			n = max(0, min(n, len(left)-later))
		}
		n = min(n, len(left))
		if n == 0 && !a.Optional {
			missing = append(missing, a.Name)
			continue
		}
		if n == 0 {
			continue
		}
		v := r.values.decl[a.Name]
		v.set, v.all = true, left[:n:n]
		left = left[n:]
		if err := checkArg(a, v.all); err != nil {
			return nil, err
		}
	}
	if len(left) > 0 {
		return nil, rejected("unrecognized arguments: "+strings.Join(left, " "),
			"unexpected %s %s", plural(len(left), "argument"), strings.Join(quoteAll(left), " "))
	}
	return missing, nil
}

func checkArg(a *Arg, all []string) *UsageError {
	if len(a.Choices) == 0 {
		return nil
	}
	for _, text := range all {
		if !slices.Contains(a.Choices, text) {
			return rejected(
				"argument "+a.Name+": invalid choice: '"+text+"' (choose from '"+strings.Join(a.Choices, "', '")+"')",
				"%s %q: must be one of %s", a.Name, text, strings.Join(a.Choices, ", "))
		}
	}
	return nil
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = strconv.Quote(t)
	}
	return quoted
}

// checkFlag checks a value by the declaration of its flag and returns it as it is
// kept.
func checkFlag(f *Flag, spelling, text string) (string, *UsageError) {
	wrong := func(upstream, format string, a ...any) *UsageError {
		err := rejected("argument "+names(f)+": "+upstream, format, a...)
		err.Message = "flag " + spelling + ": " + err.Message
		return err
	}
	if f.Fold {
		text = fold(f, text)
	}
	switch f.Type {
	case Int, Natural:
		trimmed := strings.TrimSpace(text)
		n, err := strconv.Atoi(trimmed)
		what := "a whole number"
		if f.Type == Natural {
			what += " of 0 or more"
		}
		if err != nil {
			return "", wrong("invalid int value: '"+text+"'", "expected %s, got %q", what, text)
		}
		if f.Type == Natural && n < 0 {
			return "", wrong(text+" is not a non-negative integer", "expected %s, got %q", what, text)
		}
		text = trimmed
	case Float:
		trimmed := strings.TrimSpace(text)
		if _, err := strconv.ParseFloat(trimmed, 64); err != nil {
			return "", wrong("invalid float value: '"+text+"'", "expected a number, got %q", text)
		}
		text = trimmed
	case KeyValue, KeyList:
		if why := badPair(text); why != "" {
			return "", wrong(why, "%s", why)
		}
	case JSONKeyValue:
		if !json.Valid([]byte(text)) {
			if why := badPair(text); why != "" {
				return "", wrong(why, "%s", why)
			}
		}
	case Records:
		if why := badRecord(f, text); why != "" {
			return "", wrong(why, "%s", why)
		}
	case Text, Commas:
	}
	if len(f.Choices) == 0 {
		return text, nil
	}
	chosen := []string{text}
	if f.Type == Commas {
		chosen = strings.Split(text, ",")
	}
	for _, one := range chosen {
		if !slices.Contains(f.Choices, one) {
			choices := f.Choices
			if f.Name == "format" { // which come from plugins there, by their names
				choices = slices.Sorted(slices.Values(choices))
			}
			err := wrong("invalid choice: '"+one+"' (choose from '"+strings.Join(choices, "', '")+"')",
				"%q: must be one of %s", one, strings.Join(f.Choices, ", "))
			if f.Name == "format" {
				err.Message = "invalid output format" + strings.TrimPrefix(err.Message, "flag "+spelling+":")
			}
			return "", err
		}
	}
	return text, nil
}

func fold(f *Flag, text string) string {
	for _, choice := range f.Choices {
		if strings.EqualFold(choice, text) {
			return choice
		}
	}
	return strings.ToLower(text)
}

// badPair says what is wrong with a key=value, "" when nothing is.
func badPair(text string) string {
	key, _, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return "expected key=value, got " + strconv.Quote(text)
	case strings.TrimSpace(key) == "":
		return "empty key in " + strconv.Quote(text)
	}
	return ""
}

// badRecord says what is wrong with a key=value,key=value.
func badRecord(f *Flag, text string) string {
	var keys []string
	for i, piece := range strings.Split(text, ",") {
		if f.LooseCommas && i > 0 && !strings.Contains(piece, "=") {
			continue
		}
		if why := badPair(piece); why != "" {
			return why
		}
		key, _, _ := strings.Cut(piece, "=")
		keys = append(keys, strings.TrimSpace(key))
	}
	if len(f.Keys) == 0 {
		return ""
	}
	var known, needed []string
	for _, k := range f.Keys {
		bare := strings.TrimPrefix(k, "!")
		known = append(known, bare)
		if bare != k && !slices.Contains(keys, bare) {
			needed = append(needed, bare)
		}
	}
	for _, k := range keys {
		if !slices.Contains(known, k) {
			return "unknown key " + strconv.Quote(k) + " in " + strconv.Quote(text) + ": the keys are " + strings.Join(known, ", ")
		}
	}
	if len(needed) > 0 {
		return "missing " + plural(len(needed), "key") + " " + strings.Join(needed, ", ") + " in " + strconv.Quote(text)
	}
	return ""
}
