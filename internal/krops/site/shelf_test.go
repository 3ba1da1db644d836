package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shelf is an API server that keeps what is applied to it, whatever kind it is of.
type shelf struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	writes  []string
	fail    map[string]http.HandlerFunc // by method and path
}

// shelved are the kinds of a shelf, by the path of their version.
func shelved() map[string]map[string]string {
	return map[string]map[string]string{
		"/api/v1":                              {"configmaps": "ConfigMap", "secrets": "Secret", "pods": "Pod"},
		"/apis/fluxcd.controlplane.io/v1":      {"fluxinstances": "FluxInstance"},
		"/apis/kustomize.toolkit.fluxcd.io/v1": {"kustomizations": "Kustomization"},
		"/apis/source.toolkit.fluxcd.io/v1":    {"gitrepositories": "GitRepository", "ocirepositories": "OCIRepository"},
		"/apis/cluster.x-k8s.io/v1beta2":       {"clusters": "Cluster"},
	}
}

func newShelf(t *testing.T, secure bool) *shelf {
	t.Helper()
	s := &shelf{objects: map[string]map[string]any{}, fail: map[string]http.HandlerFunc{}}
	if secure {
		s.Server = httptest.NewTLSServer(s)
	} else {
		s.Server = httptest.NewServer(s)
	}
	t.Cleanup(s.Close)
	return s
}

// put makes an object at a path, of the kind of the path.
func (s *shelf) put(path, text string) {
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	parts := strings.Split(path, "/")
	for version, kinds := range shelved() {
		if strings.HasPrefix(path, version+"/") {
			o["kind"], o["apiVersion"] = kinds[parts[len(parts)-2]], strings.TrimPrefix(strings.TrimPrefix(version, "/apis/"), "/api/")
		}
	}
	about, _ := o["metadata"].(map[string]any)
	if about == nil {
		about = map[string]any{}
		o["metadata"] = about
	}
	about["name"], about["namespace"], about["uid"], about["resourceVersion"] = parts[len(parts)-1], parts[len(parts)-3], "uid", "7"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = o
}

func (s *shelf) object(path string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

func (s *shelf) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}

func (s *shelf) failing(what string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(s.fail, what)
		return
	}
	s.fail[what] = h
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if r.Method != http.MethodGet {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	h := s.fail[r.Method+" "+r.URL.Path]
	s.mu.Unlock()
	if h != nil {
		h(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet && s.index(w, r.URL.Path) {
		return
	}
	s.one(w, r)
}

// index answers what there is, and listings.
func (s *shelf) index(w http.ResponseWriter, path string) bool {
	for version, kinds := range shelved() {
		group, _, _ := strings.Cut(strings.TrimPrefix(version, "/apis/"), "/")
		if path == "/apis/"+group {
			v := map[string]any{"version": version[strings.LastIndex(version, "/")+1:]}
			answer(w, http.StatusOK, map[string]any{"kind": "APIGroup", "name": group, "versions": []any{v}})
			return true
		}
		if path == version {
			var list []any
			for plural, kind := range kinds {
				list = append(list, map[string]any{"name": plural, "kind": kind, "namespaced": true})
			}
			answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "resources": list})
			return true
		}
		for plural, kind := range kinds {
			if !strings.HasPrefix(path, version+"/") || !strings.HasSuffix(path, "/"+plural) {
				continue
			}
			items := []any{}
			for at, o := range s.objects {
				if strings.HasPrefix(at, strings.TrimSuffix(path, plural)) && strings.Contains(at, "/"+plural+"/") {
					items = append(items, o)
				}
			}
			answer(w, http.StatusOK, map[string]any{"kind": kind + "List", "items": items, "metadata": map[string]any{}})
			return true
		}
	}
	return false
}

func (s *shelf) one(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	name := path[strings.LastIndex(path, "/")+1:]
	switch o := s.objects[path]; {
	case r.Method == http.MethodPatch:
		var applied map[string]any
		if err := json.NewDecoder(r.Body).Decode(&applied); err != nil || r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
			status(http.StatusBadRequest, "BadRequest", name)(w, r)
			return
		}
		s.objects[path] = applied
		answer(w, http.StatusOK, applied)
	case o == nil:
		status(http.StatusNotFound, "NotFound", name)(w, r)
	case r.Method == http.MethodDelete:
		delete(s.objects, path)
		answer(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		answer(w, http.StatusOK, o)
	}
}

// access is a kubeconfig of the shelf.
func (s *shelf) access(cluster string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":%[1]q,
		"clusters":[{"name":%[1]q,"cluster":{"server":%[2]q,"insecure-skip-tls-verify":true}}],"users":[{"name":%[1]q,"user":{"token":"t"}}],
		"contexts":[{"name":%[1]q,"context":{"cluster":%[1]q,"user":%[1]q}}]}`, cluster, s.URL)
}
