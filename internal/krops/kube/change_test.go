package kube_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

// requests remembers what was asked, in order.
type requests struct {
	next http.Handler

	mu   sync.Mutex
	list []string
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		r.mu.Lock()
		r.list = append(r.list, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
	}
	r.next.ServeHTTP(w, req)
}

// echo answers a request with its body.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, r.Body)
}

func aThing() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v2", "kind": "Thing", "metadata": map[string]any{"namespace": "ns", "name": "one"},
	}}
}

func TestApplyMakesNamespacesAndDefinitionsFirst(t *testing.T) {
	t.Parallel()
	a := served()
	a["GET /api/v1"] = says(200, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace"},{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)
	a["GET /apis/apiextensions.k8s.io"] = says(200, `{"kind":"APIGroup","name":"apiextensions.k8s.io","versions":[{"version":"v1"}]}`)
	a["GET /apis/apiextensions.k8s.io/v1"] = says(200, `{"kind":"APIResourceList","resources":[{"name":"customresourcedefinitions","kind":"CustomResourceDefinition"}]}`)
	for _, path := range []string{
		thing, "/api/v1/namespaces/ns", "/api/v1/namespaces/default/configmaps/c",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org",
	} {
		a["PATCH "+path] = echo
	}
	asked := &requests{next: a}
	c := serve(t, asked)
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.org"},
	}}

	err := c.Apply(t.Context(), kube.NewConfigMap("", "c", nil), aThing(), definition, kube.NewNamespace("ns"))
	if err != nil {
		t.Fatal(err)
	}

	want := []string{
		"PATCH /api/v1/namespaces/ns",
		"PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.org",
		"PATCH /api/v1/namespaces/default/configmaps/c",
		"PATCH " + thing,
	}
	if diff := cmp.Diff(want, asked.list); diff != "" {
		t.Error(diff)
	}
}

func TestApplyWaitsForAKindThatIsNotServedYet(t *testing.T) {
	t.Parallel()
	later, never := served(), served()
	delete(never, "GET /apis/example.org")
	never["GET /apis"] = says(200, `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`)
	tries := 0
	later["PATCH "+thing] = func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			refuses(500, "InternalError", "{}")(w, r) // a webhook that does not answer yet
			return
		}
		echo(w, r)
	}
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" {
			delete(never, "GET /apis") // asked once, in vain
		}
		if _, ok := never["GET /apis"]; ok {
			never.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/apis" {
			says(200, `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`)(w, r)
			return
		}
		later.ServeHTTP(w, r)
	}))

	err := c.Apply(t.Context(), aThing())

	if err != nil || tries != 2 {
		t.Errorf("%d tries: %v", tries, err)
	}
}

func TestApplyGivesUpAtOnceOnWhatWillNotPass(t *testing.T) {
	t.Parallel()
	for _, refusal := range []http.HandlerFunc{
		refuses(403, "Forbidden", `{"name":"one"}`), refuses(422, "Invalid", `{"name":"one"}`), refuses(404, "NotFound", `{"name":"ns","kind":"namespaces"}`),
	} {
		a := served()
		a["PATCH "+thing] = refusal
		asked := &requests{next: a}

		err := serve(t, asked).Apply(t.Context(), aThing())

		if err == nil || len(asked.list) != 1 || !strings.HasPrefix(err.Error(), "apply Thing ns/one: ") {
			t.Errorf("%d tries: %v", len(asked.list), err)
		}
	}
}

func TestWhatAServerSaysOfASecretIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := api{
		"GET /api/v1":                           says(200, `{"kind":"APIResourceList","resources":[{"name":"secrets","kind":"Secret","namespaced":true}]}`),
		"PATCH /api/v1/namespaces/ns/secrets/s": says(422, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"sesame is no value"}`),
	}
	c := serve(t, a)

	err := c.Apply(t.Context(), kube.NewSecret("ns", "s", map[string][]byte{"k": []byte("sesame")}))

	if err == nil || err.Error() != "apply Secret ns/s: the server refused it: Invalid (HTTP 422)" {
		t.Error(err)
	}
}

func TestDiffersAsksTheServer(t *testing.T) {
	t.Parallel()
	const live = `{"apiVersion":"example.org/v2","kind":"Thing","metadata":{"name":"one","namespace":"ns","uid":"u","resourceVersion":"%d","generation":%d,"managedFields":[{"manager":"m%d"}]},"spec":{"size":%d,"extra":true},"status":{"phase":"%d"}}`
	version := func(n, size int) http.HandlerFunc { return says(200, fmt.Sprintf(live, n, n, n, size, n)) }
	for name, test := range map[string]struct {
		get, dry http.HandlerFunc
		want     bool
	}{
		"nothing changes but what the server keeps": {version(1, 3), version(2, 3), false},
		"a field changes":                   {version(1, 3), version(2, 4), true},
		"the object is missing":             {refuses(404, "NotFound", `{"name":"one","kind":"things"}`), nil, true},
		"a webhook refuses dry runs, same":  {version(1, 3), refuses(400, "BadRequest", "{}"), false},
		"a webhook refuses dry runs, other": {version(1, 4), refuses(400, "BadRequest", "{}"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := served()
			a["GET "+thing] = test.get
			if test.dry != nil {
				a["PATCH "+thing] = func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("dryRun") != "All" {
						t.Error("it is no dry run")
					}
					test.dry(w, r)
				}
			}
			described := aThing()
			described.Object["spec"] = map[string]any{"size": int64(3)}

			differs, err := serve(t, a).Differs(t.Context(), described)

			if err != nil || differs != test.want {
				t.Errorf("%v, %v", differs, err)
			}
		})
	}
}

func TestDiffersIsNoGuess(t *testing.T) {
	t.Parallel()
	a := served()
	a["GET "+thing] = refuses(503, "ServiceUnavailable", "{}")

	if _, err := serve(t, a).Differs(t.Context(), aThing()); err == nil {
		t.Error("a server that does not answer has no opinion")
	}
}

func TestDeleteIsInTheBackgroundAndOfOneObject(t *testing.T) {
	t.Parallel()
	var body map[string]any
	a := served()
	a["DELETE "+thing] = func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		says(200, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)(w, r)
	}

	err := serve(t, a).Delete(t.Context(), thingKind(), "ns", "one", kube.Only("uid-1"))

	if err != nil || body["propagationPolicy"] != "Background" || fmt.Sprint(body["preconditions"]) != "map[uid:uid-1]" {
		t.Errorf("%v: %v", err, body)
	}
}

func TestDeleteOfWhatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	gone, noKind, unknown := served(), served(), served()
	gone["DELETE "+thing] = refuses(404, "NotFound", `{"name":"one","kind":"things"}`)
	noKind["GET /apis/example.org/v2"] = noKind["GET /apis/example.org/v1"]
	unknown["DELETE "+thing] = says(404, "<html>")

	if err := serve(t, gone).Delete(t.Context(), thingKind(), "ns", "one"); err != nil {
		t.Errorf("no such object: %v", err)
	}
	if err := serve(t, noKind).Delete(t.Context(), thingKind(), "ns", "one"); err != nil {
		t.Errorf("no such kind: %v", err)
	}
	if err := serve(t, unknown).Delete(t.Context(), thingKind(), "ns", "one"); err == nil {
		t.Error("a page that is missing is no evidence")
	}
}

func TestListReadsAllPages(t *testing.T) {
	t.Parallel()
	page := func(next string, names ...string) string {
		var items []string
		for _, n := range names {
			items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q}}`, n))
		}
		return fmt.Sprintf(`{"kind":"ThingList","apiVersion":"example.org/v2","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
	}
	a := served()
	expired := false
	a["GET "+things] = func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("limit") == "":
			says(200, page("", "one", "two", "three", "four"))(w, r)
		case q.Get("continue") == "":
			says(200, page("2", "one", "two"))(w, r)
		case expired:
			refuses(410, "Expired", "{}")(w, r)
		default:
			says(200, page("", "three"))(w, r)
		}
	}
	c := serve(t, a)

	whole := c.Listing(t.Context(), thingKind(), "ns", nil)
	kept := c.Listing(t.Context(), thingKind(), "ns", func(u *unstructured.Unstructured) bool { return u.GetName() > "p" })
	expired = true
	anew := c.Listing(t.Context(), thingKind(), "ns", nil)

	got := []string{whole.String(), kept.String(), anew.String()}
	if diff := cmp.Diff([]string{"[ns/one ns/three ns/two]", "[ns/three ns/two]", "[ns/four ns/one ns/three ns/two]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAKindThatMovedToAnotherVersionIsFoundAgain(t *testing.T) {
	t.Parallel()
	a := served()
	a["GET "+thing] = says(200, `{"kind":"Thing","apiVersion":"example.org/v2","metadata":{"name":"one"}}`)
	var mu sync.Mutex
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		a.ServeHTTP(w, r)
	}))
	if !c.Lookup(t.Context(), thingKind(), "ns", "one").There() {
		t.Fatal("not found in v2")
	}

	mu.Lock()
	a["GET /apis/example.org/v1"], a["GET /apis/example.org/v2"] = a["GET /apis/example.org/v2"], a["GET /apis/example.org/v1"]
	a["GET /apis/example.org/v1/namespaces/ns/things/one"] = a["GET "+thing]
	delete(a, "GET "+thing)
	mu.Unlock()

	if got := c.Lookup(t.Context(), thingKind(), "ns", "one"); !got.There() {
		t.Error(got)
	}
}
