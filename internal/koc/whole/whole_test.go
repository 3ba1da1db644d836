package whole_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/whole"
)

// names are what is in a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write writes a file, up to a point.
func write(t *testing.T, name, text string, replace bool) *whole.File {
	t.Helper()
	f, err := whole.Create(name, 0o600, replace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Discard)
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNothingIsThereBeforeAllOfItIs(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{false, true} {
		dir := t.TempDir()
		name := filepath.Join(dir, "key")
		f := write(t, name, "secret", replace)

		if left := names(t, dir); left != "" {
			t.Errorf("a process that is killed now leaves %s", left)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		f.Discard()

		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 || content(t, name) != "secret" || names(t, dir) != "key" {
			t.Errorf("%v %v, and %s", info, err, names(t, dir))
		}
	}
}

func TestWhatIsDiscardedIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()

	write(t, filepath.Join(dir, "key"), "secret", true).Discard()

	if left := names(t, dir); left != "" {
		t.Error(left)
	}
}

func TestTheUmaskHoldsWhereFilesMustHaveNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	usual := filepath.Join(dir, "usual")
	if err := os.WriteFile(usual, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := whole.Named(dir, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })

	want, err := os.Stat(usual)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Mode() != want.Mode() {
		t.Errorf("%v %v, want %v", info, err, want.Mode())
	}
	if name := filepath.Base(f.Name()); !strings.HasPrefix(name, ".koc-") {
		t.Error(name)
	}
}

func TestAFileThatIsThereIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "key")
	late := write(t, name, "new", false)
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}

	err := late.Commit()
	_, again := whole.Create(name, 0o600, false)

	if !errors.Is(err, fs.ErrExist) || !errors.Is(again, fs.ErrExist) {
		t.Errorf("%v, %v", err, again)
	}
	if content(t, name) != "old" || names(t, dir) != "key" {
		t.Error(names(t, dir))
	}
}

func TestAFileIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}

	err := write(t, link, "new", true).Commit()

	if err != nil || content(t, name) != "new" || names(t, dir) != "file link" {
		t.Error(err, names(t, dir))
	}
	if target, err := os.Readlink(link); err != nil || target != name {
		t.Errorf("the link leads to %q, %v", target, err)
	}
}

func TestADeviceIsWrittenToAndKept(t *testing.T) {
	t.Parallel()
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}

	if err := write(t, os.DevNull, "lost", true).Commit(); err != nil {
		t.Error(err)
	}

	if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() || !os.SameFile(before, after) {
		t.Errorf("%v, %v", after, err)
	}
}

func TestWhatCannotBeWrittenIsSaidBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir + "/none/file": "create " + dir + "/none/file: no such file or directory",
		dir:                "create " + dir + ": is a directory",
	} {
		if _, err := whole.Create(path, 0o600, true); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
