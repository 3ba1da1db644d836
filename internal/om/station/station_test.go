package station_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/station"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const example = `{
  "clusters": {
    "bold-rat": {
      "server": "https://bold-rat.example.com:1215"
    },
    "dreamy-leopard": {
      "server": "https://dreamy-leopard.example.com:1215",
      "insecure": true
    }
  },
  "users": {
    "john": {},
    "mary": {}
  },
  "contexts": {
    "john@dreamy-leopard": {
      "cluster": "dreamy-leopard",
      "user": "john"
    },
    "mary@bold-rat": {
      "cluster": "bold-rat",
      "user": "mary",
      "namespace": "prod",
      "access_token_duration": "1h",
      "refresh_token_duration": "1d"
    }
  }
}
`

func write(t *testing.T, s station.Station, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.Path()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheDocumentedFileIsReadAndWrittenAsItIs(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	write(t, s, example)

	f, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Resolve("mary@bold-rat")
	if err != nil {
		t.Fatal(err)
	}
	want := station.Endpoint{
		Context: "mary@bold-rat", Cluster: station.Cluster{Server: "https://bold-rat.example.com:1215"},
		Settings: station.Context{
			Cluster: "bold-rat", User: "mary", Namespace: "prod",
			AccessTokenDuration: station.Duration(time.Hour), RefreshTokenDuration: station.Duration(24 * time.Hour),
		},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	if e.Login() != "mary" || e.Certified() {
		t.Errorf("login %q, certified %v", e.Login(), e.Certified())
	}
	if err := s.Update(t.Context(), func(*station.File) error { return nil }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example, string(text)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWhatIsWrongWithAFileIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"clusters":{"a":{"sever":"x"}}}`:                 `unknown field "sever"`,
		`{"clusters":{"a":{}}}`:                            "cluster a: it names no server",
		`{"clusters":{"a":{"server":"http://a"}}}`:         `cluster a: server "http://a"`,
		`{"clusters":{"a":{"server":"https://u:p@a"}}}`:    "write host",
		`{"contexts":{"x":{"cluster":"a","user":"b"}}}`:    "context x: no cluster a: there is none yet",
		`{"users":{"b":{"client_certificate":"c"}}}`:       "user b: a client certificate goes with its key",
		`{"users":{"a b":{}}}`:                             "a name has no blank",
		`{"users":{"` + strings.Repeat("a", 65) + `":{}}}`: "at most 64 bytes",
		`[]`:              "line 1, column 1: the file is an array, where an object in {braces} goes",
		`{} {}`:           "something follows",
		`{"contexts":[]}`: "line 1, column 13: contexts is an array, where an object in {braces} goes",
		`{"clusters":{"a":{"server":"a"}},"users":{"b":{}},"contexts":{"x":{"cluster":"a","user":"b","access_token_duration":"soon"}}}`: "not a duration",
		`{"clusters":{"a":{"server":"a"}},"users":{"b":{}},"contexts":{"x":{"cluster":"a","user":"b","access_token_duration":"5ms"}}}`:  "whole seconds",
		`{`: "line 1, column 2: the file ends before its last brace",
		"{\n  \"clusters\": {\n    \"é\": {\"server\": 5}}}":                 "line 3, column 21: clusters.server is a number, where a text in \"quotes\" goes",
		"{\n\"clusters\": {\n\"a\": {\"insecure\": \"no\"}}}":                "insecure is a string, where true or false goes",
		"{\n\"contexts\": {\n\"a\": {\"access_token_duration\": 5}}}":        "where a duration as \"1h\" or \"1d12h\" goes",
		"{\n\"contexts\": {\n\"a\": {\"access_token_duration\": \"soon\"}}}": "line 3, column 32: soon: not a duration",
		"{\"clusters\": {}\n \"users\": {}}":                                 "line 2, column 2: invalid character",
		"{\"clusters\": {},\n \"cöntexts\": {}}":                             "line 2, column 2: unknown field \"cöntexts\"",
	} {
		if _, err := station.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestWithoutAFileThereIsNoContext(t *testing.T) {
	t.Parallel()
	f, err := station.At(t.TempDir()).Load()
	if err != nil || len(f.Names()) != 0 {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := f.Resolve("x"); err == nil || !strings.Contains(err.Error(), "ox context add") {
		t.Errorf("got %v", err)
	}
	if _, err := station.At("").Load(); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("without a home: %v", err)
	}
}

// A change that is refused changes nothing.
func TestARefusedChangeLeavesTheFile(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	write(t, s, example)
	err := s.Update(t.Context(), func(f *station.File) error { delete(f.Users, "mary"); return nil })
	if err == nil || !strings.Contains(err.Error(), "context mary@bold-rat: no user mary: there are john") {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(s.Path()); string(text) != example {
		t.Error("the file changed")
	}
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.Path()), 0o700), syscall.Mkfifo(s.Path(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "is no file") {
		t.Error(err)
	}
}

func TestProgramsThatChangeTheFileAtTheSameTimeLoseNothing(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			err := s.Update(t.Context(), func(f *station.File) error {
				f.Users[string(rune('a'+i))] = station.User{}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f, err := s.Load()
	if err != nil || len(f.Users) != 20 {
		t.Errorf("%d users, %v", len(f.Users), err)
	}
}

func TestAnEditDoesNotUndoAChangeMadeMeanwhile(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	write(t, s, example)
	was, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(f *station.File) error { f.Users["new"] = station.User{}; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), was, []byte(`{}`)); !errors.Is(err, station.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if was, err = s.Text(); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(t.Context(), was, []byte(`{"users":`)); err == nil {
		t.Error("an invalid text took the place of a valid one")
	}
	if err := s.Replace(t.Context(), was, []byte(`{}`)); err != nil {
		t.Error(err)
	}
}

func tokens(access string) station.Tokens {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return station.Tokens{
		Server: "a", User: "john", Access: secret.New(access), AccessEnd: at.Add(time.Hour),
		Refresh: secret.New("renews"), RefreshEnd: at.Add(24 * time.Hour), AuthenticatedAt: at,
	}
}

func TestTokensAreForTheirUserOnly(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := station.At(home)
	const name = "../john@a/b"
	want := tokens("secret")
	if _, err := s.WithTokens(t.Context(), name, func(station.Tokens) (station.Tokens, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}

	got, err := s.Tokens(name)
	if err != nil || got.Access.Reveal() != "secret" || got.Refresh.Reveal() != "renews" || !got.AccessEnd.Equal(want.AccessEnd) || got.Server != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	file := filepath.Join(home, ".cache", "opensvc", "tokens", "..%2Fjohn@a%2Fb.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}

	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tokens(name); err == nil || !strings.Contains(err.Error(), "others may read") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(file, []byte(`{"access_token": secret`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tokens(name); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}

	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WithTokens(t.Context(), name, func(station.Tokens) (station.Tokens, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a login leaves the mode %v, %v", info.Mode(), err)
	}

	if had, err := s.Forget(t.Context(), name); err != nil || !had {
		t.Errorf("%v, %v", had, err)
	}
	if had, err := s.Forget(t.Context(), name); err != nil || had {
		t.Errorf("forgotten twice: %v, %v", had, err)
	}
	if got, err := s.Tokens(name); err != nil || !got.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
}

// The second program sees what the first one got.
func TestTokensAreRenewedOnce(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	renewals := 0
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			got, err := s.WithTokens(t.Context(), "x", func(t station.Tokens) (station.Tokens, error) {
				if !t.IsZero() {
					return t, nil
				}
				renewals++ // under the lock
				return tokens("new"), nil
			})
			if err != nil || got.Access.Reveal() != "new" {
				t.Errorf("%v, %v", got.Access.Reveal(), err)
			}
		})
	}
	group.Wait()
	if renewals != 1 {
		t.Errorf("%d renewals", renewals)
	}
}

func TestWaitingForAnotherProgramEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	s := station.At(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.WithTokens(t.Context(), "x", func(was station.Tokens) (station.Tokens, error) {
		cancel()
		_, err := s.WithTokens(ctx, "x", func(t station.Tokens) (station.Tokens, error) { return t, nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		return was, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADurationIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := station.Duration(time.Duration(rapid.IntRange(1, 1<<30).Draw(rt, "seconds")) * time.Second)
		var back station.Duration
		if err := back.Set(d.String()); err != nil || back != d {
			rt.Errorf("%s: %v, %v", d, back, err)
		}
	})
	var d station.Duration
	if err := d.Set("1d12h"); err != nil || d != station.Duration(36*time.Hour) {
		t.Errorf("%v, %v", d, err)
	}
	for _, bad := range []string{"0", "-1h", "1x", ""} {
		if err := d.Set(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := station.Parse(data)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			if _, err := file.Resolve(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
