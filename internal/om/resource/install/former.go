package install

import (
	"fmt"
	"path"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// former reads a configs or secrets keyword, of the time before install lines:
// words <name>/<key>:<place>, of objects of the namespace. A place needs no slash
// in front; one that ends with a slash is a directory.
func former(words []string, option, namespace string, kind object.Kind, signals []Signal) ([]Item, error) {
	var items []Item
	for _, word := range words {
		fail := func(format string, a ...any) ([]Item, error) {
			return nil, fmt.Errorf("%s: %q: "+format, append([]any{option, word}, a...)...)
		}
		source, to, ok := strings.Cut(word, ":")
		name, key, named := strings.Cut(source, "/")
		if !ok || !named || name == "" || key == "" || to == "" {
			return fail("write <name>/<key>:<place>, as app/app.conf:etc/app.conf, or use install")
		}
		if strings.Contains(to, ":") {
			return fail("options after the place are not known: use install, which has them")
		}
		p := object.Path{Namespace: namespace, Kind: kind, Name: name}
		if err := p.Validate(); err != nil {
			return fail("%w", err)
		}
		if err := object.CheckGlob(key); err != nil {
			return fail("%w", err)
		}
		if !strings.HasPrefix(to, "/") {
			to = "/" + to
		}
		item := Item{To: to, From: p, Key: key, Signals: signals}
		if err := item.finish(); err != nil {
			return fail("%w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// formerDirectories reads a directories keyword: names below the directory of the
// resource.
func formerDirectories(words []string) ([]Item, error) {
	var items []Item
	for _, word := range words {
		item := Item{To: path.Join("/", word) + "/"}
		if strings.Contains(word, "..") {
			item.To = "/" + strings.TrimPrefix(word, "/")
		}
		if err := item.finish(); err != nil {
			return nil, fmt.Errorf("directories: %w", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// formerSignal reads a signal keyword: what to send when a file of configs or
// secrets changes.
func formerSignal(text string) ([]Signal, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var signals []Signal
	for word := range strings.FieldsSeq(text) {
		s, err := parseSignal(word)
		if err != nil {
			return nil, fmt.Errorf("signal: %s: %w", word, err)
		}
		signals = append(signals, s)
	}
	return signals, nil
}
