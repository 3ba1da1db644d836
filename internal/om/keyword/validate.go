package keyword

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/config"
)

// Level is how bad an alert is.
type Level string

// The levels: an error refuses the configuration.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Alert is something wrong in a configuration.
type Alert struct {
	Level   Level  `json:"level"`
	Kind    string `json:"kind"` // one of the Alert constants
	Section string `json:"section"`
	Option  string `json:"option"` // with its scope, empty when the section itself is wrong
	Driver  string `json:"driver"`
	Comment string `json:"comment"` // the whole message
}

// Key names what the alert is about, as "app#1.start@n1".
func (a Alert) Key() string {
	switch {
	case a.Option == "":
		return a.Section
	case a.Section == config.DefaultSection:
		return a.Option
	default:
		return a.Section + "." + a.Option
	}
}

// The kinds of alerts.
const (
	AlertUnknownSection = "unknown section"
	AlertUnknownDriver  = "unknown driver"
	AlertUnknownKeyword = "unknown keyword"
	AlertScoping        = "scoping"
	AlertEvaluation     = "evaluation"
	AlertCandidate      = "not a candidate"
	AlertConversion     = "does not convert"
	AlertRequired       = "required"
	AlertDeprecated     = "deprecated"
	AlertDuplicate      = "duplicate"
	AlertDepends        = "depends"
	AlertReference      = "no such section"
)

// Validate checks the whole document of ev, as the node of ev reads it: another
// node may read other scopes, so the caller goes through the nodes. Values known
// only at run time are taken as right.
func (s *Schema) Validate(ev *config.Evaluator, c Context) []Alert {
	seen := *ev
	view := s.view(ev.Doc)
	if seen.Options == nil {
		seen.Options = s.Options(ev.Doc)
	}
	v := validation{view: view, ev: seen.Pass(), context: c, told: map[Alert]bool{}}
	names := ev.Doc.Sections()
	if s.declaration(config.DefaultSection) != nil && !ev.Doc.Has(config.DefaultSection) {
		names = slices.Insert(names, 0, config.DefaultSection)
	}
	for _, name := range names {
		if !v.exhausted {
			v.checkSection(name)
		}
	}
	v.checkDuplicates()
	return v.alerts
}

// A validation gathers the alerts of a document.
type validation struct {
	*view

	ev      *config.Evaluator
	context Context
	alerts  []Alert
	told    map[Alert]bool
	// exhausted: what is left would take too much to evaluate.
	exhausted bool
	names     []string // see candidates
}

// What bounds the messages about the names of sections.
const (
	mostWrong      = 10  // names, in one value
	mostCandidates = 200 // sections, among which the right one is looked for
)

func (v *validation) add(level Level, kind string, k config.Key, driver, comment string) {
	name := k.Option
	if k.Scope != "" {
		name += "@" + k.Scope
	}
	a := Alert{Level: level, Kind: kind, Section: k.Section, Option: name, Driver: driver, Comment: comment}
	if !v.told[a] {
		v.told[a] = true
		v.alerts = append(v.alerts, a)
	}
}

func (v *validation) fail(kind string, k config.Key, driver, comment string) {
	v.add(LevelError, kind, k, driver, comment)
}

func (v *validation) warn(kind string, k config.Key, driver, format string, a ...any) {
	v.add(LevelWarning, kind, k, driver, k.String()+": "+fmt.Sprintf(format, a...))
}

func (v *validation) checkSection(name string) {
	p := v.section(name)
	if p.err != nil {
		v.unknownPlace(name, p.err)
		return
	}
	keywords := v.keywords(p)
	listed := make(map[string]bool, len(keywords))
	for _, k := range keywords {
		listed[k.Name] = true
	}
	for _, key := range v.doc.Keys(name) {
		if k := v.checkKey(key, p); k != nil && !listed[k.Name] {
			listed[k.Name] = true
			keywords = append(keywords, k)
		}
	}
	for _, k := range keywords {
		if v.exhausted {
			return
		}
		v.checkValue(name, k, p)
	}
}

func (v *validation) checkDuplicates() {
	for _, d := range v.doc.Duplicates() {
		read := "only the last one is read"
		if d.Key.Option == "" {
			read = "read as one"
		}
		v.add(LevelWarning, AlertDuplicate, d.Key, "", d.String()+": "+read)
	}
}

