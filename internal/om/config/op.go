package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Operator is what an [Op] does to a value.
type Operator string

// The operators.
const (
	OpSet    Operator = "="
	OpAppend Operator = "+="  // after a blank, even when already there
	OpAdd    Operator = "|="  // when not already there
	OpRemove Operator = "-="  // every occurrence
	OpToggle Operator = "^="  // remove when there, else add
	OpInsert Operator = "[]=" // insert at Index
	OpDelete Operator = "[]"  // remove the element at Index
)

// Op is one operation on a key, as "env.x+=1".
type Op struct {
	Key      Key
	Operator Operator
	Index    int
	Value    string
}

// ParseOp reads a keyword operation: key=value, key+=value, key|=value,
// key-=value, key^=value, key[n]=value to insert at index n and key[n]= to
// remove what is there.
func ParseOp(s string) (Op, error) {
	equal := strings.IndexByte(s, '=')
	if equal < 0 {
		return Op{}, fmt.Errorf("keyword operation %q has no operator: write section.option=value", clip(s))
	}
	op := Op{Operator: OpSet, Value: s[equal+1:]}
	name := s[:equal]
	if equal > 0 && strings.IndexByte("+|-^", s[equal-1]) >= 0 {
		op.Operator = Operator(s[equal-1 : equal+1])
		name = s[:equal-1]
	}
	if index, base, ok := cutIndex(name); ok {
		if op.Operator != OpSet {
			return Op{}, fmt.Errorf("keyword operation %q: an index goes with = only", clip(s))
		}
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 {
			return Op{}, fmt.Errorf("keyword operation %q: index %q is not a number from 0", clip(s), index)
		}
		op.Operator, op.Index, name = OpInsert, n, base
		if op.Value == "" {
			op.Operator = OpDelete
		}
	}
	k, err := ParseKey(name)
	if err != nil {
		return Op{}, fmt.Errorf("keyword operation %q: %w", clip(s), err)
	}
	if err := k.checkWritable(); err != nil {
		return Op{}, fmt.Errorf("keyword operation %q: %w", clip(s), err)
	}
	op.Key = k
	return op, nil
}

// checkWritable refuses keys that files may hold, and that nobody means.
func (k Key) checkWritable() error {
	section, scope, scoped := strings.Cut(k.Section, "@")
	switch {
	case scoped:
		return fmt.Errorf("a section has no scope: write it after the option, as %s", Key{section, k.Option, scope})
	case strings.ContainsFunc(k.Section, unicode.IsSpace):
		return fmt.Errorf("section %q holds a blank: write its name in one word", k.Section)
	case strings.ContainsFunc(k.name(), unicode.IsSpace):
		return fmt.Errorf("option %q holds a blank: write its name in one word", k.name())
	}
	return nil
}

// cutIndex splits "name[index]".
func cutIndex(name string) (index, base string, ok bool) {
	if !strings.HasSuffix(name, "]") {
		return "", "", false
	}
	open := strings.LastIndexByte(name, '[')
	if open < 0 {
		return "", "", false
	}
	return name[open+1 : len(name)-1], name[:open], true
}

// String prints the operation as [ParseOp] reads it.
func (o Op) String() string {
	if o.Operator == OpInsert || o.Operator == OpDelete {
		return o.Key.String() + "[" + strconv.Itoa(o.Index) + "]=" + o.Value
	}
	return o.Key.String() + string(o.Operator) + o.Value
}

// apply does the operation on d.
func (o Op) apply(d *Document, list func(Key) bool) error {
	old, found := d.Get(o.Key)
	fresh := o.Value
	switch o.Operator {
	case OpSet:
	case OpAppend:
		fresh = joinWords(old, o.Value)
	case OpAdd, OpRemove, OpToggle:
		fresh = o.member(old)
		if fresh == old && (found || fresh == "") {
			return nil
		}
	case OpInsert, OpDelete:
		if list != nil && !list(o.Key) {
			return fmt.Errorf("%s: %s is not a list, elements have no index: write %s=value", o, o.Key, o.Key)
		}
		var err error
		if fresh, err = o.element(old); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s: unknown operator %q", o.Key, o.Operator)
	}
	return d.Set(o.Key, fresh)
}

// member adds or removes words, and returns the text as it was when there is
// nothing to do.
func (o Op) member(old string) string {
	words := strings.Fields(old)
	changed, fresh := false, old
	for w := range strings.FieldsSeq(o.Value) {
		there := slices.Contains(words, w)
		switch {
		case there && o.Operator != OpAdd:
			words = slices.DeleteFunc(words, func(x string) bool { return x == w })
			changed, fresh = true, strings.Join(words, " ")
		case !there && o.Operator != OpRemove:
			words = append(words, w)
			fresh = joinWords(fresh, w)
			changed = true
		}
	}
	if !changed {
		return old
	}
	return fresh
}

