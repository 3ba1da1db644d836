package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

const (
	// maxRendered bounds what a template makes, in bytes.
	maxRendered = 4 << 20
	// maxSpent bounds what its functions read and make on the way.
	maxSpent = 64 << 20
	// maxSteps bounds how often it goes round: a template is written by who may
	// write a key, and rendered by the agent.
	maxSteps = 200_000
)

// Facts are what a template reads.
type Facts struct {
	Values   map[string]string // of the env section, its data
	Failed   map[string]error  // the values that could not be evaluated
	Ref      func(name string) (string, error)
	Key      func(path, key string) ([]byte, error)
	Networks func() ([]resource.Network, error)
}

// Render executes a template. What it reads and is not there is an error: a file
// with a hole is worse than none.
func Render(ctx context.Context, name, text string, f Facts) ([]byte, error) {
	r := &rendering{ctx: ctx, facts: f}
	t, err := template.New(name).Option("missingkey=error").Funcs(r.functions()).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	if err := r.meter(t); err != nil {
		return nil, err
	}
	values := f.Values
	if values == nil {
		values = map[string]string{}
	}
	if err := t.Execute(r, values); err != nil {
		return nil, r.explain(err)
	}
	return r.out.Bytes(), nil
}

// CheckTemplate reads a template without executing it.
func CheckTemplate(name, text string) error {
	_, err := template.New(name).Funcs((&rendering{}).functions()).Parse(text)
	return templateError(err)
}

type rendering struct {
	ctx   context.Context //nolint:containedctx // of this one execution, whose functions get no other
	facts Facts
	out   bytes.Buffer
	steps int
	spent int
	read  []string // the values of keys, which no error may tell
}

// Write implements [io.Writer], with a bound.
func (r *rendering) Write(b []byte) (int, error) {
	if r.out.Len()+len(b) > maxRendered {
		return 0, fmt.Errorf("more than %d bytes", maxRendered)
	}
	return r.out.Write(b)
}

const stepName = "_step"

// meter makes each round of a range, and each template called, take a step.
func (r *rendering) meter(t *template.Template) error {
	step, err := template.New("").Funcs(r.functions()).Parse("{{" + stepName + "}}")
	if err != nil {
		return err
	}
	node := step.Root.Nodes[0]
	for _, each := range t.Templates() {
		if each.Tree == nil || each.Root == nil {
			continue
		}
		meterList(each.Root, node)
		each.Root.Nodes = slices.Insert(each.Root.Nodes, 0, node)
	}
	return nil
}

func meterList(l *parse.ListNode, step parse.Node) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.RangeNode:
			meterList(n.List, step)
			meterList(n.ElseList, step)
			n.List.Nodes = slices.Insert(n.List.Nodes, 0, step)
		case *parse.IfNode:
			meterList(n.List, step)
			meterList(n.ElseList, step)
		case *parse.WithNode:
			meterList(n.List, step)
			meterList(n.ElseList, step)
		}
	}
}

func (r *rendering) step() (string, error) {
	if err := r.ctx.Err(); err != nil {
		return "", context.Cause(r.ctx)
	}
	if r.steps++; r.steps > maxSteps {
		return "", fmt.Errorf("more than %d rounds", maxSteps)
	}
	return "", nil
}

func (r *rendering) functions() template.FuncMap {
	return template.FuncMap{
		stepName:   r.step,
		"ref":      r.ref,
		"split":    strings.Fields,
		"key":      r.key,
		"network":  r.network,
		"networks": r.networks,
		"tunnels":  r.tunnels,
		"index":    index,
		"print":    r.bounded(fmt.Sprint),
		"println":  r.bounded(fmt.Sprintln),
		"printf":   r.printf,
		"html":     r.bounded(template.HTMLEscaper),
		"js":       r.bounded(template.JSEscaper),
		"urlquery": r.bounded(template.URLQueryEscaper),
	}
}

// bounded is a function that makes texts, with a bound on what it makes.
func (r *rendering) bounded(text func(args ...any) string) func(args ...any) (string, error) {
	return func(args ...any) (string, error) {
		if err := r.spend(args); err != nil {
			return "", err
		}
		made := text(args...)
		return made, r.spend([]any{made})
	}
}

// spend counts the bytes that functions read and make.
func (r *rendering) spend(args []any) error {
	if _, err := r.step(); err != nil {
		return err
	}
	n := 0
	for _, a := range args {
		if text, ok := a.(string); ok {
			n += len(text)
		}
	}
	if r.spent += n; n > maxRendered || r.spent > maxSpent {
		return fmt.Errorf("too long: a text may have %d bytes", maxRendered)
	}
	return nil
}

