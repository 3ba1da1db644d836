// Package output turns rows into what -o asks for. A command declares its
// columns once, as typed functions, hands over its rows and never prints.
//
//	auto, table    aligned columns
//	wide           the same with the wide columns
//	json, yaml     the data, else the rows as objects
//	csv            a header and the rows, for spreadsheets
//	value          the bare values of the rows, tabs between, for scripts
//	flat           one line per leaf of the data: a.b[0].c = 1
//	tab=H:path,... a table made of paths into the data
//	template=...   a Go template over the data, also template-file=<file>
package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
)

// Column is one column of a listing of Ts.
type Column[T any] struct {
	Name  string      // header in a table, key in json
	Value func(T) any // what [Text] knows how to write
	Wide  bool        // in a table only when it is asked to be wide
}

// Formats lists the values Write accepts as format, for help and completion.
func Formats() []string {
	return []string{"auto", "table", "wide", "json", "yaml", "csv", "value", "flat", "tab=", "template=", "template-file="}
}

// Write prints rows, or data when the format shows structure: json, yaml, flat,
// tab and template. Without data these show the rows as objects, whose fields
// are the columns. Nothing is printed when an error is returned, unless the
// stream itself fails.
func Write[T any](s *iostreams.Streams, format string, columns []Column[T], rows []T, data any) error {
	var b bytes.Buffer
	if err := render(&b, format, columns, rows, data); err != nil {
		return err
	}
	_, err := io.Copy(s.Out, &b)
	return err
}

// Stream prints items as they come: [Write] for each, with one header, json on
// one line each, and yaml as documents. The zero value is not ready: give the
// streams, the format and the columns.
type Stream[T any] struct {
	Streams *iostreams.Streams
	Format  string
	Columns []Column[T]

	began bool
}

// Write prints the next item. data is what the structured formats show.
func (w *Stream[T]) Write(item T, data any) error {
	var b bytes.Buffer
	name, _, _ := strings.Cut(w.Format, "=")
	switch name {
	case "json":
		n, err := toTree(data)
		if err != nil {
			return err
		}
		n.compact(&b)
		b.WriteByte('\n')
	case "yaml":
		b.WriteString("---\n")
		fallthrough
	default:
		if err := render(&b, w.Format, w.Columns, []T{item}, data); err != nil {
			return err
		}
	}
	if w.began && slices.Contains([]string{"", "auto", "table", "wide", "csv", "tab"}, name) {
		_, _ = b.ReadBytes('\n') // the header
	}
	w.began = true
	_, err := io.Copy(w.Streams.Out, &b)
	return err
}

func render[T any](b *bytes.Buffer, format string, columns []Column[T], rows []T, data any) error {
	name, arg, hasArg := strings.Cut(format, "=")
	switch {
	case !hasArg:
		switch name {
		case "", "auto", "table":
			writeTable(b, headers(columns, false), cells(columns, rows, false))
			return nil
		case "wide":
			writeTable(b, headers(columns, true), cells(columns, rows, true))
			return nil
		case "csv":
			return writeCSV(b, columns, rows)
		case "value":
			writeValues(b, columns, rows)
			return nil
		}
	case name == "tab" || name == "template" || name == "template-file":
		if arg == "" {
			return app.Usage("-o %s: nothing after the equal sign", format)
		}
	}
	if write := structured(name, hasArg); write != nil {
		tree, err := treeOf(columns, rows, data)
		if err != nil {
			return err
		}
		return write(b, tree, arg)
	}
	return app.Usage("-o %s: unknown output format; expected one of %s", format, strings.Join(Formats(), ", "))
}

// structured returns the writer of a format that shows structure.
func structured(name string, hasArg bool) func(*bytes.Buffer, node, string) error {
	switch {
	case name == "json" && !hasArg:
		return writeJSON
	case name == "yaml" && !hasArg:
		return writeYAML
	case name == "flat" && !hasArg:
		return writeFlat
	case name == "tab" && hasArg:
		return writeTab
	case name == "template" && hasArg:
		return writeTemplate
	case name == "template-file" && hasArg:
		return writeTemplateFile
	}
	return nil
}

func treeOf[T any](columns []Column[T], rows []T, data any) (node, error) {
	if data != nil {
		return toTree(data)
	}
	all := node{kind: list, items: make([]node, 0, len(rows))}
	for _, row := range rows {
		entry := node{kind: object}
		for _, c := range columns {
			value, err := toTree(c.Value(row))
			if err != nil {
				return node{}, fmt.Errorf("column %s: %w", c.Name, err)
			}
			entry.keys = append(entry.keys, c.Name)
			entry.items = append(entry.items, value)
		}
		all.items = append(all.items, entry)
	}
	return all, nil
}

func shown[T any](columns []Column[T], wide bool) []Column[T] {
	var list []Column[T]
	for _, c := range columns {
		if wide || !c.Wide {
			list = append(list, c)
		}
	}
	return list
}

func headers[T any](columns []Column[T], wide bool) []string {
	var names []string
	for _, c := range shown(columns, wide) {
		names = append(names, c.Name)
	}
	return names
}

func cells[T any](columns []Column[T], rows []T, wide bool) [][]string {
	list := shown(columns, wide)
	lines := make([][]string, len(rows))
	for i, row := range rows {
		lines[i] = make([]string, len(list))
		for j, c := range list {
			lines[i][j] = Text(c.Value(row))
		}
	}
	return lines
}
