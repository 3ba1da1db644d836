package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/station"
)

// EditorCommand is the editor of the user: $VISUAL, $EDITOR, else vi.
func EditorCommand(env func(string) string) ([]string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if text := env(name); text != "" {
			argv, err := config.ParseShlex(text)
			if err != nil || len(argv) == 0 {
				return nil, fmt.Errorf("%s=%s is no command: %w", name, text, err)
			}
			return argv, nil
		}
	}
	return []string{"vi"}, nil
}

// EditFile implements contexts.Editor.
func (s *Server) EditFile(ctx context.Context, c *verb.Call, name string) error {
	argv, err := EditorCommand(s.process.Env)
	if err != nil {
		return err
	}
	streams := host.Terminal{In: c.Streams.In, Out: c.Streams.Out, Err: c.Streams.Err}
	if err := host.Foreground(ctx, host.Cmd{Argv: append(argv, name)}, streams); err != nil {
		return fmt.Errorf("edit %s: %w", name, err)
	}
	return nil
}

// At implements node.Placer: the same cluster, and the configuration of a node.
func (s *Server) At(node string) verb.Backend {
	there, backend := *s, *s.Backend
	backend.node = node
	there.Backend = &backend
	return &there
}

// EditConfig implements configure.Editor: the configuration is fetched, edited here
// and written back, unless somebody changed it meanwhile.
func (s *Server) EditConfig(ctx context.Context, c *verb.Call, p object.Path, recovered bool) (configure.Outcome, error) {
	draft, err := s.draft(p)
	switch {
	case err != nil:
		return configure.Outcome{}, err
	case recovered && !draft.Exists():
		return configure.Outcome{}, fmt.Errorf("%s: no earlier edit is kept", label(p))
	case !recovered && draft.Exists():
		return configure.Outcome{}, fmt.Errorf("%s: an earlier edit is kept: open it again with --recover, drop it with --discard", label(p))
	}
	file, err := s.configFile(ctx, p)
	if err != nil {
		return configure.Outcome{}, err
	}
	if !recovered {
		if err := draft.Start(file.RawBody, file.ETag); err != nil {
			return configure.Outcome{}, err
		}
	}
	done, err := s.editDraft(ctx, c, p, draft, file)
	if err != nil && draft.Exists() {
		if text, _, readErr := draft.Read(); readErr == nil && bytes.Equal(text, file.RawBody) {
			return done, errors.Join(err, draft.Discard()) // nothing was typed
		}
		return done, fmt.Errorf("%w\nwhat was typed is kept: open it again with --recover, drop it with --discard", err)
	}
	return done, err
}

func (s *Server) editDraft(ctx context.Context, c *verb.Call, p object.Path, draft station.Draft, now api.ConfigFile) (configure.Outcome, error) {
	if err := s.EditFile(ctx, c, draft.Name()); err != nil {
		return configure.Outcome{}, err
	}
	text, tag, err := draft.Read()
	if err != nil {
		return configure.Outcome{}, err
	}
	if bytes.Equal(text, now.RawBody) {
		return configure.Outcome{}, draft.Discard()
	}
	err = s.putConfigFile(ctx, p, api.ConfigCondition{IfMatch: tag}, text)
	if isStatus(err, http.StatusPreconditionFailed) {
		err = fmt.Errorf("%w: it was changed since the edit began", err)
	}
	if err != nil {
		return configure.Outcome{}, err
	}
	return configure.Outcome{Changed: true}, draft.Discard()
}

// DiscardEdit implements configure.Editor.
func (s *Server) DiscardEdit(_ context.Context, p object.Path) error {
	draft, err := s.draft(p)
	if err != nil {
		return err
	}
	if !draft.Exists() {
		return fmt.Errorf("%s: no earlier edit is kept", label(p))
	}
	return draft.Discard()
}

// draft is that of a configuration of the cluster in force.
func (s *Server) draft(p object.Path) (station.Draft, error) {
	of := or(s.Current(), or(s.server, s.process.Env("OSVC_SERVER")))
	if p.IsZero() {
		return s.Station().DraftOf(of, "node", s.node)
	}
	return s.Station().DraftOf(of, p.FQN())
}

func label(p object.Path) string {
	if p.IsZero() {
		return "node"
	}
	return p.String()
}

// configFile returns a configuration with its entity tag.
func (b *Backend) configFile(ctx context.Context, p object.Path) (api.ConfigFile, error) {
	switch {
	case p.IsZero():
		return do(ctx, b, api.GetNodeConfigFile, b.there())
	case p == object.Cluster():
		return do(ctx, b, api.GetClusterConfigFile, api.None{})
	}
	return do(ctx, b, api.GetObjectConfigFile, api.Named(p))
}

// putConfigFile replaces a configuration.
func (b *Backend) putConfigFile(ctx context.Context, p object.Path, only api.ConfigCondition, text []byte) error {
	var err error
	switch {
	case p.IsZero():
		_, err = do(ctx, b, api.PutNodeConfigFile, api.NodeConfigFile{NodeName: b.there(), ConfigCondition: only, RawBody: text})
	case p == object.Cluster():
		_, err = do(ctx, b, api.PutClusterConfigFile, api.ClusterConfigFile{ConfigCondition: only, RawBody: text})
	default:
		_, err = do(ctx, b, api.PutObjectConfigFile, api.ObjectConfigFile{ObjectName: api.Named(p), ConfigCondition: only, RawBody: text})
	}
	return err
}
