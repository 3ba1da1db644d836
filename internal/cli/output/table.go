package output

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// gap separates the columns of a table.
const gap = "  "

// writeTable aligns cells below their headers. No line ends with blanks.
func writeTable(b *bytes.Buffer, header []string, rows [][]string) {
	lines := make([][]string, 0, len(rows)+1)
	upper := make([]string, len(header))
	for i, name := range header {
		upper[i] = Escape(strings.ToUpper(name))
	}
	lines = append(lines, upper)
	for _, row := range rows {
		escaped := make([]string, len(row))
		for i, cell := range row {
			if cell == "" {
				cell = "-"
			}
			escaped[i] = Escape(cell)
		}
		lines = append(lines, escaped)
	}
	Align(b, lines)
}

// Align writes lines of cells in columns, two blanks apart, for tables that
// are not listings. Cells are written as they are.
func Align(b *bytes.Buffer, lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	var text strings.Builder
	for _, line := range lines {
		text.Reset()
		for i, cell := range line {
			text.WriteString(cell)
			if i < len(line)-1 {
				text.WriteString(strings.Repeat(" ", widths[i]-Width(cell)) + gap)
			}
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
		b.WriteByte('\n')
	}
}

// Width is how many columns a text takes on a terminal, colours not counted.
func Width(text string) int {
	return displaywidth.Options{ControlSequences: true}.String(text)
}

func writeCSV[T any](b *bytes.Buffer, columns []Column[T], rows []T) error {
	w := csv.NewWriter(b)
	if err := w.Write(headers(columns, true)); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	if err := w.WriteAll(cells(columns, rows, true)); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// writeValues prints one row a line, tabs between the values. Tabs and line
// ends within a value are escaped, so that a line has always the same fields.
func writeValues[T any](b *bytes.Buffer, columns []Column[T], rows []T) {
	for _, row := range cells(columns, rows, false) {
		for i, cell := range row {
			row[i] = Escape(cell)
		}
		b.WriteString(strings.Join(row, "\t"))
		b.WriteByte('\n')
	}
}
