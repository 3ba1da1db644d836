package local

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Complete implements [verb.Completer].
func (b *Backend) Complete(ctx context.Context, what, selector, prefix string) []string {
	var all []string
	switch what {
	case verb.CompleteObjects:
		paths, err := b.store().List()
		if err != nil {
			return nil
		}
		for _, p := range paths {
			all = append(all, p.String())
		}
	case verb.CompleteNodes:
		all = b.store().Nodes()
	case verb.CompleteKeywords, verb.CompleteAssignments:
		p, doc := b.first(ctx, selector)
		return b.store().Schema(p).Complete(doc, prefix)
	case verb.CompleteSections, verb.CompleteResources:
		_, doc := b.first(ctx, selector)
		for _, s := range doc.Sections() {
			if what == verb.CompleteSections || strings.Contains(s, "#") {
				all = append(all, s)
			}
		}
	case verb.CompleteStatuses:
		all = []string{"up", "down", "warn", "stdby up", "stdby down", "n/a", "undef"}
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, prefix) })
}

// first returns the first object selected and its configuration; a new service
// when there is none yet.
func (b *Backend) first(ctx context.Context, selector string) (object.Path, *config.Document) {
	fallback := object.Path{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "new"}
	if p, err := object.Parse(selector); err == nil {
		fallback = p
	}
	paths, err := b.Select(ctx, selector)
	if err != nil || len(paths) == 0 {
		return fallback, config.NewDocument()
	}
	f, err := b.store().Load(paths[0])
	if err != nil {
		return paths[0], config.NewDocument()
	}
	return paths[0], f.Doc
}
