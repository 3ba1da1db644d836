package command

import (
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// formatterFlags are the flags that come with the output of a command.
func formatterFlags(cmd *Command) []Flag {
	return append(formatterOnly(cmd), watchFlags(cmd)...)
}

// watchFlags are those of a command that can be repeated.
func watchFlags(cmd *Command) []Flag {
	if cmd.NoWatch || cmd.Output != Listed && cmd.Output != Shown {
		return nil
	}
	return []Flag{
		{Name: "watch", Short: "w", Value: "<interval>", Optional: "2s", Attached: true, Koc: true, Help: "Repeat the command in place; q ends it, ? shows the keys."},
		{Name: "watch-diff", Koc: true, Default: "true", Help: "Highlight what changed; --watch-diff=false does not."},
		{Name: "watch-count", Value: "<count>", Type: Natural, Koc: true, Help: "End after so many refreshes, failures included."},
		{Name: "watch-errors", Value: "<what>", Choices: []string{"tolerate", "exit"}, Default: "tolerate", Koc: true, Help: "Go on or end when a refresh fails."},
		{Name: "watch-until-change", Koc: true, Help: "End at the first refresh that differs."},
		{Name: "watch-compact", Koc: true, Help: "Keep each row on one line, cells cut short."},
		{Name: "watch-plain", Koc: true, Help: "Append one snapshot after another instead of repainting."},
		{Name: "watch-no-title", Koc: true, Help: "Leave the status line out."},
	}
}

// formatterOnly are the flags of a command's output, those of cliff and ours.
func formatterOnly(cmd *Command) []Flag {
	if cmd.Output == None {
		return nil
	}
	formats := []string{"table", "json", "yaml", "value", "csv"}
	if cmd.Output != Listed {
		formats = append(formats, "shell")
	}
	flags := []Flag{
		{Name: "format", Short: "f", Value: "<format>", Choices: formats, Default: "table", Help: "Print in this format."},
		{Name: "column", Short: "c", Value: "<column>", Repeat: true, Help: "Print this column; repeat for more."},
	}
	if cmd.Output == Listed {
		flags = append(flags,
			Flag{Name: "sort-column", Value: "<column>", Repeat: true, Help: "Sort by this column; repeat for ties."},
			Flag{Name: "sort-ascending", Help: "Sort from low to high, as is the default."},
			Flag{Name: "sort-descending", Help: "Sort from high to low."},
			Flag{Name: "quote", Value: "<when>", Choices: []string{"all", "minimal", "none", "nonnumeric"}, Help: "Quote these cells of csv."},
		)
	} else {
		flags = append(flags,
			Flag{Name: "variable", Value: "<column>", Repeat: true, Hidden: true, Help: "Print this variable, with -f shell."},
			Flag{Name: "prefix", Value: "<text>", Help: "Put this before each name, with -f shell."},
		)
	}
	return append(flags,
		Flag{Name: "max-width", Value: "<columns>", Type: Int, Help: "Wrap tables at this width; 0 for no limit."},
		Flag{Name: "fit-width", Help: "Wrap tables at the width of the terminal."},
		Flag{Name: "print-empty", Help: "Print the head of a table without rows."},
		Flag{Name: "noindent", Help: "Print json on one line."},
		Flag{Name: "value-separator", Value: "<text>", Koc: true, Help: `Put this between cells of -f value; \t is a tab.`},
	)
}

// renderOptions translates the formatter flags and their environment.
func renderOptions(cmd *Command, v *Values, voice render.Voice, env func(string) string) render.Options {
	o := render.Options{Voice: voice}
	o.MaxWidth, _ = strconv.Atoi(env("CLIFF_MAX_TERM_WIDTH"))
	fit, _ := strconv.Atoi(env("CLIFF_FIT_WIDTH"))
	o.FitWidth = fit != 0
	o.TermWidth, _ = strconv.Atoi(env("COLUMNS"))
	if cmd.Output == None {
		return o
	}
	o.Format = v.Text("format")
	o.Columns = v.Texts("column")
	if v.Given("max-width") {
		o.MaxWidth = v.Int("max-width")
	}
	o.FitWidth = o.FitWidth || v.Is("fit-width")
	o.PrintEmpty = v.Is("print-empty")
	o.NoIndent = v.Is("noindent")
	o.Separator = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\0`, "\x00").Replace(v.Text("value-separator"))
	if cmd.Output == Listed {
		o.SortBy = v.Texts("sort-column")
		o.Descending = v.Is("sort-descending")
		o.Quote = v.Text("quote")
	} else {
		o.Variables = v.Texts("variable")
		o.Prefix = v.Text("prefix")
	}
	return o
}
