// Package cluster holds the state of a cluster as immutable values: what each
// node says of itself and of its instances, and what follows from it for an
// object. JSON names are those of the API. The package is pure.
package cluster

import "fmt"

// Status is the availability of a resource, an instance or an object.
type Status int

// The statuses. [StandbyUpWithUp] and [StandbyUpWithDown] only exist inside a
// merge: they remember what was merged, and print as "up" and "stdby up".
const (
	Undef Status = iota
	NotApplicable
	Up
	Down
	Warn
	StandbyUp
	StandbyDown
	StandbyUpWithUp
	StandbyUpWithDown
)

var statusNames = [...]string{"undef", "n/a", "up", "down", "warn", "stdby up", "stdby down", "up", "stdby up"}

// String returns the word the documentation uses.
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return "undef"
	}
	return statusNames[s]
}

// ParseStatus reads the word printed by [Status.String].
func ParseStatus(w string) (Status, error) {
	for i, n := range statusNames[:StandbyUpWithUp] {
		if n == w {
			return Status(i), nil
		}
	}
	return Undef, fmt.Errorf("unknown status %q: use one of up, down, warn, stdby up, stdby down, n/a, undef", w)
}

// MarshalText returns the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *Status) UnmarshalText(b []byte) (err error) {
	*s, err = ParseStatus(string(b))
	return err
}

// Plain drops the memory of a merge: what remains is one of the seven words.
func (s Status) Plain() Status {
	switch s {
	case StandbyUpWithUp:
		return Up
	case StandbyUpWithDown:
		return StandbyUp
	case Undef, NotApplicable, Up, Down, Warn, StandbyUp, StandbyDown:
		return s
	}
	return Undef
}

// Provisioned tells whether what a configuration describes was made.
type Provisioned int

// The provisioned states.
const (
	ProvisionedUndef Provisioned = iota
	ProvisionedNotApplicable
	ProvisionedTrue
	ProvisionedFalse
	ProvisionedMixed
)

var provisionedNames = [...]string{"undef", "n/a", "true", "false", "mixed"}

// String returns the word the documentation uses.
func (p Provisioned) String() string {
	if p < 0 || int(p) >= len(provisionedNames) {
		return "undef"
	}
	return provisionedNames[p]
}

// MarshalText returns the word.
func (p Provisioned) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the word.
func (p *Provisioned) UnmarshalText(b []byte) error {
	for i, n := range provisionedNames {
		if n == string(b) {
			*p = Provisioned(i)
			return nil
		}
	}
	return fmt.Errorf("unknown provisioned state %q", b)
}
