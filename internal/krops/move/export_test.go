package move

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Recoded reads a list of objects, as lines, and writes it again.
func Recoded(phase string, lines []string) (*unstructured.Unstructured, []string, error) {
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"phase": phase, "objects": strings.Join(lines, "\n")}}}
	j, err := decode(u)
	if err != nil {
		return nil, nil, err
	}
	stored, err := encode("ns", journalName, j)
	if err != nil {
		return nil, nil, err
	}
	again, err := decode(stored)
	if err != nil {
		return nil, nil, err
	}
	var list []string
	for _, i := range again.items {
		list = append(list, i.line())
	}
	return stored, list, nil
}

// Line is an object of a list.
func Line(level int, gvk schema.GroupVersionKind, resource, namespace, name, uid string) string {
	k := kind{GroupVersionKind: gvk, resource: resource}
	return item{key: key{gvk.GroupKind(), namespace, name}, kind: k, uid: types.UID(uid), level: level}.line()
}