// element inserts or removes at an index.
func (o Op) element(old string) (string, error) {
	words := strings.Fields(old)
	if o.Operator == OpDelete {
		if o.Index >= len(words) {
			return "", fmt.Errorf("%s: nothing to remove at index %d, %s has %s", o, o.Index, o.Key, count(len(words)))
		}
		return strings.Join(slices.Delete(words, o.Index, o.Index+1), " "), nil
	}
	if o.Index > len(words) {
		return "", fmt.Errorf("%s: index %d is past the end, %s has %s", o, o.Index, o.Key, count(len(words)))
	}
	return strings.Join(slices.Insert(words, o.Index, strings.Fields(o.Value)...), " "), nil
}

func count(n int) string {
	if n == 1 {
		return "1 element"
	}
	return strconv.Itoa(n) + " elements"
}

func joinWords(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// maxOperations bounds what a change sets: an operation on a group is one for
// each of its sections.
const maxOperations = 2 * MaxKeys

// Change is a batch of edits applied as one transaction.
type Change struct {
	Delete []string // sections
	Unset  []Key
	Set    []Op

	// Group tells whether a name, as "fs", stands for every section "fs#...".
	// Nil: it does when the document has no section of that name and some "fs#...".
	Group func(name string) bool
}

// Apply edits d: sections are deleted, keys unset, then operations done, in
// that order. All or nothing: on error d is as it was. A section that unsetting
// leaves without any key nor comment is removed. A key of a group, as
// fs.optional, is that key of every section of the group. list tells whether a
// keyword is a list, the only place where elements have an index; nil: any is.
func (c Change) Apply(d *Document, list func(Key) bool) (changed bool, err error) {
	work := d.Clone()
	if err := c.deleteSections(work); err != nil {
		return false, err
	}
	emptied := c.unset(work)
	if err := c.set(work, list); err != nil {
		return false, err
	}
	work.deleteSections(work.blank(emptied))
	changed = string(work.Bytes()) != string(d.Bytes())
	if changed {
		*d = *work
	}
	return changed, nil
}

func (c Change) deleteSections(d *Document) error {
	names := map[string]bool{}
	for _, name := range c.Delete {
		if c.isGroup(d, name) {
			return fmt.Errorf("delete %s: it names several sections, delete them one by one: %s", name, strings.Join(members(d, name), " "))
		}
		names[name] = true
	}
	d.deleteSections(names)
	return nil
}

// unset removes keys and returns the sections that had one of them.
func (c Change) unset(d *Document) map[string]bool {
	keys, sections := map[Key]bool{}, map[string]bool{}
	for _, k := range c.Unset {
		for _, name := range c.targets(d, k.Section) {
			key := Key{name, k.Option, k.Scope}
			if _, ok := d.Get(key); ok {
				keys[key], sections[name] = true, true
			}
		}
	}
	d.unset(keys)
	return sections
}

func (c Change) set(d *Document, list func(Key) bool) error {
	var errs []error
	operations := 0
	for _, op := range c.Set {
		targets := c.targets(d, op.Key.Section)
		if operations += len(targets); operations > maxOperations {
			return fmt.Errorf("%s: more than %d keys to set: do it in several times", op, maxOperations)
		}
		if len(targets) == 0 {
			one := op
			one.Key.Section += "#1"
			errs = append(errs, fmt.Errorf("%s: there is no %s#... section to apply it to: name the one to add, as %s", op, op.Key.Section, one))
		}
		for _, section := range targets {
			one := op
			one.Key.Section = section
			errs = append(errs, one.apply(d, list))
		}
	}
	return errors.Join(errs...)
}

// targets lists the sections a section name of a key stands for.
func (c Change) targets(d *Document, name string) []string {
	if c.isGroup(d, name) {
		return members(d, name)
	}
	return []string{name}
}

func (c Change) isGroup(d *Document, name string) bool {
	if d.Has(name) || strings.Contains(name, "#") {
		return false
	}
	if c.Group != nil {
		return c.Group(name)
	}
	return len(members(d, name)) > 0
}

func members(d *Document, group string) []string {
	return slices.DeleteFunc(d.Sections(), func(s string) bool { return !strings.HasPrefix(s, group+"#") })
}
