package render

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// The formats for scripts: value, csv and shell.

// lineText is the text of a cell in these formats.
func (o Options) lineText(v any) string {
	if o.Voice == OpenStack {
		return pythonStr(machine(v))
	}
	return Plain(ownText(v))
}

func (o Options) separator() string {
	switch {
	case o.Separator != "":
		return o.Separator
	case o.Voice == OpenStack:
		return " "
	}
	return "\t"
}

func (o Options) listValue(w *writer, sel *selection, rows iter.Seq2[[]any, error]) error {
	separator := o.separator()
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i := range sel.index {
			if i > 0 {
				w.text(separator)
			}
			w.text(o.lineText(sel.cell(row, i)))
		}
		w.text("\n")
		if !w.row() {
			return nil
		}
	}
	return nil
}

func (o Options) showValue(w *writer, fields []Field) {
	for _, f := range fields {
		w.text(o.lineText(f.Value))
		w.text("\n")
	}
}

func (o Options) listCSV(w *writer, sel *selection, rows iter.Seq2[[]any, error]) error {
	if !o.NoHeader {
		cells := make([]any, len(sel.titles))
		for i, title := range sel.titles {
			cells[i] = title
		}
		o.record(w, cells)
	}
	cells := make([]any, len(sel.index))
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i := range cells {
			cells[i] = sel.cell(row, i)
		}
		if o.record(w, cells); !w.row() {
			return nil
		}
	}
	return nil
}

func (o Options) showCSV(w *writer, fields []Field) {
	if !o.NoHeader {
		o.record(w, []any{"Field", "Value"})
	}
	for _, f := range fields {
		o.record(w, []any{f.Name, f.Value})
	}
}

// record prints one csv record.
func (o Options) record(w *writer, cells []any) {
	quote := o.Quote
	if quote == "" {
		quote = "minimal"
		if o.Voice == OpenStack {
			quote = "nonnumeric"
		}
	}
	for i, cell := range cells {
		if i > 0 {
			w.text(",")
		}
		text := o.lineText(cell)
		if o.Voice == OpenStack && cell == nil {
			text = ""
		}
		switch {
		case quote == "none":
			o.bare(w, text)
		case quote == "all", quote == "nonnumeric" && !countable(cell), o.needsQuotes(text):
			o.quoted(w, text)
		case text == "" && len(cells) == 1: // an empty line would be no record at all
			o.quoted(w, text)
		default:
			o.unquoted(w, text)
		}
	}
	w.text("\n")
}

// countable reports whether Python would count with the value.
func countable(v any) bool {
	_, boolean := v.(bool)
	return boolean || isNumber(v)
}

// needsQuotes reports whether a field has characters that only quotes can hold.
func (o Options) needsQuotes(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case ',', '"', '\n':
			return true
		case '\r':
			if o.Voice == Own {
				return true
			}
		}
	}
	return false
}

func (o Options) quoted(w *writer, text string) {
	w.text(`"`)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			w.buf = append(w.buf, '"', '"')
		case c == '\\' && o.Voice == OpenStack:
			w.buf = append(w.buf, '\\', '\\')
		default:
			w.buf = append(w.buf, c)
		}
	}
	w.text(`"`)
}

func (o Options) unquoted(w *writer, text string) {
	if o.Voice == OpenStack && strings.IndexByte(text, '\\') >= 0 {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	w.text(text)
}

// bare prints a field of a csv without quotes.
func (o Options) bare(w *writer, text string) {
	for i := range len(text) {
		if strings.IndexByte(",\"\n\\", text[i]) >= 0 {
			w.buf = append(w.buf, '\\')
		}
		w.buf = append(w.buf, text[i])
	}
}

// variable is the name of a field in the shell format.
func (o Options) variable(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "_")
}

func (o Options) showShell(w *writer, fields []Field) {
	for _, f := range fields {
		name := o.variable(f.Name)
		if len(o.Variables) > 0 && !o.names(o.Variables, name) {
			continue
		}
		w.text(o.Prefix)
		if o.Voice == OpenStack {
			w.text(strings.NewReplacer(":", "_", "-", "_").Replace(name))
			w.text(`="`)
			text := pythonStr(machine(f.Value))
			if isCell(f.Value) || isText(f.Value) {
				text = strings.ReplaceAll(text, `"`, `\"`)
			}
			w.text(text)
		} else {
			w.text(identifier(name, o.Prefix == ""))
			w.text(`="`)
			// A value must stay one when a shell reads it.
			w.text(strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(o.lineText(f.Value)))
		}
		w.text("\"\n")
	}
}

func isCell(v any) bool {
	switch v.(type) {
	case Cell, *Cell, Painted:
		return true
	}
	return false
}

func isText(v any) bool {
	switch v.(type) {
	case string, Stamp:
		return true
	}
	return false
}

// identifier replaces what a variable cannot have in its name.
func identifier(name string, first bool) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r >= '0' && r <= '9':
			if i == 0 && first {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		case r < utf8.RuneSelf && (r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
