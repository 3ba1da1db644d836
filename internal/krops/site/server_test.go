package site_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is an API server that holds a few kinds in memory, and fails as asked.
type server struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	kinds   map[string]string         // kind of a plural, group/version/plural
	log     []string
	fault   func(r *http.Request) http.HandlerFunc // nil lets it through
}

// The places of the kinds of a teardown.
const (
	clustersAt       = "/apis/cluster.x-k8s.io/v1beta2"
	providersAt      = "/apis/operator.cluster.x-k8s.io/v1alpha2"
	kustomizationsAt = "/apis/kustomize.toolkit.fluxcd.io/v1"
)

func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{objects: map[string]map[string]any{}, kinds: map[string]string{
		clustersAt + "/clusters":                 "Cluster",
		providersAt + "/addonproviders":          "AddonProvider",
		providersAt + "/controlplaneproviders":   "ControlPlaneProvider",
		providersAt + "/bootstrapproviders":      "BootstrapProvider",
		providersAt + "/infrastructureproviders": "InfrastructureProvider",
		providersAt + "/coreproviders":           "CoreProvider",
		kustomizationsAt + "/kustomizations":     "Kustomization",
		"/api/v1/secrets":                        "Secret",
		"/api/v1/configmaps":                     "ConfigMap",
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// put makes an object; what is deleted stays while it has finalizers.
func (s *server) put(at, namespace, plural, name string, finalizers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.kinds[at+"/"+plural]
	s.objects[at+"/namespaces/"+namespace+"/"+plural+"/"+name] = map[string]any{
		"apiVersion": strings.TrimPrefix(strings.TrimPrefix(at, "/apis/"), "/api/"), "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": name, "finalizers": finalizers}, "spec": map[string]any{},
	}
}

func (s *server) cluster(full string) {
	namespace, name, _ := strings.Cut(full, "/")
	s.put(clustersAt, namespace, "clusters", name, "cluster.cluster.x-k8s.io")
}

// journal puts what a move writes down on the cluster it takes Clusters from.
func (s *server) journal(phase string) {
	s.put("/api/v1", "default", "configmaps", "krops-move")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects["/api/v1/namespaces/default/configmaps/krops-move"]["data"] = map[string]any{"phase": phase, "objects": ""}
}

// drop takes a kind away, as if it had never been installed.
func (s *server) drop(at, plural string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kinds, at+"/"+plural)
}

// finish does what controllers do: what is being deleted goes.
func (s *server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.objects, func(_ string, o map[string]any) bool { return meta(o)["deletionTimestamp"] != nil })
}

// left lists the objects of a plural, namespace/name.
func (s *server) left(plural string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for path, o := range s.objects {
		if strings.Contains(path, "/"+plural+"/") {
			names = append(names, fmt.Sprint(meta(o)["namespace"], "/", meta(o)["name"]))
		}
	}
	slices.Sort(names)
	return names
}

// suspended tells whether a Kustomization is.
func (s *server) suspended(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, _ := s.objects[path]["spec"].(map[string]any)
	return spec["suspend"] == true
}

func (s *server) asked(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, line := range s.log {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

func (s *server) failing(f func(r *http.Request) http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func meta(o map[string]any) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	return m
}

func (s *server) kubeconfig(cluster string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"here",
		"clusters":[{"name":%q,"cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":"sesame"}}],
		"contexts":[{"name":"here","context":{"cluster":%q,"user":"u"}}]}`, cluster, s.URL, cluster)
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func status(code int, reason, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		answer(w, code, map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": strings.ToLower(reason), "details": map[string]any{"name": name},
		})
	}
}

func nonsense(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"hello":"world"}`))
}

func noPage(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		if h := fault(r); h != nil {
			h(w, r)
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == "/readyz", r.URL.Path == "/version":
		_, _ = w.Write([]byte(`ok`))
	case s.discovery(w, r):
	case r.Method == http.MethodGet && s.list(w, r):
	default:
		s.object(w, r)
	}
}

// discovery answers what there is.
func (s *server) discovery(w http.ResponseWriter, r *http.Request) bool {
	groups := map[string]string{}
	var resources []any
	for full, kind := range s.kinds {
		at := full[:strings.LastIndex(full, "/")]
		if group, version, ok := strings.Cut(strings.TrimPrefix(at, "/apis/"), "/"); ok && strings.HasPrefix(at, "/apis/") {
			groups[group] = version
		}
		if at == r.URL.Path {
			resources = append(resources, map[string]any{"name": full[strings.LastIndex(full, "/")+1:], "kind": kind, "namespaced": true})
		}
	}
	if r.URL.Path == "/apis" {
		list := []any{map[string]any{"name": "apps"}}
		for group := range groups {
			list = append(list, map[string]any{"name": group})
		}
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroupList", "groups": list})
		return true
	}
	if group := strings.TrimPrefix(r.URL.Path, "/apis/"); groups[group] != "" {
		version := map[string]any{"version": groups[group]}
		answer(w, http.StatusOK, map[string]any{"kind": "APIGroup", "name": group, "versions": []any{version}, "preferredVersion": version})
		return true
	}
	if len(resources) > 0 {
		answer(w, http.StatusOK, map[string]any{"kind": "APIResourceList", "resources": resources})
		return true
	}
	return false
}

// list answers a listing, in one namespace or in all.
func (s *server) list(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	all := path
	if before, after, ok := strings.Cut(path, "/namespaces/"); ok {
		_, plural, _ := strings.Cut(after, "/")
		all = before + "/" + plural
	}
	kind, ok := s.kinds[all]
	if !ok {
		return false
	}
	plural := all[strings.LastIndex(all, "/"):]
	items := []any{}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		within := strings.HasPrefix(at, path+"/") || path == all && strings.HasPrefix(at, strings.TrimSuffix(all, plural)+"/namespaces/") && strings.Contains(at, plural+"/")
		if within && r.URL.Query().Get("labelSelector") == "" {
			items = append(items, s.objects[at])
		}
	}
	answer(w, http.StatusOK, map[string]any{"kind": kind + "List", "items": items, "metadata": map[string]any{}})
	return true
}

// object answers what is about one object.
func (s *server) object(w http.ResponseWriter, r *http.Request) {
	at := strings.Split(r.URL.Path, "/")
	name := at[len(at)-1]
	o, ok := s.objects[r.URL.Path]
	if !ok {
		known := false
		for full := range s.kinds {
			known = known || strings.HasSuffix(full, "/"+at[max(0, len(at)-2)])
		}
		if !known {
			noPage(w, r)
			return
		}
		status(http.StatusNotFound, "NotFound", name)(w, r)
		return
	}
	switch r.Method {
	case http.MethodPatch:
		var change map[string]any
		_ = json.NewDecoder(r.Body).Decode(&change)
		spec, _ := change["spec"].(map[string]any)
		own, _ := o["spec"].(map[string]any)
		maps.Copy(own, spec)
	case http.MethodDelete:
		var how map[string]any
		_ = json.NewDecoder(r.Body).Decode(&how)
		if how["propagationPolicy"] != "Background" {
			status(http.StatusBadRequest, "BadRequest", name)(w, r)
			return
		}
		if list, _ := meta(o)["finalizers"].([]string); len(list) == 0 {
			delete(s.objects, r.URL.Path)
		} else if meta(o)["deletionTimestamp"] == nil {
			meta(o)["deletionTimestamp"] = time.Unix(0, 0).UTC().Format(time.RFC3339)
		}
	}
	answer(w, http.StatusOK, o)
}