// printf is that of package fmt, with a bound: a width makes any number of bytes.
func (r *rendering) printf(format string, args ...any) (string, error) {
	width := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			width = 0
			continue
		}
		if width = width*10 + int(c-'0'); width > 4096 {
			return "", errors.New("printf: a width or a precision above 4096")
		}
	}
	if strings.Contains(format, "*") {
		return "", errors.New("printf: a width or a precision may not be an argument")
	}
	return r.bounded(func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
}

func (r *rendering) ref(name string) (string, error) {
	if _, err := r.step(); err != nil {
		return "", err
	}
	if name == "" || strings.ContainsAny(name, "{}$()") {
		return "", fmt.Errorf("ref %q: write a reference without its braces, as nodename", name)
	}
	if r.facts.Ref == nil {
		return "", fmt.Errorf("ref %q: no reference is known", name)
	}
	return r.facts.Ref(name)
}

func (r *rendering) key(path, key string) (string, error) {
	if _, err := r.step(); err != nil {
		return "", err
	}
	if r.facts.Key == nil {
		return "", fmt.Errorf("key %q %q: no key is known", path, key)
	}
	value, err := r.facts.Key(path, key)
	if len(value) >= minHidden {
		r.read = append(r.read, string(value))
	}
	return string(value), err
}

func (r *rendering) networks() ([]resource.Network, error) {
	if _, err := r.step(); err != nil {
		return nil, err
	}
	if r.facts.Networks == nil {
		return nil, errors.New("no network is known")
	}
	return r.facts.Networks()
}

func (r *rendering) network(name string) (resource.Network, error) {
	all, err := r.networks()
	if err != nil {
		return resource.Network{}, err
	}
	for _, n := range all {
		if n.Name == name {
			return n, nil
		}
	}
	return resource.Network{}, fmt.Errorf("network %q: the node has no network of that name", name)
}

// tunnels lists each tunnel once: networks may share one.
func (r *rendering) tunnels() ([]resource.Tunnel, error) {
	all, err := r.networks()
	if err != nil {
		return nil, err
	}
	list := []resource.Tunnel{}
	for _, n := range all {
		for _, p := range n.Peers {
			if p.Tunnel != nil && !slices.Contains(list, *p.Tunnel) {
				list = append(list, *p.Tunnel)
			}
		}
	}
	return list, nil
}

// index is that of package text/template, for which a missing key of a map is a
// hole and not an error.
func index(of reflect.Value, at ...reflect.Value) (any, error) {
	for of.IsValid() && of.Kind() == reflect.Interface {
		of = of.Elem()
	}
	for _, key := range at {
		for key.IsValid() && key.Kind() == reflect.Interface {
			key = key.Elem()
		}
		switch {
		case !of.IsValid() || !key.IsValid():
			return nil, errors.New("index of nothing")
		case of.Kind() == reflect.Map && key.Type().AssignableTo(of.Type().Key()):
			of = of.MapIndex(key)
			if !of.IsValid() {
				return nil, fmt.Errorf("no value %q", key)
			}
		case (of.Kind() == reflect.Slice || of.Kind() == reflect.Array || of.Kind() == reflect.String) && key.CanInt():
			if n := key.Int(); n < 0 || n >= int64(of.Len()) {
				return nil, fmt.Errorf("index %d is not one of %d", n, of.Len())
			}
			of = of.Index(int(key.Int()))
		default:
			return nil, fmt.Errorf("no index of a %s by a %s", of.Kind(), key.Kind())
		}
	}
	if !of.IsValid() || !of.CanInterface() {
		return nil, errors.New("index of nothing")
	}
	return of.Interface(), nil
}

// minHidden is the length from which a value is taken out of an error.
const minHidden = 3

// explain says why a value is missing, when that is known, and tells no key.
func (r *rendering) explain(err error) error {
	err = templateError(err)
	for _, value := range r.read {
		if strings.Contains(err.Error(), value) {
			err = errors.New(strings.ReplaceAll(err.Error(), value, "***"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.facts.Failed)) {
		if strings.Contains(err.Error(), fmt.Sprintf("no entry for key %q", name)) {
			return fmt.Errorf("env.%s: %w", name, r.facts.Failed[name])
		}
	}
	return err
}

// templateError is a failure of a template: where it is, and why. The reasons of
// the functions are errors of their own, without what the template was given.
func templateError(err error) error {
	if exec, ok := errors.AsType[template.ExecError](err); ok {
		if inner := errors.Unwrap(exec.Err); inner != nil {
			return fmt.Errorf("template: %w", exec.Err)
		}
		return exec.Err
	}
	return err
}
