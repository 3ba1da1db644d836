package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Run is what resources are tagged with.
type Run struct {
	ID       string // "" until the run is named
	Revision string // "" when it is not given
	Kind     string

	ttl     int64 // seconds
	forever bool
}

// never is the expiry of a run that is meant to stay.
const never = "never"

func (r *Run) setTTL(text string) error {
	text = strings.TrimSpace(text)
	switch text {
	case "none":
		r.forever = true
		return nil
	case "":
		return nil
	}
	seconds, err := parseSeconds(text)
	if err != nil {
		return errors.New("KROPS_RUN_TTL must be seconds, with s, m or h at the end if you like, or none")
	}
	r.ttl = seconds
	return nil
}

func (r *Run) showTTL() string {
	if r.forever {
		return "none"
	}
	return strconv.FormatInt(r.ttl, 10) + "s"
}

// Metadata is what the ConfigMap of a run holds.
type Metadata struct{ RunID, Revision, ExpiresAt, RunKind string }

// stamp is how times are written in metadata.
const stamp = "2006-01-02T15:04:05Z"

// Metadata returns the metadata of a run that begins now. branch is the commit of
// the branch on GitHub, "" when it is not known.
func (s *Settings) Metadata(now time.Time, branch string) (Metadata, error) {
	m := Metadata{RunID: s.Run.ID, Revision: s.Run.Revision, RunKind: s.Run.Kind, ExpiresAt: never}
	if m.RunID == "" {
		m.RunID = s.Environment.Name + "-" + now.UTC().Format(stamp)
	}
	for _, revision := range []string{branch, s.OCIGitSHA, "unknown"} {
		if m.Revision == "" {
			m.Revision = revision
		}
	}
	if !s.Run.forever {
		begin := now.Unix()
		end := time.Unix(begin+s.Run.ttl, 0).UTC()
		if s.Run.ttl > math.MaxInt64-begin || end.Year() > 9999 {
			return Metadata{}, errors.New("KROPS_RUN_TTL: the run would end after the year 9999")
		}
		m.ExpiresAt = end.Format(stamp)
	}
	return m, m.check()
}

// check refuses what cannot be the value of a tag in AWS.
func (m Metadata) check() error {
	for _, tag := range []struct{ name, value string }{
		{"KROPS_RUN_ID", m.RunID}, {"KROPS_REVISION", m.Revision}, {"KROPS_EXPIRES_AT", m.ExpiresAt}, {"KROPS_RUN_KIND", m.RunKind},
	} {
		if tag.value == "" {
			return fmt.Errorf("%s is empty", tag.name)
		}
		if len(tag.value) > 256 || strings.ContainsFunc(tag.value, notInTag) {
			return fmt.Errorf("%s must be at most 256 letters, digits, spaces and _.:=+-@/", tag.name)
		}
	}
	return nil
}

func notInTag(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune(" _.:=+-@/", r)
}
