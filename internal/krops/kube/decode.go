package kube

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Decode reads the objects of a manifest: documents of YAML or JSON, lists taken
// apart. An error names the document and its first line.
func Decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for i, d := range documents(manifest) {
		found, err := d.objects()
		if err != nil {
			return nil, fmt.Errorf("document %d, line %d: %w", i+1, d.line, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// document is one of a stream of them.
type document struct {
	line int // of its first text, from 1
	text []byte
}

// documents splits a stream at the lines that begin with ---. A document without
// text is none.
func documents(stream []byte) []document {
	var found []document
	var text []byte
	first := 0
	end := func() {
		if first > 0 {
			found = append(found, document{first, text})
		}
		text, first = nil, 0
	}
	number := 0
	for line := range bytes.Lines(stream) {
		number++
		if rest, ok := separator(line); ok {
			end()
			line = rest
		}
		text = append(text, line...)
		if trimmed := bytes.TrimSpace(line); first == 0 && len(trimmed) > 0 && trimmed[0] != '#' {
			first = number
		}
	}
	end()
	return found
}

// separator tells whether a line begins a document, and what of it is part of it.
func separator(line []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	if !ok || len(rest) > 0 && !strings.ContainsRune(" \t\r\n", rune(rest[0])) {
		return nil, false
	}
	return rest, true
}

func (d document) objects() ([]*unstructured.Unstructured, error) {
	json, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, err
	}
	var content any
	if err := utiljson.Unmarshal(json, &content); err != nil {
		return nil, err
	}
	switch content := content.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return flat(content, 0)
	}
	return nil, errNoObject
}

// flat returns the objects of a list, or the one that is none.
func flat(content map[string]any, depth int) ([]*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: content}
	items, isList := content["items"].([]any)
	if !isList || !strings.HasSuffix(u.GetKind(), "List") {
		return one(u)
	}
	if depth > 2 {
		return nil, errors.New("lists in lists in lists")
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("item %d: %w", i, errNoObject)
		}
		found, err := flat(content, depth+1)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func one(u *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if u.GetAPIVersion() == "" || u.GetKind() == "" || u.GetName() == "" {
		return nil, errNoObject
	}
	if _, err := schema.ParseGroupVersion(u.GetAPIVersion()); err != nil {
		return nil, fmt.Errorf("apiVersion %q is none", u.GetAPIVersion())
	}
	return []*unstructured.Unstructured{u}, nil
}
