package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Schema returns the JSON Schema of bootstrap.toml, for editors.
func Schema() []byte {
	top := &table{}
	(&File{}).keys(top)
	s := top.schema()
	s.Dialect = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "bootstrap.toml"
	s.Description = "The management cluster of a site and how it is made."
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	// A schema is made of texts, lists and maps: it always encodes.
	_ = encoder.Encode(s)
	return b.Bytes()
}

type jsonSchema struct {
	Dialect     string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        string                 `json:"type"`
	Enum        []string               `json:"enum,omitempty"`
	Pattern     string                 `json:"pattern,omitempty"`
	MinLength   int                    `json:"minLength,omitempty"`
	MinCount    int                    `json:"minProperties,omitempty"`
	Items       *jsonSchema            `json:"items,omitempty"`
	Properties  map[string]*jsonSchema `json:"properties,omitempty"`
	// Others is what keys of any name hold: a schema, or false.
	Others   any      `json:"additionalProperties,omitempty"`
	Required []string `json:"required,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

func (t *table) schema() *jsonSchema {
	s := &jsonSchema{Type: "object", Properties: map[string]*jsonSchema{}, Others: false}
	for _, k := range t.keys {
		s.Properties[k.name] = k.schema()
		if k.required {
			s.Required = append(s.Required, k.name)
		}
	}
	return s
}

func (k *key) schema() *jsonSchema {
	doc := strings.ReplaceAll(k.doc, "`", "")
	s := &jsonSchema{Type: "string", Enum: k.enum, Pattern: k.pattern}
	switch k.shape {
	case shapeText, shapeDuration:
		if k.required {
			s.MinLength = 1
		}
		if k.example != "" {
			s.Examples = []string{k.example}
		}
	case shapeBool:
		s.Type = "boolean"
	case shapeList:
		s.Type, s.Items = "array", &jsonSchema{Type: "string", MinLength: 1}
	case shapeTextMap:
		s.Type, s.Others = "object", &jsonSchema{Type: "string"}
	case shapeTable:
		s = k.describe().schema()
	case shapeTables:
		s.Type, s.Items = "array", k.describe().schema()
	case shapeTableMap:
		s.Type, s.Others, s.MinCount = "object", k.describe().schema(), 1
	}
	s.Description = doc
	return s
}

// Reference returns the reference page: every key and every variable.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration of krops-bootstrap

Generated from the declarations in ` + "`internal/krops/config`" + `. ` + "`krops-bootstrap config lint`" + ` checks a file,
[bootstrap.schema.json](bootstrap.schema.json) lets an editor do it.

A variable wins over the file, the file over what is built in. For the environment alone, ` + "`KROPS_PROFILE`" + ` wins over the
argument, and the argument over the file. Unknown keys are errors.

## bootstrap.toml

The directory of the file is the root of the repository: the files it names are below it.
`)
	top := &table{}
	(&File{}).keys(top)
	top.page(&b, "")
	b.WriteString(`
## Variables

Unset and empty are the same. A switch is on with ` + "`1`" + ` and nothing else. A duration is digits with ` + "`h`, `m`, `s`" + ` or nothing,
which means seconds. Each command reads its own variables only: a wrong ` + "`REGISTRY_PORT`" + ` breaks no teardown.

| Variable | Read by | Without it | |
|---|---|---|---|
`)
	v := &variables{}
	(&Settings{}).variables(v)
	for _, d := range v.list {
		doc := d.doc
		if d.secret {
			doc += " Never shown."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.name, d.readers(), d.preset, doc)
	}
	return b.String()
}

func (d *variable) readers() string {
	var verbs []string
	for _, verb := range []Verb{VerbBootstrap, VerbPivot, VerbTeardown, VerbOrphans} {
		if d.readBy(verb) {
			verbs = append(verbs, string(verb))
		}
	}
	return strings.Join(verbs, ", ")
}

// page writes a table and the tables below it.
func (t *table) page(b *strings.Builder, name string) {
	if name != "" {
		b.WriteString("\n| Key | Type | Without it | |\n|---|---|---|---|\n")
	}
	var below []*key
	for _, k := range t.keys {
		if k.describe != nil || name == "" {
			below = append(below, k)
			continue
		}
		preset := k.preset
		if k.required {
			preset = "required"
		}
		doc := k.doc
		if k.example != "" && len(k.enum) == 0 {
			doc += " Example: `" + k.example + "`."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, k.typeName(), preset, doc)
	}
	for _, k := range below {
		title := k.name
		if name != "" {
			title = name + "." + k.name
		}
		sub := title
		switch k.shape {
		case shapeTables:
			title = "[[" + title + "]]"
		case shapeTableMap:
			sub += ".<name>"
			title = "[" + sub + "]"
		case shapeText, shapeDuration, shapeBool, shapeList, shapeTextMap, shapeTable:
			title = "[" + title + "]"
		}
		doc := k.doc
		if k.required {
			doc += " Required."
		}
		fmt.Fprintf(b, "\n### `%s`\n\n%s\n", title, doc)
		if k.describe != nil {
			k.describe().page(b, sub)
		}
	}
}

func (k *key) typeName() string {
	switch k.shape {
	case shapeText:
		if len(k.enum) > 0 {
			return strings.Join(k.enum, ", ")
		}
		return "string"
	case shapeDuration:
		return "duration"
	case shapeBool:
		return "boolean"
	case shapeList:
		return "strings"
	case shapeTextMap:
		return "strings by name"
	case shapeTable, shapeTables, shapeTableMap:
		return "table"
	}
	return ""
}

// Keys returns the names of all keys of a bootstrap.toml.
func Keys() []string {
	top := &table{}
	(&File{}).keys(top)
	return top.names()
}

func (t *table) names() []string {
	var names []string
	for _, k := range t.keys {
		names = append(names, k.name)
		if k.describe != nil {
			names = append(names, k.describe().names()...)
		}
	}
	return names
}
