// Package cloudtest is a small OpenStack cloud in memory, served over HTTP, for
// the tests of koc that need a whole cloud and for its benchmarks. It keeps what
// is created, answers with the envelopes, links, faults and state changes of the
// services, and refuses what they refuse; it moves nothing and stores no bytes but
// those of images.
//
//	/identity/v3  /compute/v2.1  /network/v2.0  /image/v2  /volume/v3/{project}  /placement
//
// Scripts that pass here also run on a real cloud: where the two differ, this
// package is wrong.
package cloudtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the cloud knows when it starts.
const (
	Username = "admin"
	Password = "secret"
	Project  = "admin"
	Region   = "RegionOne"
)

// object is a thing as JSON.
type object = map[string]any

// Cloud is a running cloud.
type Cloud struct {
	// URL is the address of the identity service, with its version.
	URL string

	root     string
	kinds    []*kind
	listener net.Listener
	server   *http.Server

	mu       sync.Mutex // guards what follows
	serial   int
	things   map[*kind][]object
	tokens   map[string]bool
	requests []string
	pageSize int
	expireIn int
	missing  map[string]bool
	fail     []failure
	blobs    map[string][]byte
	grants   map[string]bool
}

type failure struct {
	method, prefix string
	status, times  int
}

// Start runs a cloud on a free port of the loopback address. Close ends it.
func Start() (*Cloud, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of a test
	if err != nil {
		return nil, err
	}
	c := &Cloud{
		listener: listener, root: "http://" + listener.Addr().String(),
		kinds: kinds(), things: map[*kind][]object{}, tokens: map[string]bool{}, missing: map[string]bool{},
		blobs: map[string][]byte{}, grants: map[string]bool{}, pageSize: 1000, expireIn: -1,
	}
	c.URL = c.root + "/identity/v3"
	c.server = &http.Server{Handler: http.HandlerFunc(c.serve), ReadHeaderTimeout: 10 * time.Second}
	c.seed()
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// Close ends the cloud.
func (c *Cloud) Close() error { return c.server.Close() }

// Env is the environment that leads koc to the cloud.
func (c *Cloud) Env() []string {
	return []string{
		"OS_AUTH_URL=" + c.URL, "OS_USERNAME=" + Username, "OS_PASSWORD=" + Password, "OS_PROJECT_NAME=" + Project,
		"OS_USER_DOMAIN_NAME=Default", "OS_PROJECT_DOMAIN_NAME=Default", "OS_REGION_NAME=" + Region,
	}
}

// SetPageSize bounds the pages of lists.
func (c *Cloud) SetPageSize(n int) { c.mu.Lock(); defer c.mu.Unlock(); c.pageSize = n }

// ExpireTokensAfter makes the tokens of now invalid after n more requests.
func (c *Cloud) ExpireTokensAfter(n int) { c.mu.Lock(); defer c.mu.Unlock(); c.expireIn = n }

// WithoutService takes a service out of the catalogue.
func (c *Cloud) WithoutService(typ string) { c.mu.Lock(); defer c.mu.Unlock(); c.missing[typ] = true }

// Fail makes the next requests of a method whose path begins with a prefix, such
// as /compute/v2.1/servers, fail with a status.
func (c *Cloud) Fail(method, prefix string, status, times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = append(c.fail, failure{method, prefix, status, times})
}

// Requests returns the requests served: "GET /compute/v2.1/servers?limit=1".
func (c *Cloud) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// id makes the next identifier: they are the same in each run.
func (c *Cloud) id() string {
	c.serial++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", 0xc10d0000+c.serial, c.serial)
}

// Default attributes of things have the time of their creation; it stands still.
const now = "2026-01-02T03:04:05Z"

// request is one request on its way through the services.
type request struct {
	*http.Request
	service string
	path    []string // below the version
	body    object
	raw     []byte
	query   url.Values
}

// answer is what a service answers.
type answer struct {
	status int
	body   any
	header map[string]string
}

func (c *Cloud) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r.Method+" "+r.URL.RequestURI())
	raw, _ := io.ReadAll(r.Body)
	req := &request{Request: r, raw: raw, query: r.URL.Query()}
	_ = json.Unmarshal(raw, &req.body)
	a := c.route(req)
	w.Header().Set("X-Openstack-Request-Id", fmt.Sprintf("req-%08d", len(c.requests)))
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	switch body := a.body.(type) {
	case nil:
		w.WriteHeader(a.status)
	case []byte:
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(a.status)
		_, _ = w.Write(body)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (c *Cloud) route(r *request) answer {
	for i, f := range c.fail {
		if f.times > 0 && r.Method == f.method && strings.HasPrefix(r.URL.Path, f.prefix) {
			c.fail[i].times--
			return refuse(serviceOf(r.URL.Path), f.status, http.StatusText(f.status))
		}
	}
	r.service = serviceOf(r.URL.Path)
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	skip := 2
	switch r.service {
	case "volume":
		skip = 3
	case "placement":
		skip = 1
	}
	if len(parts) <= skip && r.service != "placement" || r.service == "" {
		return c.versions(r)
	}
	r.path = parts[min(skip, len(parts)):]
	if r.service == "identity" && r.path[0] == "auth" && r.Method == http.MethodPost {
		return c.issue(r)
	}
	if c.expireIn == 0 {
		c.expireIn = -1
		clear(c.tokens)
	} else if c.expireIn > 0 {
		c.expireIn--
	}
	if !c.tokens[r.Header.Get("X-Auth-Token")] {
		return refuse(r.service, http.StatusUnauthorized, "The request you have made requires authentication.")
	}
	for _, special := range specials() {
		if special.service == r.service {
			if a := special.serve(c, r); a != nil {
				return *a
			}
		}
	}
	return c.collection(r)
}

func serviceOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch name {
	case "identity", "compute", "network", "image", "volume", "placement":
		return name
	}
	return ""
}

