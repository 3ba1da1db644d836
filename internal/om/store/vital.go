package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// validateVital refuses the configurations a cluster cannot live by. The first
// start of a daemon writes what is missing: until then nothing has to be there.
// What was there must remain, as keys and certificates are derived from it. In
// the configuration of a node, what is not written is that of the cluster.
func (s *Store) validateVital(p object.Path, ev *config.Evaluator, former *config.Document) []keyword.Alert {
	if !isSite(p) {
		return nil
	}
	const section = "cluster"
	var alerts []keyword.Alert
	refuse := func(kind, option, format string, a ...any) {
		comment := section + "." + option + ": " + fmt.Sprintf(format, a...)
		alerts = append(alerts, keyword.Alert{Level: keyword.LevelError, Kind: kind, Section: section, Option: option, Comment: comment})
	}
	for _, option := range []string{"id", "name", "nodes", "secret"} {
		if !ev.Doc.Mentions(section, option) {
			if !p.IsZero() && former != nil && former.Mentions(section, option) {
				refuse(keyword.AlertRequired, option, "a cluster cannot do without: change the value, do not remove it")
			}
			continue
		}
		o, ok := ev.Options(section, option)
		if !ok {
			continue
		}
		text, _, err := ev.Value(section, o)
		switch {
		case err != nil: // the schema reports it
		case strings.TrimSpace(text) == "":
			refuse(keyword.AlertRequired, option, "empty on %s: a cluster cannot do without", ev.Scope.Node)
		case option == "nodes" && !slices.Contains(strings.Fields(text), s.host.Hostname):
			refuse(AlertUnknownNode, option, "%q leaves out %s, the node this configuration is on", text, s.host.Hostname)
		}
	}
	return alerts
}

// sealedPrefix begins the values of the keys of sec and usr objects.
const sealedPrefix = "crypt:"

// validateSealed refuses the keys of sec and usr objects that are written in
// clear: whoever reads the configuration, or a backup of it, would know them.
func validateSealed(p object.Path, doc *config.Document) []keyword.Alert {
	if p.Kind != object.KindSec && p.Kind != object.KindUsr {
		return nil
	}
	var alerts []keyword.Alert
	for _, key := range doc.Keys("data") {
		if value, _ := doc.Get(key); !strings.HasPrefix(value, sealedPrefix) {
			alerts = append(alerts, keyword.Alert{
				Level: keyword.LevelError, Kind: keyword.AlertConversion, Section: key.Section, Option: scoped(key),
				Comment: fmt.Sprintf("%s: the value is not sealed: those of %s objects begin with %s, as the agent writes them", key, p.Kind, sealedPrefix),
			})
		}
	}
	return alerts
}
