package site_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// shelfOfHelm is what Helm keeps on a server: the record of one release.
type shelfOfHelm struct {
	mu     sync.Mutex
	record map[string]any // nil once it was deleted
	asked  int            // requests of any kind that lead to the record
}

const releaseAt = "/api/v1/namespaces/flux-system/secrets/sh.helm.release.v1.flux-operator.v1"

// release puts the release of flux-operator on a server, with an object it made.
func release(t *testing.T, s *server) *shelfOfHelm {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"name": "flux-operator", "namespace": "flux-system", "version": 1, "info": map[string]any{"status": "deployed"},
		"chart":    map[string]any{"metadata": map[string]any{"name": "flux-operator", "version": "0.58.0"}},
		"manifest": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: flux-system}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString // once by Helm, once by the API
	h := &shelfOfHelm{record: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": map[string]any{"release": encode([]byte(encode(text)))},
		"metadata": map[string]any{
			"namespace": "flux-system", "name": "sh.helm.release.v1.flux-operator.v1", "uid": "record",
			"labels": map[string]any{"owner": "helm", "name": "flux-operator", "status": "deployed", "version": "1"},
		},
	}}
	s.put("/api/v1", "flux-system", "configmaps", "made")
	s.mu.Lock()
	about := meta(s.objects["/api/v1/namespaces/flux-system/configmaps/made"])
	about["labels"] = map[string]any{"app.kubernetes.io/managed-by": "Helm"}
	about["annotations"] = map[string]any{"meta.helm.sh/release-name": "flux-operator", "meta.helm.sh/release-namespace": "flux-system"}
	s.mu.Unlock()
	s.failing(h.serve)
	return h
}

// serve answers what is about the record, and what Helm asks of a server.
func (h *shelfOfHelm) serve(r *http.Request) http.HandlerFunc {
	h.mu.Lock()
	defer h.mu.Unlock()
	says := func(body any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, body) }
	}
	selector := r.URL.Query().Get("labelSelector")
	switch {
	case r.URL.Path == "/api":
		return says(map[string]any{"kind": "APIVersions", "versions": []any{"v1"}})
	case r.URL.Path == "/version":
		return says(map[string]any{"major": "1", "minor": "37"})
	case r.URL.Path+"/" == releaseAt[:strings.LastIndex(releaseAt, "/")+1] && strings.Contains(selector, "owner=helm"):
		h.asked++
		items := []any{}
		if h.record != nil && strings.Contains(selector+",", "name=flux-operator,") {
			items = append(items, h.record)
		}
		return says(map[string]any{"apiVersion": "v1", "kind": "SecretList", "metadata": map[string]any{}, "items": items})
	case r.URL.Path != releaseAt:
		return nil
	}
	h.asked++
	if h.record == nil {
		return status(http.StatusNotFound, "NotFound", "flux-operator")
	}
	was := h.record
	if r.Method == http.MethodDelete {
		h.record = nil
	}
	return says(was)
}

func (h *shelfOfHelm) state() (there bool, asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.record != nil, h.asked
}

// D10: whatever the kubeconfigs and contexts of the user are.
func TestD10AReleaseIsUninstalledFromTheKindClusterAndNowhereElse(t *testing.T) { //nolint:paralleltest // it sets variables
	const own = "default/eu-north-1-management"
	kind, target := furnished(t, own), furnished(t)
	played(t, kind)
	there, elsewhere := release(t, kind), release(t, target)
	ambient := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(ambient, target.kubeconfig("elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"KUBECONFIG": ambient, "HELM_KUBECONTEXT": "here", "HELM_KUBEAPISERVER": target.URL, "HELM_NAMESPACE": "default", "HELM_DRIVER": "memory",
	} {
		t.Setenv(name, value)
	}
	x := set(t, "aws", kind, target)

	if err := x.teardown(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(x.lines, "\n"))
	}

	if left, _ := there.state(); left || len(kind.left("configmaps")) > 0 {
		t.Errorf("the release stays: its record %t, what it made %v\n%s", left, kind.left("configmaps"), strings.Join(x.lines, "\n"))
	}
	if left, asked := elsewhere.state(); !left || asked > 0 || len(target.left("configmaps")) != 1 {
		t.Errorf("the other cluster: its record %t after %d questions, what it made %v", left, asked, target.left("configmaps"))
	}
}