func (c *Cloud) versions(r *request) answer {
	version := map[string]string{"identity": "v3", "compute": "v2.1", "network": "v2.0", "image": "v2", "volume": "v3", "placement": ""}[r.service]
	v := object{"id": version, "status": "CURRENT", "links": []any{object{"rel": "self", "href": c.root + "/" + r.service + "/" + version + "/"}}}
	if r.service == "compute" {
		v["version"], v["min_version"] = "2.96", "2.1"
	}
	if r.service == "volume" {
		v["version"], v["min_version"] = "3.71", "3.0"
	}
	return answer{status: http.StatusOK, body: object{"versions": []any{v}}}
}

// issue gives a token for the right password.
func (c *Cloud) issue(r *request) answer {
	var in struct {
		Auth struct {
			Identity struct {
				Methods  []string
				Password struct {
					User struct{ Name, ID, Password string }
				}
				Token struct{ ID string }
			}
			Scope any
		}
	}
	_ = json.Unmarshal(r.raw, &in)
	user := in.Auth.Identity.Password.User
	good := cmp.Or(user.Name, user.ID) == Username && user.Password == Password || c.tokens[in.Auth.Identity.Token.ID]
	if !good {
		return refuse("identity", http.StatusUnauthorized, "The request you have made requires authentication.")
	}
	project := c.find(c.kind("identity", "projects"), Project)
	id := "token-" + c.id()
	c.tokens[id] = true
	return answer{status: http.StatusCreated, header: map[string]string{"X-Subject-Token": id}, body: object{"token": object{
		"methods": []any{"password"}, "issued_at": "2026-01-02T03:04:05.000000Z", "expires_at": "2999-01-01T00:00:00.000000Z",
		"user":    object{"id": "admin-user", "name": Username, "domain": object{"id": "default", "name": "Default"}},
		"project": object{"id": project["id"], "name": Project, "domain": object{"id": "default", "name": "Default"}},
		"roles":   []any{object{"id": "admin-role", "name": "admin"}},
		"catalog": c.catalog(),
	}}}
}

func (c *Cloud) catalog() []any {
	project, _ := c.find(c.kind("identity", "projects"), Project)["id"].(string)
	var out []any
	for _, s := range [][3]string{
		{"identity", "keystone", "/identity/v3"},
		{"compute", "nova", "/compute/v2.1"},
		{"network", "neutron", "/network"},
		{"image", "glance", "/image"},
		{"volumev3", "cinderv3", "/volume/v3/" + project},
		{"placement", "placement", "/placement"},
	} {
		if c.missing[s[0]] {
			continue
		}
		var ends []any
		for _, face := range []string{"public", "internal", "admin"} {
			ends = append(ends, object{"id": s[1] + "-" + face, "interface": face, "region": Region, "region_id": Region, "url": c.root + s[2]})
		}
		out = append(out, object{"id": s[1], "type": s[0], "name": s[1], "endpoints": ends})
	}
	return out
}

// refuse is a fault in the shape of its service.
func refuse(service string, status int, message string) answer {
	var body any
	switch service {
	case "identity":
		body = object{"error": object{"code": status, "message": message, "title": http.StatusText(status)}}
	case "network":
		body = object{"NeutronError": object{"type": strings.ReplaceAll(http.StatusText(status), " ", ""), "message": message, "detail": ""}}
	case "image":
		body = object{"message": message, "code": fmt.Sprintf("%d %s", status, http.StatusText(status)), "title": http.StatusText(status)}
	case "placement":
		body = object{"errors": []any{object{"status": status, "detail": message, "title": http.StatusText(status)}}}
	default:
		name := map[int]string{400: "badRequest", 404: "itemNotFound", 403: "forbidden", 409: "conflictingRequest", 413: "overLimit"}[status]
		body = object{cmp.Or(name, "computeFault"): object{"code": status, "message": message}}
	}
	return answer{status: status, body: body}
}
