package httpd

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
)

// The body of a PATCH comes from anybody who administers a namespace.
func FuzzABodyOfChangesIsReadOrRefused(f *testing.F) {
	f.Add([]byte(`[{"action":"add","name":"a","string":"x"},{"action":"rename","name":"a","to":"b"}]`))
	f.Add([]byte(`[{"action":"change","name":"a","bytes":"AA=="}]`))
	f.Add([]byte(`[{"action":"add","name":"a","bytes":null,"string":null}]`))
	f.Add([]byte(`[{"action":"remove","name":"a","bytes":""}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var changes api.PatchDataKeys
		if json.Unmarshal(body, &changes) != nil {
			t.Skip("no changes")
		}
		ops, err := operations(changes)
		if err != nil {
			return
		}
		if len(ops) != len(changes) || len(ops) == 0 {
			t.Fatalf("%d changes of %d", len(ops), len(changes))
		}
		for i, op := range ops {
			valued := op.Action == datastore.Add || op.Action == datastore.Change
			if valued != (changes[i].String != nil || changes[i].Bytes != nil) || (op.Action == datastore.Rename) != (op.To != "") {
				t.Fatalf("%+v is read as %+v", changes[i], op)
			}
		}
	})
}
