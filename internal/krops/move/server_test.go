package move_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// server is an API server in memory: as much of one as a move sees. It has no
// conversion and no admission but what a test adds.
type server struct {
	t    *testing.T
	name string
	http *httptest.Server

	mu      *sync.Mutex // of both servers of a pair: what one sees of the other is of one moment
	version int
	types   []*served
	objects map[string]*unstructured.Unstructured // by path
	// admit may refuse a write.
	admit func(verb string, old, now *unstructured.Unstructured) error
	// wrote is told of each change, with the lock held.
	wrote func(verb string, old, now *unstructured.Unstructured)
}

type served struct {
	group, version, resource, kind string
	namespaced                     bool
}

func newServer(t *testing.T, mu *sync.Mutex, name string) *server {
	t.Helper()
	s := &server{t: t, name: name, mu: mu, objects: map[string]*unstructured.Unstructured{}, types: []*served{
		{"", "v1", "namespaces", "Namespace", false},
		{"", "v1", "secrets", "Secret", true},
		{"", "v1", "configmaps", "ConfigMap", true},
		{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
	}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.http.Close)
	return s
}

// Config reaches the server.
func (s *server) Config() *rest.Config { return &rest.Config{Host: s.http.URL} }

// through is the server reached through a transport.
type through struct {
	*server

	wrap func(http.RoundTripper) http.RoundTripper
}

func (t through) Config() *rest.Config {
	c := t.server.Config()
	c.Wrap(t.wrap)
	return c
}

func (s *server) find(group, version, resource string) *served {
	for _, t := range s.types {
		if t.group == group && t.version == version && t.resource == resource {
			return t
		}
	}
	return nil
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	code, answer := s.answer(r, body)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(code int, reason, format string, a ...any) (int, any) {
	return code, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": fmt.Sprintf(format, a...)}
}

func missing(resource, name string) (int, any) {
	return http.StatusNotFound, map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusNotFound, "reason": "NotFound",
		"message": fmt.Sprintf("%s %q not found", resource, name), "details": map[string]any{"name": name, "kind": resource},
	}
}

func (s *server) answer(r *http.Request, body []byte) (int, any) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, version string
	switch {
	case r.URL.Path == "/api":
		return http.StatusOK, map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case r.URL.Path == "/version":
		return http.StatusOK, map[string]any{"major": "1", "minor": "37", "gitVersion": "v1.37.2"}
	case r.URL.Path == "/apis":
		return http.StatusOK, map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": s.groups()}
	case path[0] == "api" && len(path) > 1:
		version, path = path[1], path[2:]
	case path[0] == "apis" && len(path) == 2:
		for _, g := range s.groups() {
			if g["name"] == path[1] {
				return http.StatusOK, g
			}
		}
		return refuse(http.StatusNotFound, "NotFound", "no group")
	case path[0] == "apis" && len(path) > 2:
		group, version, path = path[1], path[2], path[3:]
	default:
		return refuse(http.StatusNotFound, "NotFound", "no path %s", r.URL.Path)
	}
	if len(path) == 0 {
		return s.resources(group, version)
	}
	namespace := ""
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}
	t := s.find(group, version, path[0])
	if t == nil {
		return refuse(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	}
	name := ""
	if len(path) > 1 {
		name = path[1]
	}
	return s.act(r, t, namespace, name, body)
}

