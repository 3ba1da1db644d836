package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

func writeJSON(b *bytes.Buffer, n node, _ string) error {
	n.json(b, "", "  ")
	b.WriteByte('\n')
	return nil
}

func writeYAML(b *bytes.Buffer, n node, _ string) error {
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	if err := encoder.Encode(n.yaml()); err != nil {
		return fmt.Errorf("encode as yaml: %w", err)
	}
	return encoder.Close()
}

func (n node) yaml() *yaml.Node {
	switch n.kind {
	case object:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for i, key := range n.keys {
			y.Content = append(y.Content, yamlString(key), n.items[i].yaml())
		}
		return y
	case list:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.items {
			y.Content = append(y.Content, item.yaml())
		}
		return y
	case scalar:
	}
	if n.isString() {
		return yamlString(n.plain())
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
}

// yamlString quotes what the library writes plain and other readers take for
// something else: the booleans and the base 60 numbers of YAML 1.1; and the lines
// whose first one hides how far they are indented.
func yamlString(text string) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	oldBool := slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(text))
	oldNumber := strings.Contains(text, ":") && strings.Trim(text, "+-0123456789_:.") == ""
	unprintable := Escape(text) != text && !strings.Contains(text, "\n")
	hidden := strings.Contains(text, "\n") && strings.ContainsAny(text[:1], "\t\n ")
	if oldBool || oldNumber || unprintable || hidden {
		y.Style = yaml.DoubleQuotedStyle
	}
	return y
}

// writeFlat prints one line per leaf, strings quoted as in json. An empty list
// or object is a leaf too.
func writeFlat(b *bytes.Buffer, n node, _ string) error {
	n.flat(b, "")
	return nil
}

func (n node) flat(b *bytes.Buffer, path string) {
	if n.kind == scalar || len(n.items) == 0 {
		if path == "" {
			path = "."
		}
		b.WriteString(path + " = ")
		n.compact(b)
		b.WriteByte('\n')
		return
	}
	for i, item := range n.items {
		switch {
		case n.kind == list:
			item.flat(b, fmt.Sprintf("%s[%d]", path, i))
		case path == "":
			item.flat(b, flatKey(n.keys[i]))
		default:
			item.flat(b, path+"."+flatKey(n.keys[i]))
		}
	}
}

// flatKey quotes a key that a path could not hold as it is.
func flatKey(key string) string {
	if key == "" || strings.ContainsAny(key, `.[]="' `) || Escape(key) != key {
		return quote(key)
	}
	return key
}

// writeTab prints a table of paths into the items of the data: of the list
// itself, or of the list in the field "items" of an object, else of the data.
func writeTab(b *bytes.Buffer, n node, spec string) error {
	var header []string
	var paths [][]string
	for column := range strings.SplitSeq(spec, ",") {
		name, path, ok := strings.Cut(column, ":")
		if !ok || name == "" || path == "" {
			return app.Usage("-o tab=%s: column %q: expected <header>:<path>", spec, column)
		}
		steps, err := splitPath(path)
		if err != nil {
			return app.Usage("-o tab=%s: path %q: %v", spec, path, err)
		}
		header, paths = append(header, name), append(paths, steps)
	}
	var rows [][]string
	for _, item := range n.rows() {
		row := make([]string, len(paths))
		for i, steps := range paths {
			row[i] = strings.Join(item.find(steps), ",")
		}
		rows = append(rows, row)
	}
	writeTable(b, header, rows)
	return nil
}

func (n node) rows() []node {
	if items, ok := n.child("items"); ok && items.kind == list {
		return items.items
	}
	if n.kind == list {
		return n.items
	}
	return []node{n}
}