func (v *validation) unknownPlace(name string, err error) {
	var driver *UnknownDriverError
	if !errors.As(err, &driver) {
		v.fail(AlertUnknownSection, config.Key{Section: name}, "", err.Error())
		return
	}
	kind, label := AlertUnknownDriver, baseName(name)+"."+driver.Type
	if driver.Type == "" {
		kind, label = AlertRequired, ""
	}
	v.fail(kind, config.Key{Section: name, Option: "type"}, label, err.Error())
}

// checkKey checks a line, whatever its value, and returns its keyword.
func (v *validation) checkKey(key config.Key, p *place) *Keyword {
	k, err := v.find(key.Section, key.Option)
	if err != nil {
		v.fail(AlertUnknownKeyword, key, p.driver, err.Error())
		return nil
	}
	switch {
	case key.Scope == "":
	case !k.Option.Scopable:
		v.fail(AlertScoping, key, p.driver, key.String()+": this keyword is the same on every node: write it without @"+key.Scope)
	case !v.knownScope(key.Scope):
		v.warn(AlertScoping, key, p.driver, "%s is none of the nodes of the object, nor nodes, drpnodes or encapnodes: nobody reads this line", key.Scope)
	}
	if k.Deprecation != "" {
		v.warn(AlertDeprecated, key, p.driver, "deprecated: %s", k.Deprecation)
	}
	if unmet, err := k.unmet(v.ev, key.Section); err == nil && unmet != "" {
		v.warn(AlertDepends, key, p.driver, "read only with %s", strings.TrimPrefix(unmet, "."))
	}
	return k
}

func (v *validation) knownScope(scope string) bool {
	s := v.ev.Scope
	switch scope {
	case "nodes", "drpnodes", "encapnodes", s.Node:
		return true
	}
	return len(s.Nodes) == 0 || slices.Contains(s.Nodes, scope) || slices.Contains(s.DRPNodes, scope) || slices.Contains(s.EncapNodes, scope)
}

// checkValue checks what the node reads for a keyword of a section.
func (v *validation) checkValue(section string, k *Keyword, p *place) {
	if unmet, err := k.unmet(v.ev, section); err == nil && unmet != "" {
		return
	}
	driver := p.driver
	raw, key, found, err := v.ev.Raw(section, k.Option)
	if err != nil {
		v.fail(AlertEvaluation, config.Key{Section: section, Option: k.Name}, driver, err.Error())
		return
	}
	if !found {
		if k.Option.Required && k.Option.Default == "" {
			key = config.Key{Section: section, Option: k.Name}
			v.fail(AlertRequired, key, driver, key.String()+": required, and not set")
		}
		return
	}
	if section == config.DefaultSection && p.find(k.Name) == nil && strings.ContainsAny(raw, "{$") {
		return // evaluated in the sections that inherit it
	}
	if key.Section != section {
		driver = "" // the line is one of DEFAULT
	}
	text, _, err := v.ev.Value(section, k.Option)
	switch {
	case errors.Is(err, config.ErrPostponed):
		return
	case err != nil:
		v.exhausted = errors.Is(err, config.ErrTooMuch)
		v.fail(AlertEvaluation, key, driver, key.String()+": "+err.Error())
		return
	case k.Name == "type" && p.driver != "" && p.find("type") == nil:
		return // the driver was found
	}
	if err := k.checkCandidate(text); err != nil {
		v.fail(AlertCandidate, key, driver, key.String()+": "+err.Error())
		return
	}
	if err := k.convert(text, v.context); err != nil {
		v.fail(AlertConversion, key, driver, fmt.Sprintf("%s: value %q: %s", key, clip(text), err))
		return
	}
	v.checkSections(section, k, key, text, driver)
}

// checkSections looks for the sections a value names.
func (v *validation) checkSections(section string, k *Keyword, key config.Key, text, driver string) {
	if k.refers == nil {
		return
	}
	wrong := len(v.alerts) + mostWrong
	for _, name := range k.refers(text) {
		switch {
		case len(v.alerts) >= wrong:
			return // they say enough
		case name == section:
			v.fail(AlertReference, key, driver, fmt.Sprintf("%s: value %q: %s cannot be its own requirement", key, clip(text), name))
		case !v.doc.Has(name):
			v.fail(AlertReference, key, driver, fmt.Sprintf("%s: value %q: the configuration has no section %s%s", key, clip(text), name, didYouMean(nearest(name, v.candidates()))))
		}
	}
}

// candidates lists the sections a wrong name may stand for.
func (v *validation) candidates() []string {
	if v.names == nil {
		v.names = v.doc.Sections()
		v.names = v.names[:min(len(v.names), mostCandidates)]
	}
	return v.names
}
