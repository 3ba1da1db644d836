package httpd_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// What is promised of reads is promised of each: whichever operation is declared next
// is tried too.
func TestEveryReadHasATagAndEveryListItsFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fill(20)
	f.create(t, "ns1/svc/web1", app)
	f.create(t, "ns1/cfg/web1", empty)
	token := "Bearer " + f.token(t, "root")
	transport := f.transport()
	defer transport.CloseIdleConnections()
	reads, lists := 0, 0
	ask := func(target string, more ...string) answer {
		header := http.Header{"Authorization": {token}, "Accept-Encoding": {"identity"}}
		for i := 0; i < len(more); i += 2 {
			header.Set(more[i], more[i+1])
		}
		return f.through(t, transport, http.MethodGet, target, header, nil)
	}
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		if d.Method != http.MethodGet || strings.HasSuffix(d.Path, "/event") || strings.HasSuffix(d.Path, "/log") || strings.HasSuffix(d.Path, "/metrics") {
			continue // streams, and what is another at each moment
		}
		request := target(d, "svc", "web1")
		if d.ID == api.GetObjectPaths.ID {
			request += "?path=**"
		}
		first := ask(request)
		if first.Status != http.StatusOK {
			continue // it takes what is not there
		}
		reads++
		tag := first.Header.Get("ETag")
		if tag == "" {
			t.Errorf("%s: no tag", d.ID)
		}
		if !strings.Contains(d.Path, "/daemon/") { // what runs is another at each moment
			if got := ask(request, "If-None-Match", `"other", W/`+strings.TrimPrefix(tag, "W/")); got.Status != http.StatusNotModified || got.Body != "" {
				t.Errorf("%s, held already: status %d, %d bytes", d.ID, got.Status, len(got.Body))
			}
			packed := ask(request, "Accept-Encoding", "gzip")
			isExact := !strings.HasPrefix(tag, "W/")
			if isExact && unpacked(t, packed) != first.Body || packed.Header.Get("ETag") != tag {
				t.Errorf("%s: is another one compressed", d.ID)
			}
		}
		items, isList := reflect.StructField{}, false
		if d.Out.Kind() == reflect.Struct {
			items, isList = d.Out.FieldByName("Items")
		}
		if !isList {
			continue
		}
		lists++
		var whole, narrow struct{ Items []map[string]json.RawMessage }
		decode(t, first.Body, &whole)
		name, _, _ := strings.Cut(items.Type.Elem().Field(0).Tag.Get("json"), ",")
		separator := "?"
		if strings.Contains(request, "?") {
			separator = "&"
		}
		got := ask(request + separator + "fields=" + name)
		if got.Status != http.StatusOK {
			t.Errorf("%s: fields=%s: status %d: %s", d.ID, name, got.Status, got.Body)
			continue
		}
		decode(t, got.Body, &narrow)
		for _, item := range narrow.Items {
			if _, ok := item[name]; !ok || len(item) != 1 {
				t.Errorf("%s: fields=%s: %v", d.ID, name, item)
			}
		}
		if len(narrow.Items) != len(whole.Items) {
			t.Errorf("%s: fields=%s: %d items of %d", d.ID, name, len(narrow.Items), len(whole.Items))
		}
		if wrong := ask(request + separator + "fields=nosuch.field"); wrong.Status != http.StatusBadRequest || !strings.Contains(wrong.Body, "nosuch") {
			t.Errorf("%s: fields=nosuch.field: status %d: %s", d.ID, wrong.Status, wrong.Body)
		}
	}
	if reads < 30 || lists < 20 {
		t.Errorf("%d reads, %d lists", reads, lists)
	}
}

// unpacked is the body of an answer, whether it is compressed or not.
func unpacked(t *testing.T, a answer) string {
	t.Helper()
	if a.Header.Get("Content-Encoding") != "gzip" {
		return a.Body
	}
	z, err := gzip.NewReader(strings.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
