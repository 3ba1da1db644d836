package sops

import (
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A walk decrypts documents in place and adds up their MAC. The order of values
// and comments is that of SOPS: the MAC depends on it, and rules about comments do.
type walk struct {
	*metadata

	key []byte
	mac hash.Hash

	path     []string   // the keys above, those of lists have none
	comments [][]string // that stand before the value, for each level
}

func (w *walk) document(d *yaml.Node) error {
	return w.level(func() error {
		content := d.Content[0]
		if err := w.notes(&d.HeadComment, &d.LineComment, &content.HeadComment, &content.LineComment); err != nil {
			return err
		}
		if err := w.mapping(content); err != nil {
			return err
		}
		return w.notes(&content.FootComment, &d.FootComment)
	})
}

// level walks what is one level deeper: comments before it still count, those
// inside end with it.
func (w *walk) level(inside func() error) error {
	w.comments = append(w.comments, nil)
	err := inside()
	w.comments = w.comments[:len(w.comments)-1]
	return err
}

func (w *walk) mapping(node *yaml.Node) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Kind != yaml.ScalarNode || name.ShortTag() != "!!str" {
			return fmt.Errorf("line %d: a key of %s is no text", name.Line, w.at())
		}
		if seen[name.Value] {
			return fmt.Errorf("line %d: the key %s is there twice", name.Line, name.Value)
		}
		seen[name.Value] = true
		leaf := value.Kind == yaml.ScalarNode
		before, after := []*string{&name.HeadComment, &name.LineComment}, []*string{&name.FootComment}
		if leaf {
			before = append(before, &value.HeadComment, &value.LineComment)
			after = []*string{&value.FootComment, &name.FootComment}
		}
		if err := w.notes(before...); err != nil {
			return err
		}
		w.path = append(w.path, name.Value)
		err := w.value(value, leaf)
		w.path = w.path[:len(w.path)-1]
		if err != nil {
			return err
		}
		w.past()
		if err := w.notes(after...); err != nil {
			return err
		}
	}
	return nil
}

// sequence walks a list. SOPS makes items of its comments when it encrypts them:
// they become comments again.
func (w *walk) sequence(node *yaml.Node) error {
	var items []*yaml.Node
	var pending []string
	for _, item := range node.Content {
		if err := w.notes(&item.HeadComment, &item.LineComment); err != nil {
			return err
		}
		err := w.value(item, true)
		note, isNote := errors.AsType[*commentError](err)
		switch {
		case isNote && item.Kind == yaml.ScalarNode:
			pending = append(pending, "#"+note.text)
		case err != nil:
			return err
		default:
			item.HeadComment = strings.TrimPrefix(item.HeadComment+"\n"+strings.Join(pending, "\n"), "\n")
			items, pending = append(items, item), nil
		}
		w.past()
		if err := w.notes(&item.FootComment); err != nil {
			return err
		}
	}
	node.Content = items
	last := node
	if len(items) > 0 {
		last = items[len(items)-1]
	}
	last.FootComment = strings.TrimPrefix(last.FootComment+"\n"+strings.Join(pending, "\n"), "\n")
	return nil
}

// commentError tells that a scalar stands for a comment.
type commentError struct{ text string }

func (*commentError) Error() string { return "it is a comment, where a value should be" }

// past forgets the comments that stood before a value.
func (w *walk) past() { w.comments[len(w.comments)-1] = nil }

// value walks a value; noted tells that its comments belong to the level above.
func (w *walk) value(node *yaml.Node, noted bool) error {
	var inside func(*yaml.Node) error
	switch node.Kind {
	case yaml.ScalarNode:
		return w.scalar(node)
	case yaml.MappingNode:
		inside = w.mapping
	case yaml.SequenceNode:
		inside = w.sequence
	case yaml.AliasNode, yaml.DocumentNode:
		// SOPS writes out what an alias stands for.
		return fmt.Errorf("line %d: %s is an alias: encrypt the file with sops, which writes them out", node.Line, w.at())
	}
	return w.level(func() error {
		if noted {
			return inside(node)
		}
		if err := w.notes(&node.HeadComment, &node.LineComment); err != nil {
			return err
		}
		if err := inside(node); err != nil {
			return err
		}
		return w.notes(&node.FootComment)
	})
}

func (w *walk) scalar(node *yaml.Node) error {
	var plain any
	if err := node.Decode(&plain); err != nil {
		return fmt.Errorf("line %d: %s makes no sense", node.Line, w.at())
	}
	if plain == nil {
		return nil // SOPS leaves it out
	}
	encrypted := w.rule.encrypts(w.path, w.comments, false)
	if text, isText := plain.(string); encrypted && text != "" {
		found, err := open(text, w.key, w.additional())
		switch {
		case err == nil && found.kind == "comment" && !strings.ContainsAny(string(found.data), "\r\n"):
			return fmt.Errorf("line %d: %s: %w", node.Line, w.at(), &commentError{string(found.data)})
		case err == nil:
			plain, err = found.scalar()
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, w.at(), err)
		}
		if err := fill(node, plain); err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, w.at(), err)
		}
	} else if encrypted && !isText {
		return fmt.Errorf("line %d: %s: %w", node.Line, w.at(), errPlain)
	}
	if encrypted || !w.MACOnlyEncrypted {
		data, ok := digested(plain)
		if !ok {
			return fmt.Errorf("line %d: %s is of a type that is not in encrypted files", node.Line, w.at())
		}
		_, _ = w.mac.Write(data)
	}
	return nil
}

// fill puts a plain scalar into a node and leaves its comments.
func fill(node *yaml.Node, plain any) error {
	if text, ok := plain.(string); ok && strings.Contains(text, "\n") && utf8.ValidString(text) {
		// The library writes some texts as blocks that nobody can read again.
		node.Tag, node.Value, node.Style = "!!str", text, yaml.LiteralStyle
		if strings.ContainsAny(text[:1], " \t\n#") || strings.ContainsAny(text, "\t\r") {
			node.Style = yaml.DoubleQuotedStyle
		}
		return nil
	}
	var made yaml.Node
	if err := made.Encode(plain); err != nil {
		return errors.New("it cannot be written as YAML")
	}
	node.Tag, node.Value, node.Style = made.Tag, made.Value, made.Style
	return nil
}

// notes decrypts comments. One that cannot be is one that never was encrypted;
// comments are in no MAC.
func (w *walk) notes(texts ...*string) error {
	for _, text := range texts {
		if *text == "" {
			continue
		}
		lines := strings.Split(*text, "\n")
		for i, line := range lines {
			note, ok := strings.CutPrefix(line, "#")
			if !ok {
				continue
			}
			top := len(w.comments) - 1
			w.comments[top] = append(slices.Clip(w.comments[top]), note)
			if !w.rule.encrypts(w.path, w.comments, true) {
				continue
			}
			found, err := open(note, w.key, w.additional())
			if err != nil {
				continue
			}
			if strings.ContainsAny(string(found.data), "\r\n") {
				return fmt.Errorf("a comment of %s has more than one line", w.at())
			}
			lines[i] = "#" + string(found.data)
			if found.kind != "comment" {
				_, _ = w.mac.Write(found.data)
			}
		}
		*text = strings.Join(lines, "\n")
	}
	return nil
}

// additional is the additional data of a value: its path.
func (w *walk) additional() string { return strings.Join(w.path, ":") + ":" }

// at names where the walk is.
func (w *walk) at() string {
	if len(w.path) == 0 {
		return "the document"
	}
	return strings.Join(w.path, ".")
}
