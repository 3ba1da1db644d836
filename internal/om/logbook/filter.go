package logbook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Filter selects lines. A zero field selects all.
type Filter struct {
	Level string // the least severe level wanted
	Since time.Time
	Grep  *regexp.Regexp // of the message and the error
	// Fields are what fields must hold: any of the values of each name. RID is a glob.
	Fields map[string][]string
}

// Where returns f for the lines whose field has one of the values. Without a value
// none has: nothing is selected.
func (f Filter) Where(field string, values ...string) Filter {
	fields := map[string][]string{}
	for name, had := range f.Fields {
		fields[name] = slices.Clone(had)
	}
	fields[field] = append(fields[field], values...)
	if fields[field] == nil {
		fields[field] = []string{}
	}
	f.Fields = fields
	return f
}

// Fields of a line, by the name a filter gives them. Those of the journal are
// accepted: a filter that was written for it selects the same lines here.
func fieldOf(name string) string {
	switch name {
	case "OBJ_PATH", "OBJECT":
		return "path"
	case "ORCHESTRATION_ID":
		return "oid"
	case "SESSION_ID":
		return "sid"
	case "EXEC_ID":
		return "eid"
	case "RESOURCE":
		return "rid"
	case "MESSAGE":
		return "message"
	}
	return strings.ToLower(name)
}

// JournalField is the name of a field in the journal.
func JournalField(key string) string { return strings.ToUpper(strings.ReplaceAll(key, ".", "_")) }

// fieldName is how a field is written in a filter.
var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,63}$`)

// ParseField reads "SID=7b97...": a field of a line and its value. The same field
// given again is an alternative, another field is one condition more.
func ParseField(text string) (field, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || !fieldName.MatchString(name) {
		return "", "", fmt.Errorf("%q: write a field and its value, as SID=, EID=, ORCHESTRATION_ID=, OBJ_PATH=, RID=, NODE= or LEVEL=", text)
	}
	return fieldOf(name), value, nil
}

// Query is what is asked of a store, as users write it.
type Query struct {
	Filter []string // FIELD=value
	Paths  []string // of objects; any of them
	Grep   string   // regular expression
	Level  string   // the least severe wanted; "" is info
}

// Levels are the words for how severe a line is.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Parse returns the filter of a query, or what is wrong with it.
func (q Query) Parse() (Filter, error) {
	f := Filter{Level: q.Level}
	if f.Level == "" {
		f.Level = "info"
	}
	if !slices.Contains(Levels(), f.Level) {
		return f, fmt.Errorf("level %q: use one of %s", f.Level, strings.Join(Levels(), ", "))
	}
	if q.Grep != "" {
		var err error
		if f.Grep, err = regexp.Compile(q.Grep); err != nil {
			return f, fmt.Errorf("grep %q is no regular expression: %w", q.Grep, err)
		}
	}
	if len(q.Paths) > 0 {
		f = f.Where("path", q.Paths...)
	}
	for _, text := range q.Filter {
		field, value, err := ParseField(text)
		if err != nil {
			return f, fmt.Errorf("filter %w", err)
		}
		if _, err := path.Match(value, ""); field == "rid" && err != nil {
			return f, fmt.Errorf("filter %q: %w", text, err)
		}
		if field == "path" && len(q.Paths) > 0 && !slices.Contains(q.Paths, value) {
			return f, fmt.Errorf("filter %q: the lines are those of %s", text, strings.Join(q.Paths, ", "))
		}
		f = f.Where(field, value)
	}
	return f, nil
}

// Match reports whether the line is selected.
func (f Filter) Match(l Line) bool {
	if severity(l.Level) < severity(f.Level) || l.At.Before(f.Since) {
		return false
	}
	var raw map[string]any // decoded when a field that is not in Line is asked for
	for name, values := range f.Fields {
		have, known := l.field(name)
		if !known {
			if raw == nil {
				raw = map[string]any{}
				_ = json.Unmarshal(l.Raw, &raw) // what cannot be read has no field
			}
			v, ok := raw[name]
			if !ok {
				return false
			}
			have = fmt.Sprint(v)
		}
		if !slices.ContainsFunc(values, func(want string) bool { return same(name, want, have) }) {
			return false
		}
	}
	return f.Grep == nil || f.Grep.MatchString(l.Text())
}

// Text is what a line says.
func (l Line) Text() string {
	if l.Err == "" {
		return l.Message
	}
	return l.Message + ": " + l.Err
}

func same(name, want, have string) bool {
	if name != "rid" {
		return want == have
	}
	ok, err := path.Match(want, have)
	return err == nil && ok
}

func (l Line) field(name string) (value string, known bool) {
	switch name {
	case "level":
		return l.Level, true
	case "node":
		return l.Node, true
	case "path":
		return l.Path, true
	case "rid":
		return l.RID, true
	case "sid":
		return l.SID, true
	case "eid":
		return l.EID, true
	case "oid":
		return l.OID, true
	case "message":
		return l.Message, true
	case "err":
		return l.Err, true
	}
	return "", false
}

func severity(level string) int {
	switch level {
	case "error":
		return 3
	case "warn":
		return 2
	case "info":
		return 1
	}
	return 0
}

// keys are the conditions that the index knows of.
func (f Filter) keys() map[string][]string {
	keys := map[string][]string{}
	for _, name := range []string{"path", "sid", "eid", "oid"} {
		if values, ok := f.Fields[name]; ok {
			keys[name] = values
		}
	}
	return keys
}

// quick is a test on bytes that passes every line that is selected, and few others:
// most lines are never decoded.
type quick [][][]byte // any of the texts of each condition

func (f Filter) quick() quick {
	var q quick
	for _, values := range f.keys() {
		var texts [][]byte
		for _, v := range values {
			encoded, err := json.Marshal(v)
			if err != nil || string(encoded) != `"`+v+`"` {
				texts = nil // it may be written in more than one way
				break
			}
			texts = append(texts, encoded)
		}
		if texts != nil || len(values) == 0 {
			q = append(q, texts)
		}
	}
	return q
}

func (q quick) may(data []byte) bool {
	for _, texts := range q {
		if !slices.ContainsFunc(texts, func(t []byte) bool { return bytes.Contains(data, t) }) {
			return false
		}
	}
	return true
}
