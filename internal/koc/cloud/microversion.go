package cloud

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// versions are what services said of their versions.
type versions struct {
	mu    sync.Mutex        // guards what follows
	seen  map[string]Range  // microversions, by endpoint
	moved map[string]string // endpoints that are not where they were expected
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

// versioned refuses what is no version, which would be taken for none.
func (s *settings) versioned() error {
	for _, k := range kinds[:] {
		v, ok := s.values[k.setting+"_api_version"]
		if !ok || k.def == "" || v.Value == "latest" {
			continue
		}
		major, minor, has := strings.Cut(strings.TrimPrefix(v.Value, "v"), ".")
		if _, err := strconv.ParseUint(major, 10, 16); err == nil && minor != "latest" && has {
			_, err = strconv.ParseUint(minor, 10, 16)
			ok = err == nil
		} else {
			ok = err == nil
		}
		if !ok {
			return fmt.Errorf("%s=%q: expected a version such as 2.79, or latest", v.origin(k.setting+"_api_version"), v.Value)
		}
	}
	return nil
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

// AtLeast reports whether a microversion is another one or later. "latest" is
// later than all, "" earlier.
func AtLeast(version, wanted string) bool {
	if version == "latest" {
		return true
	}
	if version == "" || wanted == "latest" {
		return wanted == ""
	}
	major, minor := numbers(version)
	wantedMajor, wantedMinor := numbers(wanted)
	return major > wantedMajor || major == wantedMajor && minor >= wantedMinor
}

func numbers(version string) (major, minor int) {
	a, b, _ := strings.Cut(version, ".")
	major, _ = strconv.Atoi(a)
	minor, _ = strconv.Atoi(b)
	return major, minor
}

// Has reports whether the microversion that is asked for is the given one or later.
func (s Service) Has(wanted string) bool { return AtLeast(s.Microversion, wanted) }

// Needs is the error of a flag or command that needs a later microversion than
// the one that is asked for, nil when that is late enough.
func (s Service) Needs(wanted, what string) error {
	if s.Has(wanted) {
		return nil
	}
	asked := "none is asked for"
	if s.Microversion != "" {
		asked = s.Microversion + " is asked for"
	}
	return fmt.Errorf("%s requires %s API microversion %s or later, and %s (--os-%s-api-version)", what, s.Type, wanted, asked, kindOf(s.Type).flag())
}
