package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// kind is what a node of a tree is.
type kind int

const (
	scalar kind = iota // null, bool, number or string: its json in text
	list
	object
)

// node is a value as json shows it, the order of its fields kept.
type node struct {
	kind  kind
	text  string   // scalar
	keys  []string // object
	items []node   // list and object
}

// toTree passes a value through its json form, so that every format agrees on
// names, omissions and order.
func toTree(v any) (node, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return node{}, fmt.Errorf("encode as json: %w", err)
	}
	decoder := json.NewDecoder(&b)
	decoder.UseNumber()
	return readNode(decoder)
}

func readNode(d *json.Decoder) (node, error) {
	token, err := d.Token()
	if err != nil {
		return node{}, fmt.Errorf("read json: %w", err)
	}
	switch token {
	case json.Delim('{'):
		n := node{kind: object}
		for d.More() {
			key, err := readNode(d)
			if err != nil {
				return node{}, err
			}
			value, err := readNode(d)
			if err != nil {
				return node{}, err
			}
			n.keys = append(n.keys, key.plain())
			n.items = append(n.items, value)
		}
		_, err := d.Token()
		return n, err
	case json.Delim('['):
		n := node{kind: list}
		for d.More() {
			item, err := readNode(d)
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, item)
		}
		_, err := d.Token()
		return n, err
	}
	return node{text: scalarText(token)}, nil
}

func scalarText(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		return quote(v)
	default: // a bool or a json.Number
		return fmt.Sprint(v)
	}
}

func quote(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil { // a string always encodes
		return strconv.Quote(s)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// plain is a scalar without quotes, a list or an object as json.
func (n node) plain() string {
	if n.kind != scalar {
		var b bytes.Buffer
		n.compact(&b)
		return b.String()
	}
	if n.isString() {
		var s string
		if json.Unmarshal([]byte(n.text), &s) == nil {
			return s
		}
	}
	if n.text == "null" {
		return ""
	}
	return n.text
}

func (n node) isString() bool { return n.kind == scalar && len(n.text) > 0 && n.text[0] == '"' }

// child returns the field of an object or the item of a list.
func (n node) child(step string) (node, bool) {
	switch n.kind {
	case object:
		for i, key := range n.keys {
			if key == step {
				return n.items[i], true
			}
		}
	case list:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
			return n.items[i], true
		}
	case scalar:
	}
	return node{}, false
}

// value is the node as templates see it: maps, slices, strings, bools, int64
// when the number is whole, else float64.
func (n node) value() any {
	switch n.kind {
	case object:
		m := make(map[string]any, len(n.keys))
		for i, key := range n.keys {
			m[key] = n.items[i].value()
		}
		return m
	case list:
		values := make([]any, len(n.items))
		for i, item := range n.items {
			values[i] = item.value()
		}
		return values
	case scalar:
	}
	switch {
	case n.isString():
		return n.plain()
	case n.text == "null":
		return nil
	case n.text == "true" || n.text == "false":
		return n.text == "true"
	}
	if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(n.text, 64) // out of range: an infinity
	return f
}

// compact writes json without blanks.
func (n node) compact(w io.Writer) { n.json(w, "", "") }

// json writes json, on one line when the indent is empty.
func (n node) json(w io.Writer, prefix, indent string) {
	opening, closing := "[", "]"
	switch n.kind {
	case scalar:
		_, _ = io.WriteString(w, n.text)
		return
	case object:
		opening, closing = "{", "}"
	case list:
	}
	newline, colon := "", ":"
	if indent != "" && len(n.items) > 0 {
		newline, colon = "\n"+prefix, ": "
	}
	_, _ = io.WriteString(w, opening)
	for i, item := range n.items {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		if newline != "" {
			_, _ = io.WriteString(w, newline+indent)
		}
		if n.kind == object {
			_, _ = io.WriteString(w, quote(n.keys[i])+colon)
		}
		item.json(w, prefix+indent, indent)
	}
	_, _ = io.WriteString(w, newline+closing)
}
