package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	cmdobject "github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// ConfigFile implements configure.Reader.
func (b *Backend) ConfigFile(ctx context.Context, p object.Path) (configure.File, error) {
	if b.elsewhere(ctx, p) {
		return b.Backend.ConfigFile(ctx, p)
	}
	text, err := b.store().Text(p)
	if err != nil {
		return configure.File{}, err
	}
	return configure.File{Data: text.Data, ModTime: text.ModTime}, nil
}

// ConfigValues implements configure.Reader.
func (b *Backend) ConfigValues(ctx context.Context, p object.Path, q api.ConfigQuery) ([]api.KeywordItem, error) {
	if b.elsewhere(ctx, p) {
		return b.Backend.ConfigValues(ctx, p, q)
	}
	values, err := b.store().Values(p, q.Keywords, q.Evaluate, q.Impersonate)
	if err != nil {
		return nil, err
	}
	as := q.Impersonate
	if as == "" {
		as = b.host.Hostname
	}
	items := make([]api.KeywordItem, len(values))
	for i, v := range values {
		items[i] = api.KeywordItem{Object: p.String(), Node: b.host.Hostname, Keyword: v.Key.String(), Value: v.Written, EvaluatedAs: as}
		if q.Evaluate {
			items[i].Evaluated = v.Evaluated
		}
	}
	return items, nil
}

// ChangeConfig implements configure.Writer.
func (b *Backend) ChangeConfig(ctx context.Context, p object.Path, c configure.Change) (configure.Outcome, error) {
	if c.Wait > 0 && b.Alive(ctx) == nil || b.elsewhere(ctx, p) {
		return b.Backend.ChangeConfig(ctx, p, c)
	}
	change, err := remote.Parse(c)
	if err != nil {
		return configure.Outcome{}, err
	}
	return outcome(b.store().WithWaitLock(c.WaitLock).Update(ctx, p, change))
}

func outcome(done store.Committed, err error) (configure.Outcome, error) {
	return configure.Outcome{Changed: done.Changed, Warnings: done.Warnings}, err
}

// ValidateConfig implements configure.Validator.
func (b *Backend) ValidateConfig(_ context.Context, p object.Path) ([]keyword.Alert, error) {
	f, err := b.store().Load(p)
	if err != nil {
		return nil, err
	}
	return b.store().Validate(p, f.Doc), nil
}

// ConfigDoc implements configure.Documenter.
func (b *Backend) ConfigDoc(_ context.Context, p object.Path, q keyword.Query) (string, error) {
	var doc *config.Document
	if f, err := b.store().Load(p); err == nil {
		doc = f.Doc
	}
	return b.store().Schema(p).Doc(doc, q)
}

// EditConfig implements configure.Editor.
func (b *Backend) EditConfig(ctx context.Context, c *verb.Call, p object.Path, recovered bool) (configure.Outcome, error) {
	open := b.store().Edit
	if recovered {
		open = b.store().Recover
	}
	draft, err := open(p)
	if err != nil {
		return configure.Outcome{}, err
	}
	done, err := b.editDraft(ctx, c, draft)
	if err == nil {
		return done, nil
	}
	dropped, dropErr := b.store().Drop(draft)
	if !dropped {
		err = fmt.Errorf("%w\nwhat was typed is kept: open it again with --recover, drop it with --discard", err)
	}
	return done, errors.Join(err, dropErr)
}

func (b *Backend) editDraft(ctx context.Context, c *verb.Call, draft *store.Draft) (configure.Outcome, error) {
	argv, err := remote.EditorCommand(b.o.Process.Env)
	if err != nil {
		return configure.Outcome{}, err
	}
	streams := host.Terminal{In: c.Streams.In, Out: c.Streams.Out, Err: c.Streams.Err}
	if err := host.Foreground(ctx, host.Cmd{Argv: append(argv, draft.Name)}, streams); err != nil {
		return configure.Outcome{}, fmt.Errorf("edit %s: %w", draft.Path, err)
	}
	return outcome(b.store().Commit(ctx, draft))
}

// DiscardEdit implements configure.Editor.
func (b *Backend) DiscardEdit(_ context.Context, p object.Path) error { return b.store().Discard(p) }

// Create implements object.Creator. An object the daemon may start by itself is
// created frozen, so that it does not before it is complete.
func (b *Backend) Create(ctx context.Context, p object.Path, n cmdobject.New) (made cmdobject.Created, err error) {
	var doc *config.Document
	if n.Config != nil {
		if doc, err = config.Parse(n.Config); err != nil {
			return made, err
		}
	}
	change, err := remote.Parse(configure.Change{Set: n.Set})
	if err != nil {
		return made, err
	}
	if b.elsewhere(ctx, p) {
		if !n.Force {
			return made, &store.ExistsError{Path: p}
		}
		return b.Backend.Create(ctx, p, n)
	}
	if b.mayStart(p, n) && !b.store().Exists(p) {
		if err := b.engine(nil).SetFrozen(p, true); err != nil {
			return made, err
		}
		made.Frozen = true
	}
	made.Outcome, err = outcome(b.store().WithWaitLock(n.WaitLock).Create(ctx, p, doc, store.CreateOptions{
		Force: n.Force, Restore: n.Restore, Change: change, Env: n.Env,
	}))
	if err != nil {
		if made.Frozen {
			err = errors.Join(err, os.RemoveAll(b.stateDir(p)))
		}
		return made, err
	}
	settings, err := b.store().Object(p)
	if err != nil {
		return made, err
	}
	made.Orchestrate, made.Nodes = settings.Orchestrate, len(settings.Nodes)
	return made, nil
}

// mayStart tells whether the daemon would start the object by itself.
func (b *Backend) mayStart(p object.Path, n cmdobject.New) bool {
	if !p.Kind.Runs() {
		return false
	}
	schema := b.store().Schema(p)
	doc, err := remote.Draft(n, schema.IsList, schema.IsGroup)
	if err != nil {
		return false // the commit says why
	}
	settings, err := b.store().ObjectOf(p, doc, "")
	return err == nil && settings.Orchestrate == "ha"
}
