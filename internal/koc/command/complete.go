package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
	"github.com/holdfast-ops/holdfast/internal/koc/whole"
)

// completing is the word that the scripts of completion call.
const completing = "__complete"

// Names of things in the cloud are asked for at most this long, and kept this long.
const (
	completeWithin = 5 * time.Second
	completeKept   = 30 * time.Second
)

// candidate is a word that may come next.
type candidate struct{ text, about string }

// complete prints what may stand for the last of the words, one a line, with what
// it is behind a tab. It never fails: a shell would print the error into the line.
func (r *invocation) complete(ctx context.Context, words []string) error {
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	words = joinEquals(words)
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, c := range r.candidates(ctx, words[:len(words)-1], last) {
		text := render.Plain(c.text)
		if c.about != "" {
			text += "\t" + c.about
		}
		_, _ = fmt.Fprintln(r.out.Out, text)
	}
	return nil
}

// joinEquals puts together what bash takes apart: --flag = value.
func joinEquals(words []string) []string {
	var joined []string
	for i, w := range words {
		n := len(joined)
		switch {
		case w == "=" && n > 0 && strings.HasPrefix(joined[n-1], "--"):
			joined[n-1] += w
		case i > 0 && words[i-1] == "=" && n > 0 && strings.HasSuffix(joined[n-1], "="):
			joined[n-1] += w
		default:
			joined = append(joined, w)
		}
	}
	return joined
}

func (r *invocation) candidates(ctx context.Context, before []string, last string) []candidate {
	globals := Globals()
	s := &scanner{tree: r.entries(), globals: scanning(globals)}
	t := s.find(before)
	cmd := &Command{}
	if t.entry != nil {
		built := t.entry.Build()
		cmd = &built
	}
	g := newGrammar(cmd, globals)
	if name, val, ok := strings.Cut(last, "="); ok && strings.HasPrefix(name, "--") {
		f, _, err := g.find(name[2:])
		if err != nil || f == nil || !f.takesValue() {
			return nil
		}
		found := r.valuesOfFlag(ctx, g, t, cmd, f, val)
		for i := range found {
			found[i].text = name + "=" + found[i].text
		}
		return found
	}
	ended := slices.Contains(before, "--")
	if f := g.waiting(before); f != nil && !ended {
		return r.valuesOfFlag(ctx, g, t, cmd, f, last)
	}
	if strings.HasPrefix(last, "-") && !ended {
		return g.flagsLike(last, t.entry != nil)
	}
	var found []candidate
	places := g.lenient(t.args).places
	if len(places) == 0 {
		for _, child := range r.entries().children(t.path) {
			if strings.HasPrefix(child, last) {
				found = append(found, candidate{child, r.about(join(t.path, child))})
			}
		}
		slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	}
	if a := argAt(cmd, len(places)); a != nil && t.entry != nil {
		found = append(found, r.valuesOf(ctx, g, t, a.Choices, a.Complete, last)...)
	}
	return found
}

// about is what a command does, "" for a group.
func (r *invocation) about(path string) string {
	e := r.entries().at(path)
	if e == nil {
		return ""
	}
	return e.Build().Short
}

// waiting returns the flag whose value comes next, nil for none.
func (g *grammar) waiting(before []string) *Flag {
	if len(before) == 0 {
		return nil
	}
	t, err := g.token(before[len(before)-1])
	if err != nil || t.kind != option || !g.consumes(t) {
		return nil
	}
	return t.flag
}

