package object

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	nodePattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$`)
	labelPattern = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
)

// NodeSelector designates a list of nodes: elements separated by commas or
// blanks, each a name, a glob, or label=value. "*" is every node. Names and
// globs are lower-cased.
type NodeSelector struct{ elements []nodeElement }

type nodeElement struct {
	name         string // exact, or a glob
	isGlob       bool
	label, value string // when label is not empty
}

// UnknownNodeError says that a name is not that of a node of the cluster.
type UnknownNodeError struct {
	Node  string
	Nodes []string // those that exist
}

// Error names the node and those that exist.
func (e *UnknownNodeError) Error() string {
	return fmt.Sprintf("%s is not a node of the cluster: its nodes are %s", e.Node, strings.Join(e.Nodes, " "))
}

// ParseNodeSelector reads a node selector. The empty selector designates no node.
func ParseNodeSelector(expr string) (*NodeSelector, error) {
	s := &NodeSelector{}
	if strings.TrimSpace(expr) == "" {
		return s, nil
	}
	pos := 0
	for part := range strings.SplitSeq(expr, ",") {
		words := strings.Fields(part)
		if len(words) == 0 {
			return nil, nodeError(expr, part, pos, errors.New(`nothing before or after ",": remove the comma`))
		}
		for _, word := range words {
			e, err := parseNodeElement(word)
			if err != nil {
				return nil, nodeError(expr, word, pos+strings.Index(part, word), err)
			}
			if !slices.Contains(s.elements, e) {
				s.elements = append(s.elements, e)
			}
		}
		pos += len(part) + 1
	}
	return s, nil
}

func nodeError(expr, element string, offset int, err error) error {
	return fmt.Errorf("node %w", &SyntaxError{Expr: expr, Element: element, Pos: 1 + len([]rune(expr[:offset])), Err: err})
}

func parseNodeElement(word string) (nodeElement, error) {
	if label, value, ok := strings.Cut(word, "="); ok {
		switch {
		case !labelPattern.MatchString(label):
			return nodeElement{}, fmt.Errorf("%q is not a label name: write label=value", label)
		case value == "":
			return nodeElement{}, fmt.Errorf("label %s has no value: write %s=<value>", label, label)
		}
		return nodeElement{label: label, value: value}, nil
	}
	name := strings.ToLower(word)
	if HasGlob(name) {
		return nodeElement{name: name, isGlob: true}, CheckGlob(name)
	}
	if !nodePattern.MatchString(name) {
		return nodeElement{}, fmt.Errorf("%q is not a node name: it holds only letters, digits, dashes, dots and underscores", word)
	}
	return nodeElement{name: name}, nil
}

// HasLabels reports whether the selector asks the labels of nodes.
func (s *NodeSelector) HasLabels() bool {
	return slices.ContainsFunc(s.elements, func(e nodeElement) bool { return e.label != "" })
}

// String returns the selector as [ParseNodeSelector] reads it.
func (s *NodeSelector) String() string {
	words := make([]string, len(s.elements))
	for i, e := range s.elements {
		words[i] = e.name
		if e.label != "" {
			words[i] = e.label + "=" + e.value
		}
	}
	return strings.Join(words, " ")
}

// Select returns the nodes designated, each once, in the order of the elements;
// those of a glob or of a label in the order of nodes. labels is by node. An
// exact name which is not in nodes is an *[UnknownNodeError].
func (s *NodeSelector) Select(nodes []string, labels map[string]map[string]string) ([]string, error) {
	var unknown []error
	for _, e := range s.elements {
		if e.label == "" && !e.isGlob && !slices.Contains(nodes, e.name) {
			unknown = append(unknown, &UnknownNodeError{Node: e.name, Nodes: nodes})
		}
	}
	if err := errors.Join(unknown...); err != nil {
		return nil, err
	}
	return s.Expand(nodes, labels), nil
}

// Expand is Select for callers that do not need members of the cluster: exact
// names are kept whether or not they are in nodes.
func (s *NodeSelector) Expand(nodes []string, labels map[string]map[string]string) []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, e := range s.elements {
		if e.label == "" && !e.isGlob {
			add(e.name)
			continue
		}
		for _, n := range nodes {
			if e.match(n, labels[n]) {
				add(n)
			}
		}
	}
	return out
}

func (e nodeElement) match(node string, labels map[string]string) bool {
	if e.label == "" {
		return Glob(e.name, node)
	}
	value, ok := labels[e.label]
	return ok && value == e.value
}
