package sweep

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// Mutate replaces a rule with one that is wrong.
func (c *Cloud) Mutate(name string) {
	switch name {
	case "a prefix without its boundary":
		c.rules.role = strings.HasPrefix
	case "no look at the tags of a role":
		c.rules.foreign = func(tags, Scope) string { return "" }
		c.rules.owns = func(t tags, _ Scope) bool { return len(t.owners()) > 0 }
	case "no rival":
		c.rules.rival = func(string, []string, Scope) string { return "" }
	case "any tag of ownership":
		c.rules.tagged = func(t tags, _ config.SweepTarget) bool { return len(t.owners()) > 0 }
		c.rules.unfiltered = true
	case "no tag":
		c.rules.tagged = func(tags, config.SweepTarget) bool { return true }
		c.rules.unfiltered = true
	}
}

// Signed tells whether a text is the whole of a document.
func Signed(body []byte, want string) error { return signed(body, want) }
