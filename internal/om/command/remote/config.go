package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// ConfigFile implements configure.Reader.
func (b *Backend) ConfigFile(ctx context.Context, p object.Path) (configure.File, error) {
	file, err := b.configFile(ctx, p)
	if err != nil {
		return configure.File{}, err
	}
	at, err := file.ModTime()
	if err != nil {
		at = time.Time{} // an old daemon, or a proxy, dropped the header
	}
	return configure.File{Data: file.RawBody, ModTime: at}, nil
}

// ConfigValues implements configure.Reader.
func (b *Backend) ConfigValues(ctx context.Context, p object.Path, q api.ConfigQuery) ([]api.KeywordItem, error) {
	var list api.KeywordList
	var err error
	switch {
	case p.IsZero():
		list, err = do(ctx, b, api.GetNodeConfig, api.NodeConfigQuery{NodeName: b.there(), ConfigQuery: q})
	case p == object.Cluster():
		list, err = do(ctx, b, api.GetClusterConfig, q)
	default:
		list, err = do(ctx, b, api.GetObjectConfig, api.ObjectConfigQuery{ObjectName: api.Named(p), ConfigQuery: q})
	}
	return list.Items, err
}

// ChangeConfig implements configure.Writer.
func (b *Backend) ChangeConfig(ctx context.Context, p object.Path, change configure.Change) (configure.Outcome, error) {
	in := api.ConfigChange{Delete: change.Delete, Unset: change.Unset, Set: change.Set}
	if change.Wait > 0 {
		in.Wait = change.Wait.String()
	}
	var done api.Committed
	var err error
	switch {
	case p.IsZero():
		done, err = do(ctx, b, api.PatchNodeConfig, api.NodeConfigChange{NodeName: b.there(), ConfigChange: in})
	case p == object.Cluster():
		done, err = do(ctx, b, api.PatchClusterConfig, in)
	default:
		done, err = do(ctx, b, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: api.Named(p), ConfigChange: in})
	}
	return configure.Outcome{Changed: done.IsChanged}, err
}

// ConfigDoc implements configure.Documenter.
func (b *Backend) ConfigDoc(ctx context.Context, p object.Path, q keyword.Query) (string, error) {
	section, option, _ := strings.Cut(q.Keyword, ".")
	if option == "" {
		section, option = "", section
	}
	section, _, _ = strings.Cut(section, "#")
	query := api.KeywordQuery{Driver: q.Driver, Section: section, Option: option}
	var list api.KeywordDefinitionList
	var err error
	switch {
	case p.IsZero():
		list, err = do(ctx, b, api.GetNodeConfigKeywords, api.NodeKeywordQuery{NodeName: b.there(), KeywordQuery: query})
	case p == object.Cluster():
		list, err = do(ctx, b, api.GetClusterConfigKeywords, query)
	default:
		list, err = do(ctx, b, api.GetObjectConfigKeywords, api.ObjectKeywordQuery{ObjectName: api.Named(p), KeywordQuery: query})
	}
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", fmt.Errorf("no keyword %s%s", q.Keyword, q.Driver)
	}
	return document(list.Items, q.Depth), nil
}

// document prints definitions as the local documentation does.
func document(items []api.KeywordDefinition, depth int) string {
	var b strings.Builder
	for _, d := range items {
		fmt.Fprintf(&b, "%s %s.%s\n\n", strings.Repeat("#", depth+1), d.Section, d.Option)
		fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(d.Text))
		for _, fact := range []struct{ name, value string }{
			{"type", d.Converter},
			{"default", d.Default},
			{"candidates", strings.Join(d.Candidates, ", ")},
			{"example", d.Example},
			{"drivers", strings.Join(d.Types, ", ")},
			{"depends on", strings.Join(d.Depends, ", ")},
			{"deprecated", d.Deprecated},
		} {
			if fact.value != "" {
				fmt.Fprintf(&b, "* %s: %s\n", fact.name, fact.value)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Create implements object.Creator.
func (b *Backend) Create(ctx context.Context, p object.Path, n cmdobject.New) (cmdobject.Created, error) {
	doc, err := Draft(n, nil, nil)
	if err != nil {
		return cmdobject.Created{}, err
	}
	_, err = do(ctx, b, api.PostObjectConfigFile, api.ObjectConfigCreate{
		ObjectName: api.Named(p), Restore: n.Restore, Force: n.Force, RawBody: doc.Bytes(),
	})
	if err != nil {
		return cmdobject.Created{}, err
	}
	made := cmdobject.Created{Outcome: configure.Outcome{Changed: true}, Orchestrate: "no"}
	if mode, ok := doc.Get(config.Key{Section: config.DefaultSection, Option: "orchestrate"}); ok {
		made.Orchestrate = mode
	}
	return made, nil
}

// Draft makes the document of a new object: its source, the overrides of its
// env section, then the operations. list tells which keywords are lists and
// group which names stand for sections; they may be nil.
func Draft(n cmdobject.New, list func(*config.Document) func(config.Key) bool, group func(string) bool) (*config.Document, error) {
	doc, err := config.Parse(n.Config)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(n.Env))
	for name := range n.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := doc.Set(config.Key{Section: "env", Option: name}, n.Env[name]); err != nil {
			return nil, err
		}
	}
	change, err := Parse(configure.Change{Set: n.Set})
	if err != nil {
		return nil, err
	}
	change.Group = group
	isList := func(config.Key) bool { return true }
	if list != nil {
		isList = list(doc)
	}
	if _, err := change.Apply(doc, isList); err != nil {
		return nil, err
	}
	return doc, nil
}

// Parse reads the words of a change.
func Parse(c configure.Change) (config.Change, error) {
	change := config.Change{Delete: c.Delete}
	for _, w := range c.Unset {
		k, err := config.ParseKey(w)
		if err != nil {
			return change, err
		}
		change.Unset = append(change.Unset, k)
	}
	for _, w := range c.Set {
		op, err := config.ParseOp(w)
		if err != nil {
			return change, err
		}
		change.Set = append(change.Set, op)
	}
	return change, nil
}

// ValidateConfig implements configure.Validator.
func (b *Backend) ValidateConfig(ctx context.Context, p object.Path) ([]keyword.Alert, error) {
	var list api.AlertList
	var err error
	switch {
	case p.IsZero():
		list, err = do(ctx, b, api.GetNodeConfigAlerts, b.there())
	case p == object.Cluster():
		list, err = do(ctx, b, api.GetClusterConfigAlerts, api.None{})
	default:
		list, err = do(ctx, b, api.GetObjectConfigAlerts, api.Named(p))
	}
	return list.Items, err
}
