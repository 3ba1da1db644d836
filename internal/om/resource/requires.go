package resource

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
)

// Requirement is the state another resource must be in.
type Requirement struct {
	RID    string
	States []cluster.Status
}

// Met reports whether a resource of that status satisfies the requirement.
func (r Requirement) Met(s cluster.Status) bool { return slices.Contains(r.States, s) }

// String is the requirement as it is written.
func (r Requirement) String() string {
	words := make([]string, len(r.States))
	for i, s := range r.States {
		words[i] = s.String()
	}
	return r.RID + "(" + strings.Join(words, ",") + ")"
}

var requirementPattern = regexp.MustCompile(`^\s*([\w#.:-]+)(?:\(([\w\s,/]*)\))?(?:\s+|$)`)

// ParseRequirements reads rid(state,...) items separated by blanks. States left
// out mean up or stdby up.
func ParseRequirements(text string) ([]Requirement, error) {
	var list []Requirement
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := requirementPattern.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("requirements %q: cannot read %q: write rid or rid(state,...), separated by blanks", text, strings.TrimSpace(rest))
		}
		rest = rest[len(m[0]):]
		r := Requirement{RID: m[1]}
		for word := range strings.SplitSeq(m[2], ",") {
			word = strings.Join(strings.Fields(word), " ")
			if word == "" {
				continue
			}
			s, err := cluster.ParseStatus(word)
			if err != nil {
				return nil, fmt.Errorf("requirements %q: %w", text, err)
			}
			r.States = append(r.States, s)
		}
		if r.States == nil {
			r.States = []cluster.Status{cluster.Up, cluster.StandbyUp}
		}
		list = append(list, r)
	}
	return list, nil
}

func checkRequirements(text string) error {
	_, err := ParseRequirements(text)
	return err
}

// required lists the resources that requirements look at.
func required(text string) []string {
	list, err := ParseRequirements(text)
	if err != nil {
		return nil
	}
	rids := make([]string, len(list))
	for i, r := range list {
		rids[i] = r.RID
	}
	return rids
}
