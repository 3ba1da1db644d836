package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// section is a mapping of a YAML document. Its values are string (a scalar as it
// was written, so that 2.10 is no number), []any or section; null is left out.
type section map[string]any

// parse reads a YAML or JSON document whose top is a mapping.
func parse(text []byte) (section, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	if node.Kind == 0 {
		return section{}, nil
	}
	p := parser{budget: 100_000}
	value, err := p.value(&node, 0)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case nil:
		return section{}, nil
	case section:
		return v, nil
	}
	return nil, errors.New("the document is no mapping")
}

// parser turns nodes into values. Its budget ends documents that say a lot
// with aliases of aliases.
type parser struct{ budget int }

func (p *parser) value(n *yaml.Node, depth int) (any, error) {
	if p.budget--; p.budget < 0 || depth > 100 {
		return nil, fmt.Errorf("line %d: nested too deep or too large", n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return p.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return p.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return p.mapping(n, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := p.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		if n.Tag != "!!null" {
			return n.Value, nil
		}
	}
	return nil, nil
}

func (p *parser) mapping(n *yaml.Node, depth int) (any, error) {
	made := section{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		v, err := p.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		switch {
		case v == nil:
		case n.Content[i].Tag == "!!merge":
			list, ok := v.([]any)
			if !ok {
				list = []any{v}
			}
			for _, from := range list {
				if from, ok := from.(section); ok {
					made = merge(from, made)
				}
			}
		default:
			made[name] = v
		}
	}
	return made, nil
}

// merge lays one mapping over another: mappings are merged, lists joined with
// those of over first, empty values of over lose.
func merge(under, over section) section {
	made := maps.Clone(under)
	if made == nil {
		made = section{}
	}
	for name, v := range over {
		old := made[name]
		switch v := v.(type) {
		case section:
			if o, ok := old.(section); ok {
				made[name] = merge(o, v)
				continue
			}
		case []any:
			if o, ok := old.([]any); ok {
				made[name] = slices.Concat(v, o)
				continue
			}
		case string:
			if v == "" && old != nil {
				continue
			}
		}
		made[name] = v
	}
	return made
}

// at returns a mapping inside, nil when there is none.
func (s section) at(name string) section {
	v, _ := s[name].(section)
	return v
}

// string returns a scalar inside, "" when there is none.
func (s section) string(name string) string {
	v, _ := s[name].(string)
	return v
}

// text is any value as the text of a setting: scalars as they are, the rest as JSON.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
