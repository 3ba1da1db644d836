package lab_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

func TestTheDataFilesAreWellFormed(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("reads.txt")
	if err != nil {
		t.Fatal(err)
	}
	reads, err := lab.ParseReads(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range reads {
		if seen[r.String()] && r.Name == "" {
			t.Errorf("reads.txt: twice: %s", r)
		}
		if r.Name == "" {
			seen[r.String()] = true
		}
		if r.Service == "" || len(r.Argv) == 0 {
			t.Errorf("reads.txt: no service or no command: %q", r)
		}
	}
	b, err = os.ReadFile("accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.ParseAccepted(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
	cases, err := lab.Writes{Dir: "."}.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if len(c.Steps) < 2 {
			t.Errorf("writes.txt: %s has no steps", c.Name)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	words, err := lab.Words(`a  'b c' d"e f"g ""`)
	if err != nil || strings.Join(words, "|") != "a|b c|de fg|" {
		t.Errorf("%q, %v", words, err)
	}
	if _, err := lab.Words(`a "b`); err == nil {
		t.Error("a quote without an end is no error")
	}
}

func TestParseAccepted(t *testing.T) {
	t.Parallel()
	a, err := lab.ParseAccepted(strings.NewReader("# x\nserver list.* | table,yaml | widths\nrole list | * | order\n"))
	if err != nil || len(a) != 2 || len(a[0].Formats) != 2 || a[1].Formats != nil || a[0].Reason != "widths" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := lab.ParseAccepted(strings.NewReader("server list | table\n")); err == nil {
		t.Error("a line without a reason is no error")
	}
}
