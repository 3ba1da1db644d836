package noun_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func TestObjectsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"a":null,"b":true,"c":false,"d":-12,"e":1.5,"f":"x","g":[],"h":{}}`,
		`{"b":{"z":1,"a":[{"k":"v"},[1,[2]],"s"]},"a":"again","again":"a"}`,
		`{"name":"Проект ёж \"quoted\" \\ tab\t","Проект":["Проект","Проект"]}`,
		`{"n":123456789012345678901234567890}`,
		`{"long":"` + strings.Repeat("0123456789", 20) + `"}`,
	} {
		var o noun.Object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		want, got := decode(t, text), decode(t, string(again))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s became %s:\n%s", text, again, diff)
		}
	}
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// endless is a text without an end.
type endless struct{}

// Read implements [io.Reader].
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestAnObjectWithoutAnEndIsNotReadIntoMemory(t *testing.T) {
	t.Parallel()
	var o noun.Object
	err := o.DecodeFrom(io.MultiReader(strings.NewReader(`{"name":"`), endless{}))
	if err == nil || !strings.Contains(err.Error(), "one item of it is longer than 64 MiB") {
		t.Error(err)
	}
}

func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"a":["b",{"c":1.0e3}],"d":"\u00e9\ud83d\ude00"}`))
	f.Add([]byte("{\"\xff\":\"\xc3\x28\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var o noun.Object
		if o.DecodeFrom(strings.NewReader(string(text))) != nil {
			return
		}
		written, err := json.Marshal(o)
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", text, err)
		}
		var again noun.Object
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q was written as %q: %v", text, written, err)
		}
		twice, err := json.Marshal(again)
		if err != nil || string(twice) != string(written) {
			t.Fatalf("%q was written as %q, then as %q (%v)", text, written, twice, err)
		}
	})
}

// pages serves lists of so many things in pages of ten, with a next link.
func pages(t *testing.T, count int) cloud.Service {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Subject-Token", "t")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"token":{"catalog":[{"type":"compute","endpoints":[{"interface":"public","url":%q}]}]}}`, server.URL+"/v2.1")
	})
	mux.HandleFunc("GET /v2.1/things", func(w http.ResponseWriter, r *http.Request) {
		begin := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("marker"), &begin)
		var items []string
		for i := begin; i < min(begin+10, count); i++ {
			items = append(items, fmt.Sprintf(`{"id":%d,"kind":"same","parts":{"x":[{"keep":"k%[1]d","drop":1}]},"big":{"a":[1,2,3]}}`, i))
		}
		_, _ = fmt.Fprintf(w, `{"things":[%s]`, strings.Join(items, ","))
		if begin+10 < count {
			_, _ = fmt.Fprintf(w, `,"things_links":[{"rel":"next","href":"%s/v2.1/things?marker=%d"}]`, server.URL, begin+10)
		}
		_, _ = fmt.Fprint(w, `}`)
	})
	c := cloud.New(cloud.Options{Set: map[string]string{
		"auth_url": server.URL + "/v3", "username": "u", "password": "p", "project_name": "p", "user_domain_id": "default", "project_domain_id": "default",
	}})
	s, err := c.Service(t.Context(), "compute")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPagesAreOneList(t *testing.T) {
	t.Parallel()
	s := pages(t, 205)
	for _, limit := range []int{0, 1, 10, 64, 65, 200, 1000} {
		n := 0
		for o, err := range noun.Pages(t.Context(), s, "/things", url.Values{}, "things", limit, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Int("id"); got != int64(n) {
				t.Fatalf("thing %d came as %d", got, n)
			}
			n++
		}
		want := 205
		if limit > 0 {
			want = min(limit, want)
		}
		if n != want {
			t.Errorf("limit %d: %d things, want %d", limit, n, want)
		}
	}
}

func TestOnlyWhatIsWantedIsRead(t *testing.T) {
	t.Parallel()
	for o, err := range noun.Pages(t.Context(), pages(t, 1), "/things", nil, "things", 0, noun.Wanted{"id": nil, "parts": {"*": {"keep": nil}}}) {
		if err != nil {
			t.Fatal(err)
		}
		want := noun.Object{{Name: "id", Value: int64(0)}, {Name: "parts", Value: render.Ordered{{Name: "x", Value: []any{render.Ordered{{Name: "keep", Value: "k0"}}}}}}}
		if diff := cmp.Diff(want, o); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAListMayBeLeftEarly(t *testing.T) {
	t.Parallel()
	for _, err := range noun.Pages(t.Context(), pages(t, 5000), "/things", nil, "things", 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}
