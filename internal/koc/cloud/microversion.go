package cloud

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// versions are what services said of the microversions they have, by endpoint.
type versions struct {
	mu   sync.Mutex
	seen map[string]Range
}

// Range is the microversions a service has.
type Range struct{ Min, Max string }

// microversion is what is asked of a service without a word of the command:
// what the user pinned, else the habit of the voice.
func (s *settings) microversion(k kind, compat bool) (v string, pinned bool) {
	for _, name := range []string{k.setting + "_api_version", k.setting + "_default_microversion", strings.ReplaceAll(k.typ, "-", "_") + "_default_microversion"} {
		v := s.text(name)
		if k.def == "" || v == "" {
			continue
		}
		if v == "latest" {
			return v, true
		}
		major, minor, _ := strings.Cut(v, ".")
		if minor == "latest" {
			return "latest", true
		}
		if _, err := strconv.Atoi(major); err == nil && minor != "" {
			return v, true
		}
		// A version of the whole API, as in volume_api_version: 3.
	}
	if compat {
		return k.compat, false
	}
	return k.def, false
}

// Pinned reports whether the user asked for the microversion, by flag,
// environment or clouds.yaml: commands leave it alone then.
func (s Service) Pinned() bool { return s.pinned }

// Default is the service with another microversion, unless the user pinned one.
func (s Service) Default(microversion string) Service {
	if !s.pinned {
		s.Microversion = microversion
	}
	return s
}

// microversion adds the headers that ask for it.
func (s Service) microversion(h http.Header) {
	v := s.Microversion
	if v == "" {
		return
	}
	switch s.Type {
	case "compute":
		h.Set("X-OpenStack-Nova-API-Version", v)
	case "baremetal":
		h.Set("X-OpenStack-Ironic-API-Version", v)
	case "baremetal-introspection":
		h.Set("X-OpenStack-Ironic-Inspector-API-Version", v)
	}
	h.Set("OpenStack-API-Version", fmt.Sprintf("%s %s", s.Type, v))
}
