package client

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
)

func TestEveryExampleIsARequest(t *testing.T) {
	t.Parallel()
	for _, endpoint := range api.All() {
		d := endpoint.Describe()
		r, err := encode(d.Path, d.ExampleIn())
		if err != nil {
			t.Errorf("%s: %v", d.ID, err)
			continue
		}
		if strings.ContainsAny(r.url(), "{} ") {
			t.Errorf("%s: %s is no target", d.ID, r.url())
		}
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	r, err := encode(api.PatchObjectConfig.Path, api.ObjectConfigChange{
		ObjectName:   api.ObjectName{Namespace: "ns1", Kind: "svc", Name: "a/b"},
		ConfigChange: api.ConfigChange{Set: []string{"env.a=1,2", "env.b=x y&z"}, Wait: "1s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "/api/object/path/ns1/svc/a%2Fb/config?set=env.a%3D1%2C2&set=env.b%3Dx+y%26z&wait=1s"
	if diff := cmp.Diff(want, r.url()); diff != "" {
		t.Error(diff)
	}
	if r.body() != nil {
		t.Error("a body nobody asked for")
	}

	r, err = encode(api.PutClusterConfigFile.Path, api.ClusterConfigFile{})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.body()); err != nil || len(body) != 0 || r.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("an empty file is sent as %q, %v: %v", body, r.header, err)
	}
}

func TestLongChangesGoIntoAForm(t *testing.T) {
	t.Parallel()
	long := "env.a=" + strings.Repeat("x&", longQuery)
	r, err := encode(api.PatchObjectConfig.Path, api.ObjectConfigChange{
		ObjectName: api.ObjectName{Namespace: "ns1", Kind: "svc", Name: "a"}, ConfigChange: api.ConfigChange{Set: []string{long}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.shorten(http.MethodGet)
	if r.body() != nil {
		t.Error("a GET has a body")
	}
	r.shorten(http.MethodPatch)
	body, err := io.ReadAll(r.body())
	if err != nil {
		t.Fatal(err)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("set") != long || strings.Contains(r.url(), "?") || r.header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%v, %s %v", err, r.url(), r.header)
	}
}

func TestAMissingPartOfAPathIsSaid(t *testing.T) {
	t.Parallel()
	_, err := encode(api.GetObject.Path, api.ObjectName{Namespace: "root", Kind: "svc"})
	if err == nil || !strings.Contains(err.Error(), "{name}") {
		t.Errorf("got %v", err)
	}
	r, err := encode(api.GetNodePing.Path, api.NodeName{})
	if err != nil || r.url() != "/api/node/name/localhost/ping" {
		t.Errorf("a node left out is %q, %v", r.url(), err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	header := http.Header{"Om-Last-Modified": {"2026-11-30T10:00:00Z"}}
	var file api.ConfigFile
	if err := decode(header, []byte("[a]\n"), &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.ConfigFile{LastModified: "2026-11-30T10:00:00Z", RawBody: []byte("[a]\n")}, file); diff != "" {
		t.Error(diff)
	}
	var committed api.Committed
	if err := decode(header, []byte(`{"is_changed":true}`), &committed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Committed{IsChanged: true, LastModified: "2026-11-30T10:00:00Z"}, committed); diff != "" {
		t.Error(diff)
	}
	var paths api.ObjectPaths
	if err := decode(header, []byte(`["a"]`), &paths); err != nil || len(paths) != 1 {
		t.Errorf("paths %v, %v", paths, err)
	}
	if err := decode(header, []byte("<html>"), &committed); err == nil {
		t.Error("an answer that is no JSON is decoded")
	}
}
