package datastore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const clusterSecret = "0123456789abcdef0123456789abcdef"

type site struct {
	*datastore.Data

	store *store.Store
}

func open(t hosttest.TB) site {
	t.Helper()
	s := store.New(host.Host{Paths: hosttest.Paths(t), Hostname: writer}, nil)
	d := site{Data: datastore.New(s), store: s}
	d.write(t, object.Cluster(), "[cluster]\nname = c1\nnodes = "+writer+"\nsecret = "+clusterSecret+"\n")
	for _, p := range stores() {
		d.write(t, p, "[DEFAULT]\nid = x\n")
	}
	return d
}

func stores() []object.Path {
	return []object.Path{path(object.KindCfg), path(object.KindSec), path(object.KindUsr)}
}

func path(kind object.Kind) object.Path {
	return object.Path{Namespace: "ns1", Kind: kind, Name: "web"}
}

func (s site) write(t hosttest.TB, p object.Path, text string) {
	t.Helper()
	name := s.store.FileName(p)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
}

func (s site) file(t hosttest.TB, p object.Path) string {
	t.Helper()
	data, err := os.ReadFile(s.store.FileName(p))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(data)
}

func (s site) raw(t hosttest.TB, p object.Path, key string) string {
	t.Helper()
	f, err := s.store.Load(p)
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, _ := f.Doc.Get(config.Key{Section: "data", Option: key})
	return text
}

func fails(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}