func (s *server) groups() []map[string]any {
	versions := map[string][]string{}
	for _, t := range s.types {
		if t.group != "" && !slices.Contains(versions[t.group], t.version) {
			versions[t.group] = append(versions[t.group], t.version)
		}
	}
	var list []map[string]any
	for _, g := range slices.Sorted(maps.Keys(versions)) {
		var served []any
		for _, v := range versions[g] {
			served = append(served, map[string]any{"groupVersion": g + "/" + v, "version": v})
		}
		list = append(list, map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": g, "versions": served, "preferredVersion": served[0]})
	}
	return list
}

func (s *server) resources(group, version string) (int, any) {
	var list []any
	for _, t := range s.types {
		if t.group == group && t.version == version {
			list = append(list, map[string]any{"name": t.resource, "kind": t.kind, "namespaced": t.namespaced, "singularName": strings.ToLower(t.kind), "verbs": []string{"get", "list", "create", "update", "patch", "delete"}})
		}
	}
	if list == nil {
		return refuse(http.StatusNotFound, "NotFound", "no such version")
	}
	gv := strings.TrimPrefix(group+"/"+version, "/")
	return http.StatusOK, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": list}
}

func (s *server) path(t *served, namespace, name string) string {
	return t.group + "/" + t.resource + "/" + namespace + "/" + name
}

func (s *server) act(r *http.Request, t *served, namespace, name string, body []byte) (int, any) {
	at := s.path(t, namespace, name)
	old := s.objects[at]
	if name != "" && old == nil && r.Method != http.MethodPost {
		return missing(t.resource, name)
	}
	switch r.Method {
	case http.MethodGet:
		if name != "" {
			return http.StatusOK, old.Object
		}
		return http.StatusOK, s.list(r, t, namespace)
	case http.MethodPost:
		now := &unstructured.Unstructured{}
		if err := json.Unmarshal(body, &now.Object); err != nil {
			return refuse(http.StatusBadRequest, "BadRequest", "%v", err)
		}
		if s.objects[s.path(t, namespace, now.GetName())] != nil {
			return refuse(http.StatusConflict, "AlreadyExists", "%s %q already exists", t.resource, now.GetName())
		}
		if s.objects["/namespaces//"+namespace] == nil && namespace != "" {
			return missing("namespaces", namespace)
		}
		now.SetNamespace(namespace)
		now.SetUID(types.UID(fmt.Sprintf("%s-%d", s.name, s.version+1)))
		now.SetGeneration(1)
		delete(now.Object, "status")
		return s.store("create", t, nil, now, r.URL.Query().Get("dryRun") != "", http.StatusCreated)
	case http.MethodPut:
		now := &unstructured.Unstructured{}
		if err := json.Unmarshal(body, &now.Object); err != nil {
			return refuse(http.StatusBadRequest, "BadRequest", "%v", err)
		}
		if v := now.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
			return refuse(http.StatusConflict, "Conflict", "the object has been modified")
		}
		return s.store("update", t, old, now, false, http.StatusOK)
	case http.MethodPatch:
		return s.patch(r, t, old, body)
	case http.MethodDelete:
		return s.remove(t, old, body)
	}
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "no")
}

func (s *server) list(r *http.Request, t *served, namespace string) any {
	label := r.URL.Query().Get("labelSelector")
	items := []any{}
	partial := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		u := s.objects[at]
		if !strings.HasPrefix(at, t.group+"/"+t.resource+"/") || namespace != "" && u.GetNamespace() != namespace {
			continue
		}
		if _, ok := u.GetLabels()[label]; label != "" && !ok {
			continue
		}
		if partial {
			items = append(items, map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": u.Object["metadata"]})
			continue
		}
		items = append(items, u.Object)
	}
	kind, version := t.kind+"List", strings.TrimPrefix(t.group+"/"+t.version, "/")
	if partial {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	return map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": items}
}

func (s *server) patch(r *http.Request, t *served, old *unstructured.Unstructured, body []byte) (int, any) {
	var wants struct {
		Metadata struct{ ResourceVersion string }
	}
	_ = json.Unmarshal(body, &wants)
	if v := wants.Metadata.ResourceVersion; v != "" && v != old.GetResourceVersion() {
		return refuse(http.StatusConflict, "Conflict", "the object has been modified")
	}
	now := old.DeepCopy()
	if r.Header.Get("Content-Type") == string(types.JSONPatchType) {
		// The library sends but one: it sets all annotations.
		var p []struct {
			Path  string
			Value any
		}
		if json.Unmarshal(body, &p) != nil || len(p) != 1 || p[0].Path != "/metadata/annotations" {
			return refuse(http.StatusBadRequest, "BadRequest", "unknown patch")
		}
		_ = unstructured.SetNestedField(now.Object, p[0].Value, "metadata", "annotations")
	} else {
		var p map[string]any
		if err := json.Unmarshal(body, &p); err != nil {
			return refuse(http.StatusBadRequest, "BadRequest", "%v", err)
		}
		now.Object, _ = merge(now.Object, p).(map[string]any)
	}
	return s.store("patch", t, old, now, false, http.StatusOK)
}

// store stores an object, unless it is admitted not.
func (s *server) store(verb string, t *served, old, now *unstructured.Unstructured, dry bool, code int) (int, any) {
	if s.admit != nil {
		if err := s.admit(verb, old, now); err != nil {
			return refuse(http.StatusForbidden, "Forbidden", "%v", err)
		}
	}
	if dry {
		return code, now.Object
	}
	if old != nil {
		now.SetUID(old.GetUID())
		now.SetDeletionTimestamp(old.GetDeletionTimestamp())
		if fmt.Sprint(old.Object["spec"]) != fmt.Sprint(now.Object["spec"]) {
			now.SetGeneration(old.GetGeneration() + 1)
		}
		if old.Object["status"] != nil {
			now.Object["status"] = old.Object["status"]
		}
	}
	s.version++
	now.SetResourceVersion(strconv.Itoa(s.version))
	now = roundTrip(now)
	at := s.path(t, now.GetNamespace(), now.GetName())
	if now.GetDeletionTimestamp() != nil && len(now.GetFinalizers()) == 0 {
		delete(s.objects, at)
		verb = "delete"
	} else {
		s.objects[at] = now
	}
	if t.kind == "CustomResourceDefinition" {
		s.define(now)
	}
	s.tell(verb, old, now)
	return code, now.Object
}

func (s *server) tell(verb string, old, now *unstructured.Unstructured) {
	if s.wrote != nil {
		s.wrote(verb, old, now)
	}
}

func (s *server) remove(t *served, old *unstructured.Unstructured, body []byte) (int, any) {
	var wants struct {
		Preconditions struct{ UID, ResourceVersion string }
	}
	_ = json.Unmarshal(body, &wants)
	if p := wants.Preconditions; p.UID != "" && p.UID != string(old.GetUID()) || p.ResourceVersion != "" && p.ResourceVersion != old.GetResourceVersion() {
		return refuse(http.StatusConflict, "Conflict", "the preconditions do not hold")
	}
	s.version++
	if len(old.GetFinalizers()) > 0 {
		now := old.DeepCopy()
		at := metav1.Now()
		now.SetDeletionTimestamp(&at)
		now.SetResourceVersion(strconv.Itoa(s.version))
		s.objects[s.path(t, old.GetNamespace(), old.GetName())] = now
		s.tell("deleting", old, now)
		return http.StatusOK, now.Object
	}
	delete(s.objects, s.path(t, old.GetNamespace(), old.GetName()))
	s.tell("delete", old, nil)
	return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}
}

