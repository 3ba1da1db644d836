package render_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// goldenCase is a case of testdata/golden.py: what cliff printed for some rows.
type goldenCase struct {
	Format     string
	Show       bool
	Titles     []string
	Rows       [][]json.RawMessage
	Columns    []string
	Sort       []string
	Descending bool
	MaxWidth   int  `json:"max_width"`
	PrintEmpty bool `json:"print_empty"`
	Quote      string
	NoIndent   bool
	Variables  []string
	Prefix     string

	Want  *string
	Error string
}

func TestTheOpenStackVoiceIsCliffToTheByte(t *testing.T) {
	t.Parallel()
	// golden.py gives as many more cases as one likes; any golden*.jsonl is run.
	names, err := filepath.Glob("testdata/golden*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			golden(t, name)
		})
	}
}

func golden(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out, err := c.run(t)
		switch {
		case c.Want == nil && c.Error == "single empty field record must be quoted":
			// A limit of Python's csv; we write an empty line.
		case c.Want == nil && (err == nil || err.Error() != c.Error):
			t.Errorf("line %d: %v, want %s", n, err, c.Error)
		case c.Want == nil:
		case err != nil:
			t.Errorf("line %d: %v", n, err)
		case out != *c.Want:
			t.Errorf("line %d, %s:\n%s\ngot\n%s\nwant\n%s\n%s", n, c.Format, lines.Text(), out, *c.Want, cmp.Diff(*c.Want, out))
		}
	}
	if err := lines.Err(); err != nil || n < 100 {
		t.Errorf("%d cases, %v", n, err)
	}
}

func (c goldenCase) run(t *testing.T) (string, error) {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	o := render.Options{
		Voice: render.OpenStack, Format: c.Format, Columns: c.Columns, SortBy: c.Sort, Descending: c.Descending,
		MaxWidth: c.MaxWidth, PrintEmpty: c.PrintEmpty, Quote: c.Quote, NoIndent: c.NoIndent,
		Variables: c.Variables, Prefix: c.Prefix,
	}
	rows := make([][]any, len(c.Rows))
	for i, row := range c.Rows {
		for _, raw := range row {
			rows[i] = append(rows[i], cellOf(t, raw))
		}
	}
	if !c.Show {
		err := render.List(s, o, titled(c.Titles...), render.Rows(rows))
		return out.String(), err
	}
	fields := make([]render.Field, len(c.Titles))
	for i, title := range c.Titles {
		fields[i] = render.Field{Name: title, Value: rows[0][i]}
	}
	err := render.Show(s, o, fields)
	return out.String(), err
}

// cellOf makes a cell of the JSON of a case.
func cellOf(t *testing.T, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := ordered(d)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v.(render.Ordered)
	if !ok || len(m) != 2 || m[0].Name != "cell" {
		return v
	}
	of := m[1].Value
	switch m[0].Value {
	case "list":
		return render.ListCell(of)
	case "dict":
		return render.DictCell(of)
	case "dictlist":
		return render.DictListCell(of)
	case "listdict":
		return render.ListDictCell(of)
	case "size":
		return render.SizeCell(of)
	}
	return render.UpDownCell(of)
}

// ordered reads a value, the order of dictionaries kept.
func ordered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := ordered(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		m := render.Ordered{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := ordered(d)
			if err != nil {
				return nil, err
			}
			m = append(m, render.Field{Name: fmt.Sprint(key), Value: v})
		}
		_, err = d.Token()
		return m, err
	}
	if token == io.EOF {
		return nil, io.EOF
	}
	return token, nil
}
