package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// Version is one version of an API as its service describes it.
type Version struct {
	ID     string // v2.1
	Status string // CURRENT
	URL    string // where it is, "" when the service does not say
	// Min and Max are its microversions, "" when it has none.
	Min, Max string
}

type versionAnswer struct {
	ID     string          `json:"id"`
	Status string          `json:"status"`
	Min    string          `json:"min_version"`
	Max    string          `json:"max_version"`
	Now    json.RawMessage `json:"version"` // in ironic also an object
	Links  []struct {
		Rel  string `json:"rel"`
		Href string `json:"href"`
	} `json:"links"`
}

// Discover reads the versions a service lists at an address, with the token when
// the address is one of the catalogue.
func (c *Cloud) Discover(ctx context.Context, address string) ([]Version, error) {
	token, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	k := call{service: "version", method: http.MethodGet, url: address, header: http.Header{"Accept": {"application/json"}}, ok: []int{http.StatusOK, http.StatusMultipleChoices}}
	if token.ID != "" && c.trusted(token, Service{Endpoint: c.settings.text("endpoint")}, address) {
		k.header.Set("X-Auth-Token", token.ID)
	}
	a, err := c.exchange(ctx, k)
	if err != nil {
		return nil, err
	}
	defer a.close()
	var document struct {
		Versions json.RawMessage `json:"versions"`
		Version  json.RawMessage `json:"version"`
	}
	if err := a.decode(&document); err != nil {
		return nil, err
	}
	var list []versionAnswer
	if json.Unmarshal(document.Versions, &list) != nil {
		var values struct {
			Values []versionAnswer `json:"values"`
		}
		if json.Unmarshal(document.Versions, &values) == nil {
			list = values.Values
		}
	}
	var one versionAnswer
	if json.Unmarshal(document.Version, &one) == nil && one.ID != "" {
		list = append(list, one)
	}
	found := make([]Version, 0, len(list))
	for _, v := range list {
		found = append(found, v.version())
	}
	return found, nil
}

func (v versionAnswer) version() Version {
	made := Version{ID: v.ID, Status: v.Status, Min: v.Min, Max: v.Max}
	if made.Max == "" {
		_ = json.Unmarshal(v.Now, &made.Max)
	}
	for _, l := range v.Links {
		if l.Rel == "self" {
			made.URL = l.Href
		}
	}
	return made
}

// root is an address up to its version: that of the document that describes it.
func root(endpoint string) (address, version string) {
	scheme, rest, _ := strings.Cut(endpoint, "://")
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		if i > 0 && isVersion(s) {
			return scheme + "://" + strings.Join(segments[:i+1], "/") + "/", s
		}
	}
	return strings.TrimRight(endpoint, "/") + "/", ""
}

// Microversions asks the service which microversions it has, once in a run.
func (s Service) Microversions(ctx context.Context) (Range, error) {
	k := &s.cloud.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.seen[s.Endpoint]; ok {
		return r, nil
	}
	address, version := root(s.Endpoint)
	list, err := s.cloud.Discover(ctx, address)
	if err != nil {
		return Range{}, err
	}
	var r Range
	major, _, _ := strings.Cut(version, ".")
	for _, v := range list {
		if m, _, _ := strings.Cut(v.ID, "."); (version == "" || m == major) && v.Max != "" {
			r = Range{Min: v.Min, Max: v.Max}
			if v.ID == version {
				break
			}
		}
	}
	if k.seen == nil {
		k.seen = map[string]Range{}
	}
	k.seen[s.Endpoint] = r
	return r, nil
}

// Negotiate is the service with the highest microversion that it and the caller
// know, unless the user pinned one. A service without microversions gets none.
func (s Service) Negotiate(ctx context.Context, highest string) (Service, error) {
	if s.pinned {
		return s, nil
	}
	r, err := s.Microversions(ctx)
	if err != nil {
		return s, err
	}
	switch {
	case r.Max == "" || !AtLeast(highest, r.Min):
		s.Microversion = ""
	case AtLeast(r.Max, highest):
		s.Microversion = highest
	default:
		s.Microversion = r.Max
	}
	return s, nil
}

// moved looks for the version a service has where none was to be found: its own
// document tells the address. It is asked only when something is amiss, and once.
func (c *Cloud) moved(ctx context.Context, s Service) (Service, bool) {
	if s.base == "" {
		return s, false
	}
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	there, known := c.known.moved[s.base]
	if !known {
		there = c.search(ctx, s)
		if c.known.moved == nil {
			c.known.moved = map[string]string{}
		}
		c.known.moved[s.base] = there
	}
	if there == "" || there == s.Endpoint {
		return s, false
	}
	s.Endpoint, s.base = there, ""
	return s, true
}

// search is the endpoint that the document of a service names, "" for none.
func (c *Cloud) search(ctx context.Context, s Service) string {
	list, err := c.Discover(ctx, strings.TrimRight(s.base, "/")+"/")
	if err != nil {
		return ""
	}
	_, want := root(s.Endpoint)
	want, _, _ = strings.Cut(want, ".")
	for _, v := range list {
		if major, _, _ := strings.Cut(v.ID, "."); major != want || v.URL == "" {
			continue
		}
		// The service may know itself by another name: only its path counts.
		if address, err := rebase(v.URL, s.base); err == nil {
			return strings.TrimRight(address, "/")
		}
	}
	return ""
}
