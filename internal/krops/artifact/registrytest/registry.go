// Package registrytest is an OCI registry in memory for tests: it speaks the
// distribution API, checks every digest, and refuses a manifest whose blobs it
// does not have. It is made for small artifacts and few clients.
package registrytest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
)

// A Registry is an [http.Handler] that keeps what is pushed to it.
type Registry struct {
	mu           sync.Mutex
	repositories map[string]*repository
	uploads      map[string][]byte
	writes       int
}

type repository struct {
	blobs     map[digest.Digest][]byte
	manifests map[digest.Digest]manifest
	tags      map[string]digest.Digest
}

type manifest struct {
	mediaType string
	data      []byte
}

// New returns a registry that is empty.
func New() *Registry {
	return &Registry{repositories: map[string]*repository{}, uploads: map[string][]byte{}}
}

// Manifest returns the manifest a tag or a digest names, nil when there is none.
func (r *Registry) Manifest(name, reference string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if repo := r.repositories[name]; repo != nil {
		return repo.manifests[repo.resolve(reference)].data
	}
	return nil
}

// Blob returns a blob, nil when there is none.
func (r *Registry) Blob(name, id string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if repo := r.repositories[name]; repo != nil {
		return repo.blobs[digest.Digest(id)]
	}
	return nil
}

// Writes counts the manifests that were pushed, those known already included.
func (r *Registry) Writes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}

func (r *repository) resolve(reference string) digest.Digest {
	if id, ok := r.tags[reference]; ok {
		return id
	}
	return digest.Digest(reference)
}

// problem is an answer that is an error.
type problem struct {
	status        int
	code, message string
}

var route = regexp.MustCompile(`^/v2/([a-z0-9._/-]+)/(blobs/uploads|blobs|manifests|tags)/(.*)$`)

// ServeHTTP answers a request.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path == "/v2/" || q.URL.Path == "/v2" {
		w.WriteHeader(http.StatusOK)
		return
	}
	parts := route.FindStringSubmatch(q.URL.Path)
	if parts == nil {
		write(w, &problem{http.StatusNotFound, "NAME_INVALID", "no such route"})
		return
	}
	name, reference := parts[1], parts[3]
	repo := r.repositories[name]
	if repo == nil {
		repo = &repository{map[digest.Digest][]byte{}, map[digest.Digest]manifest{}, map[string]digest.Digest{}}
	}
	var wrong *problem
	switch parts[2] {
	case "blobs/uploads":
		r.repositories[name] = repo
		wrong = r.upload(w, q, name, repo, reference)
	case "blobs":
		wrong = repo.blob(w, q, digest.Digest(reference))
	case "manifests":
		if q.Method == http.MethodPut {
			r.repositories[name] = repo
			r.writes++
		}
		wrong = repo.manifest(w, q, name, reference)
	case "tags":
		wrong = repo.list(w, name)
	}
	if wrong != nil {
		write(w, wrong)
	}
}

func write(w http.ResponseWriter, p *problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": p.code, "message": p.message}}})
}

// upload takes a blob: at once, or in chunks that a last request closes.
func (r *Registry) upload(w http.ResponseWriter, q *http.Request, name string, repo *repository, id string) *problem {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return &problem{http.StatusBadRequest, "BLOB_UPLOAD_INVALID", err.Error()}
	}
	if q.Method == http.MethodPost && id == "" {
		id = rand.Text()
		r.uploads[id] = nil
	}
	if _, ok := r.uploads[id]; !ok {
		return &problem{http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN", id}
	}
	r.uploads[id] = append(r.uploads[id], body...)
	location := fmt.Sprintf("/v2/%s/blobs/uploads/%s", name, id)
	if want := q.URL.Query().Get("digest"); want != "" {
		data := r.uploads[id]
		delete(r.uploads, id)
		if digest.FromBytes(data).String() != want {
			return &problem{http.StatusBadRequest, "DIGEST_INVALID", want}
		}
		repo.blobs[digest.Digest(want)] = data
		w.Header().Set("Location", fmt.Sprintf("/v2/%s/blobs/%s", name, want))
		w.Header().Set("Docker-Content-Digest", want)
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	if q.Method == http.MethodPut {
		return &problem{http.StatusBadRequest, "DIGEST_INVALID", "a blob is closed with its digest"}
	}
	w.Header().Set("Location", location)
	w.Header().Set("Range", "0-"+strconv.Itoa(max(len(r.uploads[id])-1, 0)))
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (r *repository) blob(w http.ResponseWriter, q *http.Request, id digest.Digest) *problem {
	data, ok := r.blobs[id]
	if !ok {
		return &problem{http.StatusNotFound, "BLOB_UNKNOWN", id.String()}
	}
	answer(w, q, id, "application/octet-stream", data)
	return nil
}

func answer(w http.ResponseWriter, q *http.Request, id digest.Digest, mediaType string, data []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.Header().Set("Docker-Content-Digest", id.String())
	w.WriteHeader(http.StatusOK)
	if q.Method == http.MethodGet {
		_, _ = w.Write(data)
	}
}

func (r *repository) manifest(w http.ResponseWriter, q *http.Request, name, reference string) *problem {
	if q.Method == http.MethodPut {
		return r.put(w, q, name, reference)
	}
	id := r.resolve(reference)
	m, ok := r.manifests[id]
	if !ok {
		return &problem{http.StatusNotFound, "MANIFEST_UNKNOWN", reference}
	}
	answer(w, q, id, m.mediaType, m.data)
	return nil
}

func (r *repository) put(w http.ResponseWriter, q *http.Request, name, reference string) *problem {
	data, err := io.ReadAll(q.Body)
	if err != nil {
		return &problem{http.StatusBadRequest, "MANIFEST_INVALID", err.Error()}
	}
	var m struct {
		MediaType string
		Config    struct{ Digest digest.Digest }
		Layers    []struct{ Digest digest.Digest }
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return &problem{http.StatusBadRequest, "MANIFEST_INVALID", err.Error()}
	}
	mediaType := q.Header.Get("Content-Type")
	if m.MediaType != "" && m.MediaType != mediaType {
		return &problem{http.StatusBadRequest, "MANIFEST_INVALID", "the media type is not that of the request"}
	}
	needed := m.Layers
	if m.Config.Digest != "" {
		needed = append(needed, m.Config)
	}
	for _, b := range needed {
		if _, ok := r.blobs[b.Digest]; !ok {
			return &problem{http.StatusBadRequest, "MANIFEST_BLOB_UNKNOWN", b.Digest.String()}
		}
	}
	id := digest.FromBytes(data)
	if strings.Contains(reference, ":") {
		if reference != id.String() {
			return &problem{http.StatusBadRequest, "DIGEST_INVALID", reference}
		}
	} else {
		r.tags[reference] = id
	}
	r.manifests[id] = manifest{mediaType, data}
	w.Header().Set("Location", fmt.Sprintf("/v2/%s/manifests/%s", name, id))
	w.Header().Set("Docker-Content-Digest", id.String())
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (r *repository) list(w http.ResponseWriter, name string) *problem {
	if len(r.tags) == 0 {
		return &problem{http.StatusNotFound, "NAME_UNKNOWN", name}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": slices.Sorted(maps.Keys(r.tags))})
	return nil
}
