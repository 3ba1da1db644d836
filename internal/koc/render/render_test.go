package render_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// printed is what a listing prints.
func printed(t *testing.T, o render.Options, columns []render.Column, rows [][]any) string {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	if err := render.List(s, o, columns, render.Rows(rows)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// shown is what one thing prints.
func shown(t *testing.T, o render.Options, fields []render.Field) string {
	t.Helper()
	s, _, out, _ := iostreams.Test()
	if err := render.Show(s, o, fields); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func titled(titles ...string) []render.Column {
	columns := make([]render.Column, len(titles))
	for i, title := range titles {
		columns[i].Title = title
	}
	return columns
}

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func servers() ([]render.Column, [][]any) {
	return titled("ID", "Name", "Size", "Up", "Networks", "Note"), [][]any{
		{"9b1c", "web", 20, true, render.DictListCell(map[string]any{"private": []any{"10.0.0.5", "10.0.0.4"}}), nil},
		{"07aa", "db", 5, false, render.DictListCell(nil), "a,b"},
	}
}

func TestAListingInBothVoices(t *testing.T) {
	t.Parallel()
	columns, rows := servers()
	for _, c := range []struct {
		voice  render.Voice
		format string
		want   string
	}{
		{render.Own, "table", lines(
			"+------+------+------+-------+----------------------------+------+",
			"| ID   | Name | Size | Up    | Networks                   | Note |",
			"+------+------+------+-------+----------------------------+------+",
			"| 9b1c | web  |   20 | true  | private=10.0.0.4, 10.0.0.5 |      |",
			"| 07aa | db   |    5 | false |                            | a,b  |",
			"+------+------+------+-------+----------------------------+------+")},
		{render.OpenStack, "", lines(
			"+------+------+------+-------+----------------------------+------+",
			"| ID   | Name | Size | Up    | Networks                   | Note |",
			"+------+------+------+-------+----------------------------+------+",
			"| 9b1c | web  |   20 | True  | private=10.0.0.4, 10.0.0.5 | None |",
			"| 07aa | db   |    5 | False | None                       | a,b  |",
			"+------+------+------+-------+----------------------------+------+")},
		{render.Own, "value", lines(
			"9b1c\tweb\t20\ttrue\tprivate=10.0.0.4, 10.0.0.5\t",
			"07aa\tdb\t5\tfalse\t\ta,b")},
		{render.OpenStack, "value", lines(
			"9b1c web 20 True {'private': ['10.0.0.5', '10.0.0.4']} None",
			"07aa db 5 False {} a,b")},
		{render.Own, "csv", lines(
			"ID,Name,Size,Up,Networks,Note",
			`9b1c,web,20,true,"private=10.0.0.4, 10.0.0.5",`,
			`07aa,db,5,false,,"a,b"`)},
		{render.OpenStack, "csv", lines(
			`"ID","Name","Size","Up","Networks","Note"`,
			`"9b1c","web",20,True,"{'private': ['10.0.0.5', '10.0.0.4']}",""`,
			`"07aa","db",5,False,"{}","a,b"`)},
		{render.Own, "json", lines(
			"[", "  {",
			`    "ID": "9b1c",`, `    "Name": "web",`, `    "Size": 20,`, `    "Up": true,`,
			`    "Networks": "private=10.0.0.4, 10.0.0.5",`, `    "Note": null`,
			"  },", "  {",
			`    "ID": "07aa",`, `    "Name": "db",`, `    "Size": 5,`, `    "Up": false,`,
			`    "Networks": null,`, `    "Note": "a,b"`,
			"  }", "]")},
		{render.OpenStack, "yaml", lines(
			"- ID: 9b1c", "  Name: web", "  Networks:", "    private:", "    - 10.0.0.5", "    - 10.0.0.4",
			"  Note: null", "  Size: 20", "  Up: true",
			"- ID: 07aa", "  Name: db", "  Networks: {}", "  Note: a,b", "  Size: 5", "  Up: false")},
		{render.Own, "yaml", lines(
			"- ID: 9b1c", "  Name: web", "  Size: 20", "  Up: true", "  Networks: private=10.0.0.4, 10.0.0.5", "  Note: null",
			"- ID: 07aa", "  Name: db", "  Size: 5", "  Up: false", "  Networks: null", "  Note: a,b")},
	} {
		got := printed(t, render.Options{Voice: c.voice, Format: c.format}, columns, rows)
		if got != c.want {
			t.Errorf("voice %d, %q:\n%s\nwant\n%s", c.voice, c.format, got, c.want)
		}
	}
}

func TestOneThingInBothVoices(t *testing.T) {
	t.Parallel()
	fields := []render.Field{
		{"id", "9b1c"},
		{"size", 20},
		{"OS-DCF:disk config", true},
		{"tags", []any{"b", "it's"}},
		{"description", nil},
	}
	for _, c := range []struct {
		voice  render.Voice
		format string
		want   string
	}{
		{render.Own, "table", lines(
			"+--------------------+---------+",
			"| Field              | Value   |",
			"+--------------------+---------+",
			"| id                 | 9b1c    |",
			"| size               | 20      |",
			"| OS-DCF:disk config | true    |",
			"| tags               | b, it's |",
			"| description        |         |",
			"+--------------------+---------+")},
		{render.OpenStack, "table", lines(
			"+--------------------+---------------+",
			"| Field              | Value         |",
			"+--------------------+---------------+",
			"| id                 | 9b1c          |",
			"| size               | 20            |",
			"| OS-DCF:disk config | True          |",
			`| tags               | ['b', "it's"] |`,
			"| description        | None          |",
			"+--------------------+---------------+")},
		{render.Own, "shell", lines(`id="9b1c"`, `size="20"`, `os_dcf_disk_config="true"`, `tags="b, it's"`, `description=""`)},
		{render.OpenStack, "shell", lines(`id="9b1c"`, `size="20"`, `os_dcf_disk_config="True"`, `tags="['b', "it's"]"`, `description="None"`)},
		{render.Own, "value", lines("9b1c", "20", "true", "b, it's", "")},
		{render.Own, "csv", lines("Field,Value", "id,9b1c", "size,20", "OS-DCF:disk config,true", `tags,"b, it's"`, "description,")},
		{render.OpenStack, "yaml", lines("id: 9b1c", "size: 20", "OS-DCF:disk config: true", "tags:", "- b", "- it's", "description: null")},
		{render.Own, "yaml", lines("id: 9b1c", "size: 20", "OS-DCF:disk config: true", "tags: b, it's", "description: null")},
		{render.Own, "json", lines("{", `  "id": "9b1c",`, `  "size": 20,`, `  "OS-DCF:disk config": true,`, `  "tags": "b, it's",`, `  "description": null`, "}")},
	} {
		got := shown(t, render.Options{Voice: c.voice, Format: c.format}, fields)
		if got != c.want {
			t.Errorf("voice %d, %q:\n%s\nwant\n%s", c.voice, c.format, got, c.want)
		}
	}
}
