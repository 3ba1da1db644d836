package output

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
)

// writeTemplate executes a Go template over the data, whose fields have the
// names they have in json. A field that is missing reads as nothing.
func writeTemplate(b *bytes.Buffer, n node, text string) error {
	t, err := template.New("template").Funcs(templateFuncs()).Parse(text)
	if err != nil {
		return app.Usage("-o template: %v", err)
	}
	if err := t.Execute(b, n.value()); err != nil {
		return fmt.Errorf("execute the template: %w", err)
	}
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte{'\n'}) {
		b.WriteByte('\n')
	}
	return nil
}

func writeTemplateFile(b *bytes.Buffer, n node, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	return writeTemplate(b, n, string(text))
}

func templateFuncs() template.FuncMap {
	return template.FuncMap{
		"eq":        anyEqual,
		"ne":        func(a, b any) bool { return !equal(a, b) },
		"lt":        func(a, b any) bool { return ordered(a, b, func(order int) bool { return order < 0 }) },
		"le":        func(a, b any) bool { return ordered(a, b, func(order int) bool { return order <= 0 }) },
		"gt":        func(a, b any) bool { return ordered(a, b, func(order int) bool { return order > 0 }) },
		"ge":        func(a, b any) bool { return ordered(a, b, func(order int) bool { return order >= 0 }) },
		"hasPrefix": strings.HasPrefix,
		"hasSuffix": strings.HasSuffix,
		"contains":  strings.Contains,
		"replace":   func(from, to, s string) string { return strings.ReplaceAll(s, from, to) },
		"split":     func(sep, s string) []string { return strings.Split(s, sep) },
		"join":      joinItems,
		"upper":     strings.ToUpper,
		"lower":     strings.ToLower,
		"trim":      strings.TrimSpace,
		"default": func(fallback, v any) any {
			if Text(v) == "" {
				return fallback
			}
			return v
		},
		"json": func(v any) (string, error) {
			n, err := toTree(v)
			return n.compactString(), err
		},
	}
}

// joinItems puts sep between the items of a list.
func joinItems(sep string, list any) (string, error) {
	n, err := toTree(list)
	if err != nil {
		return "", err
	}
	return strings.Join(n.find([]string{anyStep}), sep), nil
}

func (n node) compactString() string {
	var b bytes.Buffer
	n.compact(&b)
	return b.String()
}
