package config

import (
	"errors"
	"fmt"
)

// ErrTooMuch is a configuration whose evaluation is not worth its time: it
// refers to itself so many times, or to so much, that nobody means it.
var ErrTooMuch = errors.New("too much to evaluate")

// The bounds of a pass: what was looked for, and the bytes that were made of it.
const (
	maxSteps = 200_000
	maxBytes = 1 << 26
)

// A pass remembers what the keys evaluate to while neither the document nor
// what is outside changes, and counts the work in all.
type pass struct {
	known    map[frame]outcome
	steps    int
	bytes    int
	suffixes []string
}

// An outcome is what a key evaluates to, and what it takes to find it from
// scratch: what is bounded is so whether it was remembered or not.
type outcome struct {
	text     string
	depth    int // options inside options, itself included
	resolved int
	read     int
}

// Pass returns the evaluator for a series of evaluations during which neither
// the document nor what Lookup answers changes: each key is evaluated once for
// each section that reads it, and the work in all is bounded. It serves one
// goroutine. Inside a pass, it is the evaluator itself.
func (e *Evaluator) Pass() *Evaluator {
	if e.pass != nil {
		return e
	}
	own := *e
	own.pass = &pass{}
	return &own
}

// suffixes is Scope.suffixes, once in a pass.
func (e *Evaluator) suffixes() []string {
	if e.pass == nil {
		return e.Scope.suffixes()
	}
	if e.pass.suffixes == nil {
		e.pass.suffixes = e.Scope.suffixes()
	}
	return e.pass.suffixes
}

// spend counts work, and ends what takes too much of it.
func (x *expansion) spend(steps, bytes int) error {
	p := x.pass
	p.steps += steps
	p.bytes += bytes
	switch {
	case p.steps > maxSteps:
		return fmt.Errorf("%w: more than %d references in all, at %s", ErrTooMuch, maxSteps, x.within())
	case p.bytes > maxBytes:
		return fmt.Errorf("%w: references to more than %d bytes in all, at %s", ErrTooMuch, maxBytes, x.within())
	}
	return nil
}

func (p *pass) remember(f frame, o outcome) {
	if p.known == nil {
		p.known = map[frame]outcome{}
	}
	p.known[f] = o
}

// count adds to what the value stands for.
func (x *expansion) count(resolved, read int) error {
	x.resolved += resolved
	x.read += read
	switch {
	case x.resolved > maxResolved:
		return fmt.Errorf("%w: more than %d references in %s", ErrTooMuch, maxResolved, x.within())
	case x.read > maxRead:
		return fmt.Errorf("%w: references to more than %d bytes in %s", ErrTooMuch, maxRead, x.within())
	}
	return nil
}

// within names the key being evaluated.
func (x *expansion) within() string {
	if n := len(x.stack); n > 0 {
		return x.stack[n-1].key.String()
	}
	return "one value"
}

// evaluate expands the text of an option, or recalls what it gave. Defaults are
// not remembered: they are those of who asks.
func (x *expansion) evaluate(f frame, text string, written bool) (string, error) {
	if o, ok := x.pass.known[f]; ok && written {
		return o.text, x.recall(o)
	}
	if err := x.enter(f); err != nil {
		return "", err
	}
	outer := *x
	x.deepest = len(x.stack)
	text, err := x.expand(f.section, text)
	x.stack = x.stack[:len(x.stack)-1]
	if err == nil {
		err = x.spend(0, len(text))
	}
	if err == nil && written {
		x.pass.remember(f, outcome{text, x.deepest - len(x.stack), x.resolved - outer.resolved, x.read - outer.read})
	}
	x.deepest = max(x.deepest, outer.deepest)
	return text, err
}

// recall accounts for an outcome as if it were found again.
func (x *expansion) recall(o outcome) error {
	deepest := len(x.stack) + o.depth
	if deepest > maxDepth {
		return tooDeep()
	}
	x.deepest = max(x.deepest, deepest)
	return x.count(o.resolved, o.read)
}

func tooDeep() error { return fmt.Errorf("references nested more than %d deep", maxDepth) }