// define serves what a definition defines.
func (s *server) define(u *unstructured.Unstructured) {
	text := func(path ...string) string { v, _, _ := unstructured.NestedString(u.Object, path...); return v }
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	for _, v := range versions {
		name, _ := v.(map[string]any)["name"].(string)
		if s.find(text("spec", "group"), name, text("spec", "names", "plural")) == nil {
			s.types = append(s.types, &served{text("spec", "group"), name, text("spec", "names", "plural"), text("spec", "names", "kind"), text("spec", "scope") == "Namespaced"})
		}
	}
}

// put stores an object as the test wants it, status and all, and returns it.
func (s *server) put(u *unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u = roundTrip(u)
	group := u.GroupVersionKind().Group
	for _, t := range s.types {
		if t.group != group || t.kind != u.GetKind() || t.version != u.GroupVersionKind().Version {
			continue
		}
		s.version++
		if u.GetUID() == "" {
			u.SetUID(types.UID(fmt.Sprintf("%s-%d", s.name, s.version)))
			u.SetGeneration(1)
		}
		u.SetResourceVersion(strconv.Itoa(s.version))
		s.objects[s.path(t, u.GetNamespace(), u.GetName())] = u
		if t.kind == "CustomResourceDefinition" {
			s.define(u)
		}
		return u.DeepCopy()
	}
	s.t.Fatalf("%s does not serve %s", s.name, u.GroupVersionKind())
	return nil
}

// change changes an object.
func (s *server) change(id string, edit func(u *unstructured.Unstructured)) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.objects[id]
	if u == nil {
		s.t.Fatalf("%s has no %s", s.name, id)
	}
	u = u.DeepCopy()
	edit(u)
	s.version++
	u.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[id] = roundTrip(u)
}

// ids lists the objects of a namespace, and what lives in none, definitions apart.
func (s *server) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for id := range s.objects {
		if !strings.Contains(id, "customresourcedefinitions/") && !strings.HasPrefix(id, "/namespaces/") && !strings.Contains(id, "/providers/") && !strings.Contains(id, "krops-move") {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func (s *server) at(id string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.objects[id]; u != nil {
		return u.DeepCopy()
	}
	return nil
}

// roundTrip gives an object the types JSON has.
func roundTrip(u *unstructured.Unstructured) *unstructured.Unstructured {
	text, err := json.Marshal(u.Object)
	if err != nil {
		panic(err)
	}
	now := &unstructured.Unstructured{}
	if err := now.UnmarshalJSON(text); err != nil {
		panic(err)
	}
	return now
}

// merge is a JSON merge patch.
func merge(old, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged := map[string]any{}
	if o, ok := old.(map[string]any); ok {
		maps.Copy(merged, o)
	}
	for k, v := range p {
		if v == nil {
			delete(merged, k)
		} else {
			merged[k] = merge(merged[k], v)
		}
	}
	return merged
}
