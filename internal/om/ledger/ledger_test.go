package ledger_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/ledger"
)

func load(t *testing.T, name string) []string {
	t.Helper()
	all, err := ledger.At[string](name).Load()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRecordsAreKept(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "dir", "ledger")
	if got := load(t, name); len(got) != 0 {
		t.Errorf("an empty ledger has %q", got)
	}
	l := ledger.At[string](name)
	for i := range 3 {
		if err := l.Append(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := load(t, name); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("loaded %q", got)
	}
	if err := l.Rewrite([]string{"2"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Append("3"); err != nil {
		t.Fatal(err)
	}
	if got := load(t, name); !slices.Equal(got, []string{"2", "3"}) || l.Lines() != 2 {
		t.Errorf("after a rewrite %q, %d lines", got, l.Lines())
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestARecordThatWasCutShortTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "ledger")
	huge := `"` + strings.Repeat("x", 3<<20) + `"`
	if err := os.WriteFile(name, []byte("\"one\"\n\n{}\n"+huge+"\n\"two\"\n\"thr"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := load(t, name); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("loaded %d records", len(got))
	}
	if err := ledger.At[string](name).Append("four"); err != nil {
		t.Fatal(err)
	}
	if got := load(t, name); !slices.Equal(got, []string{"one", "two", "four"}) {
		t.Errorf("then %d records", len(got))
	}
}

func TestNoLedgerRemembersNothing(t *testing.T) {
	t.Parallel()
	var none *ledger.Ledger[string]
	if err := none.Append("x"); err != nil {
		t.Error(err)
	}
	if err := none.Rewrite(nil); err != nil {
		t.Error(err)
	}
	if got, err := none.Load(); got != nil || err != nil || none.Lines() != 0 || none.Close() != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestADirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := ledger.At[string](filepath.Join(file, "ledger")).Append("x")
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}
