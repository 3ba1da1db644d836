package key_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/key"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// desk is a backend that records what is changed in one object.
type desk struct {
	path    object.Path
	changes api.PatchDataKeys
	value   string              // of every key
	edit    func(string) string // what the editor makes of a value
	refuse  error               // of a replacement
}

func (d *desk) Select(context.Context, string) ([]object.Path, error) {
	return []object.Path{d.path}, nil
}

func (d *desk) ChangeKeys(_ context.Context, _ object.Path, changes api.PatchDataKeys, _ time.Duration) error {
	d.changes = append(d.changes, changes...)
	return nil
}

func (d *desk) KeyContent(context.Context, object.Path, string) (api.DataKeyContent, error) {
	return api.DataKeyContent{RawBody: []byte(d.value)}, nil
}

func (d *desk) ReplaceKey(_ context.Context, _ object.Path, _ string, _ api.DataKeyContent, value []byte) error {
	if d.refuse == nil {
		d.value = string(value)
	}
	return d.refuse
}

func (d *desk) EditFile(_ context.Context, _ *verb.Call, file string) error {
	if d.edit == nil {
		return errors.New("the editor failed")
	}
	value, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(d.edit(string(value))), 0o600)
}

// run runs a command and returns what it printed.
func (d *desk) run(t *testing.T, path, in string, args ...string) (string, error) {
	t.Helper()
	verbs := key.Verbs()
	at := slices.IndexFunc(verbs, func(v verb.Verb) bool { return v.Path == path })
	runner := verbs[at].New(d)
	flags := pflag.NewFlagSet(path, pflag.ContinueOnError)
	runner.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	streams, stdin, stdout, _ := iostreams.Test()
	stdin.WriteString(in)
	dir := t.TempDir()
	err := runner.Run(t.Context(), &verb.Call{
		Streams: streams, Env: func(string) string { return dir }, Backend: d, Selector: d.path.String(), Kind: d.path.Kind,
	})
	return stdout.String(), err
}

// added are the keys written, with their values.
func (d *desk) added() map[string]string {
	values := map[string]string{}
	for _, c := range d.changes {
		values[c.Action+" "+c.Name] = string(*c.Bytes)
	}
	return values
}

func sec() *desk { return &desk{path: object.Path{Namespace: "ns1", Kind: object.KindSec, Name: "a"}} }

func file(t *testing.T, name, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhereAValueComesFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file(t, filepath.Join(dir, "d", "x"), "1")
	file(t, filepath.Join(dir, "d", "y", "z"), "\x00")
	one := file(t, filepath.Join(dir, "one.conf"), "hello")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/t/pdns.conf" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("fetched"))
	}))
	t.Cleanup(server.Close) // after the parallel parts
	for name, c := range map[string]struct {
		args []string
		want map[string]string
		err  string
	}{
		"a file":                          {[]string{"--name", "k", "--from", one}, map[string]string{"add k": "hello"}, ""},
		"a file names its key":            {[]string{"--from", one}, map[string]string{"add one.conf": "hello"}, ""},
		"a directory":                     {[]string{"--from", filepath.Join(dir, "d")}, map[string]string{"add x": "1", "add y/z": "\x00"}, ""},
		"a directory below a name":        {[]string{"--name", "k", "--from", filepath.Join(dir, "d")}, map[string]string{"add k/x": "1", "add k/y/z": "\x00"}, ""},
		"the standard input":              {[]string{"--name", "k", "--from", "-"}, map[string]string{"add k": "typed\n"}, ""},
		"the standard input without name": {[]string{"--from", "-"}, nil, "say which key"},
		"a text":                          {[]string{"--key", "k", "--value", ""}, map[string]string{"add k": ""}, ""},
		"a url":                           {[]string{"--name", "k", "--from", server.URL + "/t/pdns.conf"}, map[string]string{"add k": "fetched"}, ""},
		"a url names its key":             {[]string{"--from", server.URL + "/t/pdns.conf?x=y"}, map[string]string{"add pdns.conf": "fetched"}, ""},
		"a url that is refused":           {[]string{"--from", server.URL + "/gone"}, nil, "404"},
		"nothing":                         {[]string{"--name", "k"}, nil, "give the value once"},
		"two":                             {[]string{"--name", "k", "--value", "x", "--from", one}, nil, "give the value once"},
		"an empty directory":              {[]string{"--from", t.TempDir()}, nil, "no file in it"},
		"no file":                         {[]string{"--from", filepath.Join(dir, "gone")}, nil, "gone"},
		"an empty from":                   {[]string{"--name", "k", "--from", ""}, nil, "given nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sec()

			_, err := d.run(t, "key add", "typed\n", c.args...)

			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("got %v, want %q", err, c.err)
			}
			if c.err == "" {
				if diff := cmp.Diff(c.want, d.added()); diff != "" {
					t.Error(diff)
				}
			} else if len(d.changes) > 0 {
				t.Errorf("written: %v", d.added())
			}
		})
	}
}

func TestALinkInADirectoryIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file(t, filepath.Join(dir, "d", "x"), "1")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	d := sec()

	_, err := d.run(t, "key add", "", "--from", filepath.Join(dir, "d"))

	if err == nil || !strings.Contains(err.Error(), "link is no file") || len(d.changes) > 0 {
		t.Errorf("got %v, written %v", err, d.added())
	}
}

func TestOnlyThePasswordMadeOfADeviceIsPrinted(t *testing.T) {
	t.Parallel()
	d := &desk{path: object.Path{Namespace: "system", Kind: object.KindUsr, Name: "a"}}

	printed, err := d.run(t, "key add", "", "--name", "password", "--from", "/dev/urandom")

	if err != nil || len(printed) != 44 || d.added()["add password"]+"\n" != printed {
		t.Errorf("printed %q, %v", printed, err)
	}
	for _, c := range []struct{ args, in string }{{"--name other --from /dev/urandom", ""}, {"--name password --from -", "hunter2"}} {
		if printed, err := d.run(t, "key add", c.in, strings.Fields(c.args)...); printed != "" || err != nil {
			t.Errorf("%s: printed %q, %v", c.args, printed, err)
		}
	}
}

func TestAnEditIsWrittenOrKept(t *testing.T) {
	t.Parallel()
	upper := strings.ToUpper
	for name, c := range map[string]struct {
		edit   func(string) string
		refuse error
		want   string
		err    string
		kept   bool
	}{
		"written":            {upper, nil, "HELLO", "", false},
		"not changed":        {func(value string) string { return value }, nil, "hello", "", false},
		"emptied":            {func(string) string { return "" }, nil, "", "", false},
		"changed meanwhile":  {upper, errors.New("changed"), "hello", "what was typed is kept in ", true},
		"the editor failing": {nil, nil, "hello", "the editor failed", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sec()
			d.value, d.edit, d.refuse = "hello", c.edit, c.refuse

			_, err := d.run(t, "key edit", "", "--name", "conf.d/a.conf")

			if d.value != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("value %q, %v", d.value, err)
			}
			if !c.kept {
				return
			}
			_, at, _ := strings.Cut(err.Error(), "kept in ")
			at, _, _ = strings.Cut(at, ":")
			if typed, err := os.ReadFile(at); !bytes.Equal(typed, []byte("HELLO")) {
				t.Errorf("kept %q, %v", typed, err)
			}
		})
	}
}
