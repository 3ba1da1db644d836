package kube_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
)

func names(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, u := range objects {
		list = append(list, u.GetKind()+" "+kube.Name(u))
	}
	return list
}

func TestDecodeReadsDocumentsAndTakesListsApart(t *testing.T) {
	t.Parallel()
	objects, err := kube.Decode([]byte(`# a comment alone is no document
---
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
--- # the next one
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "a"}, "data": {"text": "---\nnot a document"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
  data:
    text: |
      --
      a line
- apiVersion: v1
  kind: ConfigMapList
  items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}
---
apiVersion: v1
kind: List
items: []
...
`))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"Namespace a", "ConfigMap a/b", "ConfigMap c", "ConfigMap d"}, names(objects)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReadsNumbersAsAnAPIServerDoes(t *testing.T) {
	t.Parallel()
	objects, err := kube.Decode([]byte("{apiVersion: v1, kind: A, metadata: {name: a}, spec: {replicas: 3, share: 0.5, shared: yes}}"))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(map[string]any{"replicas": int64(3), "share": 0.5, "shared": true}, objects[0].Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeNamesTheDocumentThatIsWrong(t *testing.T) {
	t.Parallel()
	const good = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n"
	for text, want := range map[string]string{
		"kind: [\n":                 "document 2, line 6:",
		"apiVersion: v1\nkind: A\n": "no object",
		"just text\n":               "no object",
		"- a\n":                     "no object",
		"apiVersion: a/b/c\nkind: A\nmetadata: {name: a}\n": `apiVersion "a/b/c"`,
		"a: 1\na: 2\n":             `key "a" already set`,
		"kind: List\nitems: [1]\n": "item 0",
	} {
		_, err := kube.Decode([]byte(good + "\n" + text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "document 2, line 6:") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\nkind: List\nitems: []\n"))
	f.Add([]byte("--- \n{\"items\":[{}]}\r\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := kube.Decode(text)
		if err != nil {
			return
		}
		var again []byte
		for _, u := range objects {
			one, err := yaml.Marshal(u.Object)
			if err != nil {
				t.Fatal(err)
			}
			again = append(append(again, "---\n"...), one...)
		}
		repeated, err := kube.Decode(again)
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if diff := cmp.Diff(names(objects), names(repeated)); diff != "" {
			t.Error(diff)
		}
	})
}
