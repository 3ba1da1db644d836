package httpd_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// empty is a configuration that says nothing.
const empty = "[DEFAULT]\n"

func keyOf(p object.Path, name string) api.DataKeyName {
	return api.DataKeyName{ObjectName: api.Named(p), Key: name}
}

func valueOf(p object.Path, name, value string) api.DataKeyValue {
	return api.DataKeyValue{DataKeyName: keyOf(p, name), RawBody: []byte(value)}
}

func patchOf(p object.Path, changes ...api.PatchDataKey) api.DataPatch {
	return api.DataPatch{ObjectName: api.Named(p), Body: changes}
}

func TestAKeyFromItsAdditionToItsRemoval(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	for _, name := range []string{"ns1/cfg/app", "ns1/sec/app", "ns1/usr/app"} {
		p := f.create(t, name, empty)
		binary := "\x00\xff\n"

		do(t, c, api.PostObjectDataKey, valueOf(p, "a/b.conf", binary))
		if detail := refused(t, c, api.PostObjectDataKey, valueOf(p, "a/b.conf", "other"), http.StatusConflict); !strings.Contains(detail, name+": key a/b.conf exists") {
			t.Error(detail)
		}
		got := do(t, c, api.GetObjectDataKey, keyOf(p, "a/b.conf"))
		if string(got.RawBody) != binary || got.ETag == "" {
			t.Errorf("%s: got %q, tag %s", name, got.RawBody, got.ETag)
		}
		list := do(t, c, api.GetObjectDataKeys, api.Named(p))
		if diff := cmp.Diff([]api.DataKeyListItem{{Node: node1, Object: name, Name: "a/b.conf", Size: 3}}, list.Items); diff != "" {
			t.Error(diff)
		}

		do(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a/b.conf"), IfMatch: got.ETag, RawBody: []byte("2")})
		refused(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a/b.conf"), IfMatch: got.ETag, RawBody: []byte("3")}, http.StatusPreconditionFailed)
		do(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a/b.conf"), RawBody: nil})
		if got := do(t, c, api.GetObjectDataKey, keyOf(p, "a/b.conf")); len(got.RawBody) != 0 {
			t.Errorf("%s: got %q", name, got.RawBody)
		}

		do(t, c, api.DeleteObjectDataKey, keyOf(p, "a/b.conf"))
		for _, err := range []error{
			call(t, c, api.GetObjectDataKey, keyOf(p, "a/b.conf")), call(t, c, api.DeleteObjectDataKey, keyOf(p, "a/b.conf")),
			call(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a/b.conf")}), call(t, c, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p), Keys: []string{"a/b.conf"}}),
		} {
			problem, ok := errors.AsType[*api.Problem](err)
			if !ok || problem.Status != http.StatusNotFound || problem.ExitCode() != 2 || problem.Detail != name+": no key a/b.conf" {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func call[In, Out any](t *testing.T, c *client.Client, op api.Operation[In, Out], in In) error {
	t.Helper()
	_, err := client.Do(t.Context(), c, op, in)
	return err
}

func TestAPatchIsMadeAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "ns1/sec/app", empty)
	do(t, c, api.PatchObjectData, patchOf(p,
		api.PatchDataKey{Action: "add", Name: "a", String: new("1")},
		api.PatchDataKey{Action: "add", Name: "b", Bytes: &[]byte{0xff}},
		api.PatchDataKey{Action: "rename", Name: "a", To: "c"},
		api.PatchDataKey{Action: "change", Name: "c", Bytes: &[]byte{}},
	))
	want := api.DataKeys{{Name: "b", Bytes: []byte{0xff}}, {Name: "c", Bytes: []byte{}}}
	all := api.DataQuery{ObjectName: api.Named(p)}
	if diff := cmp.Diff(want, do(t, c, api.GetObjectData, all)); diff != "" {
		t.Error(diff)
	}
	first := api.PatchDataKey{Action: "add", Name: "first", String: new("x")}
	for _, r := range []struct {
		change api.PatchDataKey
		status int
		why    string
	}{
		{api.PatchDataKey{Action: "add", Name: "b", String: new("x")}, http.StatusConflict, "change 2 of 2: ns1/sec/app: key b exists"},
		{api.PatchDataKey{Action: "change", Name: "gone", String: new("x")}, http.StatusConflict, "no key gone"},
		{api.PatchDataKey{Action: "remove", Name: "gone"}, http.StatusConflict, "no key gone"},
		{api.PatchDataKey{Action: "rename", Name: "gone", To: "d"}, http.StatusConflict, "no key gone"},
		{api.PatchDataKey{Action: "rename", Name: "b", To: "c"}, http.StatusConflict, "key c exists"},
		{api.PatchDataKey{Action: "rename", Name: "b", To: "../c"}, http.StatusBadRequest, "leads elsewhere"},
		{api.PatchDataKey{Action: "rename", Name: "b"}, http.StatusBadRequest, "body[1]: rename b"},
		{api.PatchDataKey{Action: "add", Name: "../x", String: new("x")}, http.StatusBadRequest, "leads elsewhere"},
		{api.PatchDataKey{Action: "add", Name: "x\n", String: new("x")}, http.StatusBadRequest, "do not print"},
		{api.PatchDataKey{Action: "add", Name: "x"}, http.StatusBadRequest, "body[1]: add x: no value"},
		{api.PatchDataKey{Action: "add", Name: "x", String: new("x"), Bytes: &[]byte{}}, http.StatusBadRequest, "not both"},
		{api.PatchDataKey{Action: "remove", Name: "b", Bytes: &[]byte{}}, http.StatusBadRequest, "takes no value"},
		{api.PatchDataKey{Action: "remove", Name: "b", String: new("x")}, http.StatusBadRequest, "takes no value"},
		{api.PatchDataKey{Action: "drop", Name: "b"}, http.StatusBadRequest, "action"},
		{api.PatchDataKey{Action: "add", Name: "big", String: new(strings.Repeat("x", 1<<20+1))}, http.StatusRequestEntityTooLarge, "node.max_key_size"},
	} {
		if detail := refused(t, c, api.PatchObjectData, patchOf(p, first, r.change), r.status); !strings.Contains(detail, r.why) {
			t.Errorf("%v: %s", r.change, detail)
		}
	}
	refused(t, c, api.PatchObjectData, patchOf(p), http.StatusBadRequest)
	if diff := cmp.Diff(want, do(t, c, api.GetObjectData, all)); diff != "" {
		t.Errorf("part of it was made: %s", diff)
	}
}

func TestTheNeedsOfKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const none, reads, writes = 0, 1, 2
	for name, levels := range map[string]map[string]int{
		"ns1/cfg/a":    {"guest:ns2 admin:ns2": none, "guest:ns1": reads, "operator:ns1": reads, "admin:ns1": writes, "root": writes},
		"ns1/sec/a":    {"guest:ns1": none, "operator:ns1": none, "admin:ns2": none, "admin:ns1": writes, "root": writes},
		"system/sec/a": {"guest": none, "admin:system": none, "admin": none, "root": writes},
		"system/usr/a": {"admin:system": none, "admin": none, "root": writes},
	} {
		p := f.create(t, name, empty)
		do(t, f.local(t), api.PostObjectDataKey, valueOf(p, "k", "v"))
		for grants, level := range levels {
			c := f.remote(t, grants)
			for operation, err := range map[string]error{
				"key": call(t, c, api.GetObjectDataKey, keyOf(p, "k")), "data": call(t, c, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p)}),
			} {
				if allowed := err == nil; allowed != (level >= reads) {
					t.Errorf("%s reads %s of %s: %v", grants, operation, name, err)
				}
			}
			for operation, err := range map[string]error{
				"patch": call(t, c, api.PatchObjectData, patchOf(p, api.PatchDataKey{Action: "change", Name: "k", String: new("v")})),
				"put":   call(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "k"), RawBody: []byte("v")}),
				"post":  errors.Join(call(t, c, api.PostObjectDataKey, valueOf(p, "x", "v")), call(t, c, api.DeleteObjectDataKey, keyOf(p, "x"))),
			} {
				if allowed := err == nil; allowed != (level >= writes) {
					t.Errorf("%s writes %s of %s: %v", grants, operation, name, err)
				}
			}
		}
	}
}

func TestAPasswordIsNotGiven(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "system/usr/ann", empty)
	do(t, c, api.PostObjectDataKey, valueOf(p, "password", "hunter2"))
	do(t, c, api.PostObjectDataKey, valueOf(p, "other", "x"))

	refused(t, c, api.GetObjectDataKey, keyOf(p, "password"), http.StatusForbidden)
	refused(t, c, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p), Keys: []string{"password"}}, http.StatusForbidden)
	refused(t, c, api.PatchObjectData, patchOf(p, api.PatchDataKey{Action: "rename", Name: "password", To: "p"}), http.StatusForbidden)
	refused(t, c, api.PostObjectDataKey, valueOf(f.create(t, "system/usr/joe", empty), "password", "\n"), http.StatusBadRequest)
	for _, patterns := range [][]string{nil, {"*"}, {"pass*", "other"}} {
		got := do(t, c, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p), Keys: patterns})
		if diff := cmp.Diff(api.DataKeys{{Name: "other", Bytes: []byte("x")}}, got); diff != "" {
			t.Errorf("%q: %s", patterns, diff)
		}
	}
	file := do(t, c, api.GetObjectConfigFile, api.Named(p))
	if bytes.Contains(file.RawBody, []byte("hunter2")) {
		t.Error("the configuration shows it")
	}
}

func TestKeysAreRefusedWhereThereAreNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc, gone := f.create(t, "ns1/svc/web", empty), path(t, "ns1/cfg/gone")
	for p, status := range map[object.Path]int{svc: http.StatusBadRequest, gone: http.StatusNotFound} {
		refused(t, c, api.GetObjectData, api.DataQuery{ObjectName: api.Named(p)}, status)
		refused(t, c, api.GetObjectDataKey, keyOf(p, "a"), status)
		refused(t, c, api.GetObjectDataKeys, api.Named(p), status)
		refused(t, c, api.PostObjectDataKey, valueOf(p, "a", "x"), status)
		refused(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a")}, status)
		refused(t, c, api.DeleteObjectDataKey, keyOf(p, "a"), status)
		refused(t, c, api.PatchObjectData, patchOf(p, api.PatchDataKey{Action: "remove", Name: "a"}), status)
	}
}

func TestTheLimitOfAValueIsThatOfTheNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "ns1/cfg/app", empty)
	op := config.Op{Key: config.Key{Section: "node", Option: "max_key_size"}, Operator: config.OpSet, Value: "1k"}
	if _, err := f.store.Update(t.Context(), object.Path{}, config.Change{Set: []config.Op{op}}); err != nil {
		t.Fatal(err)
	}

	do(t, c, api.PostObjectDataKey, valueOf(p, "a", strings.Repeat("x", 1024)))
	refused(t, c, api.PostObjectDataKey, valueOf(p, "b", strings.Repeat("x", 1025)), http.StatusRequestEntityTooLarge)
	refused(t, c, api.PutObjectDataKey, api.DataKeyChange{DataKeyName: keyOf(p, "a"), RawBody: make([]byte, 1025)}, http.StatusRequestEntityTooLarge)
}

func TestConcurrentClientsLoseNoKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.create(t, "ns1/sec/app", empty)
	var group sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f"}
	c := f.local(t)
	for _, name := range names {
		group.Go(func() {
			if err := call(t, c, api.PostObjectDataKey, valueOf(p, name, name)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	if list := do(t, f.local(t), api.GetObjectDataKeys, api.Named(p)); len(list.Items) != len(names) {
		t.Errorf("got %v", list.Items)
	}
}

func TestNoSelectorAsksAboutAFormerSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	op := config.Op{Key: config.Key{Section: "cluster", Option: "secret"}, Operator: config.OpSet, Value: "another"}
	if _, err := f.store.Update(t.Context(), object.Cluster(), config.Change{Set: []config.Op{op}}); err != nil {
		t.Fatal(err)
	}
	if err := (discoverer{f}).Refresh(object.Cluster()); err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{"cluster.former_secrets:", "cluster.FORMER_secrets~.", "cluster.former_secrets@node1~."} {
		if found := do(t, f.local(t), api.GetObjectPaths, api.ObjectPathQuery{Path: expr}); len(found) > 0 {
			t.Errorf("%s: %v", expr, found)
		}
	}
}