func TestAValueIsGivenBackByteForByte(t *testing.T) {
	t.Parallel()
	s := open(t)
	values := map[string][]byte{
		"text": []byte("hello"), "empty": {}, "binary": {0, 1, 2, 0xff, '\n'}, "lines": []byte("a\n\tb\n\nc\n"), "json": []byte(`{"a": "{nodename}", "b": "$(1+1)"}`),
		"comment": []byte("a # b ; c"), "blanks": []byte("  x  "), "quotes": []byte("`a` \"\"\"b\"\"\" 'c'"), "backslash": []byte(`a\`), "crlf": []byte("a\r\nb"), "utf8": []byte("é€"),
		"literal": []byte("literal:x"), "section": []byte("[data]\nx = 1\n"), "equal": []byte("= x"),
	}
	for _, p := range stores() {
		if err := s.SetAll(t.Context(), p, values); err != nil {
			t.Fatal(err)
		}
		for key, want := range values {
			got, err := s.Decode(p, key)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s %s: got %q, %v; want %q", p, key, got, err, want)
			}
		}
	}
}

func TestAnyValueOfAnyKeyIsGivenBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	values := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 64), rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"`", `"""`, "\n", " ", "#", ";", "=", "[x]", `\`, "a", "{b}", "\t", "\r", "é"}), 0, 10).Draw(t, "parts"), ""))
	}))
	keys := rapid.StringMatching(`[a-zA-Z][a-zA-Z0-9_.@-]{0,4}[a-z0-9](/[a-zA-Z0-9_@-]{1,4}[a-z0-9])?`)
	for _, p := range stores() {
		for seed := range 5 { // each a durable commit, hence few
			want := rapid.MapOfN(keys, values, 40, 60).Example(seed)
			if err := s.SetAll(t.Context(), p, want); err != nil {
				t.Fatal(err)
			}
			for key, value := range want {
				if got, err := s.Decode(p, key); err != nil || !bytes.Equal(got, value) {
					t.Fatalf("%s key %q: got %q, %v; want %q", p, key, got, err, value)
				}
			}
		}
	}
}

// writer is the node of the tests: long enough not to be met by chance in sealed data.
const writer = "node-that-wrote-it"

func TestWhatIsWritten(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, p := range stores() {
		if err := s.SetAll(t.Context(), p, map[string][]byte{"text": []byte("plain words"), "bin": {0xff}}); err != nil {
			t.Fatal(err)
		}
	}

	if got := s.raw(t, path(object.KindCfg), "text"); got != "literal:plain words" {
		t.Errorf("a text of a cfg is %q", got)
	}
	if got := s.raw(t, path(object.KindCfg), "bin"); got != "base64:/w==" {
		t.Errorf("bytes of a cfg are %q", got)
	}
	for _, kind := range []object.Kind{object.KindSec, object.KindUsr} {
		if got := s.raw(t, path(kind), "text"); !strings.HasPrefix(got, "crypt:1:") {
			t.Errorf("a key of a %s is %q", kind, got)
		}
		if text := s.file(t, path(kind)); strings.Contains(text, "plain") || strings.Contains(text, writer) {
			t.Errorf("a %s shows in clear:\n%s", kind, text)
		}
	}
}

func TestASealedValueOpensInItsPlaceOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	sec, usr := path(object.KindSec), path(object.KindUsr)
	if err := s.Set(t.Context(), sec, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	sealed := s.raw(t, sec, "a")
	other := object.Path{Namespace: "ns2", Kind: object.KindSec, Name: "web"}
	for name, place := range map[string]struct { //nolint:paralleltest // the cases share a file
		path object.Path
		key  string
	}{"another key": {sec, "b"}, "another kind": {usr, "a"}, "another namespace": {other, "a"}} {
		t.Run(name, func(t *testing.T) {
			s.write(t, place.path, "[data]\n"+place.key+" = "+sealed+"\n")

			_, err := s.Decode(place.path, place.key)

			if !errors.Is(err, secret.ErrSealed) {
				t.Errorf("got %v", err)
			}
			fails(t, err, place.path.String(), "key "+place.key)
		})
	}
}

func TestADamagedValueIsAnErrorThatNamesTheKey(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		kind object.Kind
		want string
	}{
		"plain":        {object.KindCfg, "neither with literal: nor with base64:"},
		"base64:?":     {object.KindCfg, "damaged"},
		"plain words":  {object.KindSec, "not sealed"},
		"literal:x":    {object.KindSec, "not sealed"},
		"crypt:2:xxxx": {object.KindSec, `scheme "2"`},
		"crypt:xxxx":   {object.KindSec, "scheme"},
		"crypt:1:?":    {object.KindSec, "damaged"},
		"crypt:1:AAAA": {object.KindSec, "cluster secret changed"},
		"crypt:1:":     {object.KindUsr, "cluster secret changed"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.write(t, path(c.kind), "[data]\na = "+text+"\n")

			_, err := s.Decode(path(c.kind), "a")

			fails(t, err, path(c.kind).String(), "key a", c.want)
			if strings.Contains(err.Error(), clusterSecret) {
				t.Error("the secret shows")
			}
		})
	}
}

func TestAChangedClusterSecretOpensNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindSec)
	if err := s.Set(t.Context(), p, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.write(t, object.Cluster(), "[cluster]\nname = c1\nsecret = another\n")

	_, err := s.Decode(p, "a")

	fails(t, err, "cluster secret changed")
}

func TestWithoutClusterSecretNothingIsSealed(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, object.Cluster(), "[cluster]\nname = c1\n")

	err := s.Set(t.Context(), path(object.KindSec), "a", []byte("x"))

	fails(t, err, "cluster.secret is not set", "start the daemon")
	if err := s.Set(t.Context(), path(object.KindCfg), "a", []byte("x")); err != nil {
		t.Errorf("a cfg needs no secret: %v", err)
	}
}

func TestSealingTheSameValueAgainDoesNotWrite(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindSec)
	if err := s.Set(t.Context(), p, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	before := s.file(t, p)

	if err := s.Set(t.Context(), p, "a", []byte("x")); err != nil {
		t.Fatal(err)
	}

	if s.file(t, p) != before {
		t.Error("it was written")
	}
}

func TestSizeLimit(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, object.Path{}, "[node]\nmax_key_size = 1k\n")
	p := path(object.KindCfg)

	err := s.Set(t.Context(), p, "a", bytes.Repeat([]byte("x"), 1025))

	fails(t, err, "key a", "1025 bytes", "node.max_key_size", "1k")
	if err := s.Set(t.Context(), p, "a", bytes.Repeat([]byte("x"), 1024)); err != nil {
		t.Error(err)
	}
}

func TestAddRefusesAnExistingKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindCfg)
	if err := s.Add(t.Context(), p, "a", []byte("1")); err != nil {
		t.Fatal(err)
	}

	err := s.Add(t.Context(), p, "a", []byte("2"))

	if _, ok := errors.AsType[*datastore.KeyExistsError](err); !ok {
		t.Errorf("got %v", err)
	}
	if got, err := s.Decode(p, "a"); string(got) != "1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestConcurrentAddsOfOneKeyHaveOneWinner(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range 4 {
		wg.Go(func() {
			if s.Add(t.Context(), path(object.KindCfg), "a", []byte(strconv.Itoa(i))) == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d adds won", won)
	}
}

func TestRenameAndRemove(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, p := range stores() {
		if err := s.SetAll(t.Context(), p, map[string][]byte{"a": []byte("1"), "b": []byte("2")}); err != nil {
			t.Fatal(err)
		}

		if err := s.Rename(t.Context(), p, "a", "c"); err != nil {
			t.Fatal(err)
		}

		if got, err := s.Decode(p, "c"); string(got) != "1" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		var exists *datastore.KeyExistsError
		if err := s.Rename(t.Context(), p, "c", "b"); !errors.As(err, &exists) {
			t.Errorf("got %v", err)
		}
		if err := s.Remove(t.Context(), p, "b"); err != nil {
			t.Error(err)
		}
		keys, err := s.Keys(p)
		if diff := cmp.Diff([]string{"c"}, keys); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}

func TestAMissingKeyIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindSec)
	_, errDecode := s.Decode(p, "gone")
	for what, err := range map[string]error{
		"decode": errDecode, "remove": s.Remove(t.Context(), p, "gone"), "rename": s.Rename(t.Context(), p, "gone", "b"),
	} {
		if _, ok := errors.AsType[*datastore.KeyNotFoundError](err); !ok {
			t.Errorf("%s: got %v", what, err)
		}
		fails(t, err, "ns1/sec/web", "gone")
	}
}

func TestAMissingObjectIsNotFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := object.Path{Namespace: "ns1", Kind: object.KindCfg, Name: "gone"}
	_, errKeys := s.Keys(p)
	for _, err := range []error{errKeys, s.Set(t.Context(), p, "a", nil)} {
		if _, ok := errors.AsType[*object.NotFoundError](err); !ok {
			t.Errorf("got %v", err)
		}
	}
}

func TestOnlyDatastoresHaveKeys(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := path(object.KindSvc)
	_, errDecode := s.Decode(p, "a")
	for _, err := range []error{errDecode, s.Set(t.Context(), p, "a", nil)} {
		fails(t, err, "ns1/svc/web", "only cfg, sec and usr do")
	}
}

func TestABadKeyNameIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, key := range []string{"", "a=b", "a\nb", "#a", "[a", " a"} {
		fails(t, s.Set(t.Context(), path(object.KindCfg), key, []byte("x")), "key name")
	}
}