// flagsLike are the flags that begin with a prefix. Those of a command come without
// the global ones as long as nothing of the name was typed.
func (g *grammar) flagsLike(prefix string, own bool) []candidate {
	var found []candidate
	flags := g.flags
	if own && len(prefix) < 3 {
		flags = flags[:g.firstGlobal]
	}
	for _, f := range flags {
		if !f.Hidden && strings.HasPrefix(f.Dashed(), prefix) {
			found = append(found, candidate{f.Dashed(), strings.TrimSuffix(f.Help, ".")})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return found
}

// argAt is the argument that a place belongs to.
func argAt(cmd *Command, place int) *Arg {
	for i := range cmd.Args {
		if i == place || cmd.Args[i].Many {
			return &cmd.Args[i]
		}
	}
	return nil
}

// lenient reads what can be read of a command line that is not complete.
func (g *grammar) lenient(args []string) *run {
	r := &run{grammar: g, values: g.empty()}
	for _, text := range args {
		t, err := g.token(text)
		if err != nil {
			t = token{text: text, kind: unknown}
		}
		r.tokens = append(r.tokens, t)
	}
	for r.at < len(r.tokens) {
		t := r.tokens[r.at]
		r.at++
		switch t.kind {
		case positional:
			r.places = append(r.places, t.text)
		case option:
			_ = r.option(t)
		case unknown, dashes:
		}
	}
	return r
}

// valuesOfFlag are the values of a flag: those of a few flags are known without a
// declaration and without asking the cloud.
func (r *invocation) valuesOfFlag(ctx context.Context, g *grammar, t target, cmd *Command, f *Flag, prefix string) []candidate {
	var known []string
	switch f.Name {
	case "os-cloud":
		known = cloud.Names(r.proc.Env)
	case "os-interface":
		known = []string{"public", "internal", "admin"}
	case "os-auth-type":
		known = cloud.AuthTypes()
	case "os-system-scope":
		known = []string{"all"}
	case "column", "sort-column":
		return columnsLike(cmd, g.lenient(t.args).values, prefix)
	default:
		return r.valuesOf(ctx, g, t, f.Choices, f.Complete, prefix)
	}
	return r.valuesOf(ctx, g, t, known, "", prefix)
}

// columnsLike are the columns that a prefix begins, in whatever case.
func columnsLike(cmd *Command, v *Values, prefix string) []candidate {
	var found []candidate
	names := slices.Clone(cmd.OptIn)
	if cmd.Columns != nil {
		names = append(cmd.Columns(v.Declares("long") && v.Is("long")), names...)
	}
	for i, name := range names {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) && !slices.Contains(names[:i], name) {
			found = append(found, candidate{text: name})
		}
	}
	return found
}

func (r *invocation) valuesOf(ctx context.Context, g *grammar, t target, choices []string, noun, prefix string) []candidate {
	var found []candidate
	names := choices
	if len(names) == 0 && noun != "" {
		names = r.names(ctx, g, t, noun)
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			found = append(found, candidate{text: name})
		}
	}
	return found
}

// names are the names of all things of a kind, as its list command shows them. They
// are kept for a short while, since a person who asks once asks again.
func (r *invocation) names(ctx context.Context, g *grammar, t target, noun string) []string {
	list := r.entries().at(noun + " list")
	if list == nil {
		return nil
	}
	values := g.lenient(t.args).values
	file := r.cacheFile(values, noun)
	if kept, ok := readCache(file); ok {
		return kept
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	cmd := list.Build()
	names, ok := r.listNames(ctx, &cmd, values, []string{"Name"})
	if !ok {
		names, ok = r.listNames(ctx, &cmd, values, nil)
	}
	if ok {
		writeCache(file, names)
	}
	return names
}

func (r *invocation) listNames(ctx context.Context, cmd *Command, globals *Values, columns []string) ([]string, bool) {
	v, err := Parse(cmd, Globals(), nil)
	if err != nil {
		return nil, false
	}
	for name, one := range globals.decl {
		if one.global && one.set {
			v.decl[name] = one
		}
	}
	c := &Call{
		Values: v, Env: r.proc.Env, catch: new(caught),
		Streams: &iostreams.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard},
		Output:  render.Options{Columns: columns},
	}
	if c.Cloud, err = r.Open(c); err != nil {
		return nil, false
	}
	if err := cmd.Run(ctx, c); err != nil || c.catch.grid == nil {
		return nil, false
	}
	var names []string
	for _, row := range c.catch.grid.Rows {
		if len(row) > 0 && row[0] != "" {
			names = append(names, row[0])
		}
	}
	return names, true
}

// cacheFile is where the names of a noun are kept, for the settings of the run.
func (r *invocation) cacheFile(v *Values, noun string) string {
	base := r.proc.Env("XDG_CACHE_HOME")
	if base == "" {
		home := r.proc.Env("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	h := sha256.New()
	for _, pair := range r.proc.Environ {
		if strings.HasPrefix(pair, "OS_") {
			_, _ = fmt.Fprintf(h, "%q\n", pair)
		}
	}
	for _, o := range v.order {
		_, _ = fmt.Fprintf(h, "%q=%q\n", o.flag.Name, o.text)
	}
	_, _ = fmt.Fprintf(h, "%q", noun)
	return filepath.Join(base, "koc", "complete", hex.EncodeToString(h.Sum(nil)[:16]))
}

func readCache(file string) ([]string, bool) {
	info, err := os.Stat(file)
	if file == "" || err != nil || time.Since(info.ModTime()) > completeKept {
		return nil, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	return lines(string(text)), true
}

// writeCache keeps names. Without a place for them the next completion asks again.
func writeCache(file string, names []string) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	f, err := whole.Create(file, 0o600, true)
	if err != nil {
		return
	}
	defer f.Discard()
	if _, err := io.WriteString(f, strings.Join(names, "\n")+"\n"); err == nil {
		_ = f.Commit()
	}
}
