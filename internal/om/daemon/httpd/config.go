package httpd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

func (s *Server) getObjectConfig(ctx context.Context, in *api.ObjectConfigQuery) (api.KeywordList, error) {
	p, err := readablePath(ctx, in.ObjectName)
	if err != nil {
		return api.KeywordList{}, err
	}
	return s.keywords(p, in.ConfigQuery)
}

func (s *Server) patchObjectConfig(ctx context.Context, in *api.ObjectConfigChange) (api.Committed, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.Committed{}, err
	}
	return s.change(ctx, p, in.ConfigChange)
}

func (s *Server) getObjectConfigFile(ctx context.Context, in *api.ObjectName) (api.ConfigFile, error) {
	p, err := readablePath(ctx, *in)
	if err != nil {
		return api.ConfigFile{}, err
	}
	return s.file(p)
}

func (s *Server) postObjectConfigFile(ctx context.Context, in *api.ObjectConfigCreate) (api.Written, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.Written{}, err
	}
	if !in.Force && s.o.Store.Exists(p) {
		return api.Written{}, api.NewProblem(http.StatusConflict, fmt.Sprintf("object %s already exists: replace its configuration with PUT, or set force", p))
	}
	isFirst, err := s.mayCreate(ctx, p)
	if err != nil {
		return api.Written{}, err
	}
	doc, err := config.Parse(in.RawBody)
	if err != nil {
		return api.Written{}, badRequest(fmt.Errorf("configuration of %s: %w", p, err))
	}
	committed, err := s.writer(ctx).Create(ctx, p, doc, store.CreateOptions{Force: in.Force, Restore: in.Restore})
	if err == nil && isFirst {
		err = s.settle(ctx, p.Namespace)
	}
	return s.written(p, committed, err)
}

func (s *Server) putObjectConfigFile(ctx context.Context, in *api.ObjectConfigFile) (api.Written, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.Written{}, err
	}
	return s.replace(ctx, p, in.RawBody, in.ConfigCondition)
}

func (s *Server) getObjectConfigKeywords(_ context.Context, in *api.ObjectKeywordQuery) (api.KeywordDefinitionList, error) {
	p, err := path(in.ObjectName)
	if err != nil {
		return api.KeywordDefinitionList{}, err
	}
	return definitions(s.o.Store.Schema(p), in.KeywordQuery), nil
}

func (s *Server) getClusterConfig(_ context.Context, in *api.ConfigQuery) (api.KeywordList, error) {
	return s.keywords(object.Cluster(), *in)
}

func (s *Server) patchClusterConfig(ctx context.Context, in *api.ConfigChange) (api.Committed, error) {
	return s.change(ctx, object.Cluster(), *in)
}

func (s *Server) getClusterConfigFile(context.Context, *api.None) (api.ConfigFile, error) {
	return s.file(object.Cluster())
}

func (s *Server) putClusterConfigFile(ctx context.Context, in *api.ClusterConfigFile) (api.Written, error) {
	return s.replace(ctx, object.Cluster(), in.RawBody, in.ConfigCondition)
}

func (s *Server) getClusterConfigKeywords(_ context.Context, in *api.KeywordQuery) (api.KeywordDefinitionList, error) {
	return definitions(s.o.Store.Schema(object.Cluster()), *in), nil
}

func (s *Server) getNodeConfig(_ context.Context, in *api.NodeConfigQuery) (api.KeywordList, error) {
	return s.keywords(object.Path{}, in.ConfigQuery)
}

func (s *Server) patchNodeConfig(ctx context.Context, in *api.NodeConfigChange) (api.Committed, error) {
	return s.change(ctx, object.Path{}, in.ConfigChange)
}

func (s *Server) getNodeConfigFile(context.Context, *api.NodeName) (api.ConfigFile, error) {
	return s.file(object.Path{})
}

func (s *Server) putNodeConfigFile(ctx context.Context, in *api.NodeConfigFile) (api.Written, error) {
	return s.replace(ctx, object.Path{}, in.RawBody, in.ConfigCondition)
}

func (s *Server) getNodeConfigKeywords(_ context.Context, in *api.NodeKeywordQuery) (api.KeywordDefinitionList, error) {
	return definitions(s.o.Store.Schema(object.Path{}), in.KeywordQuery), nil
}

// file returns a configuration file; that of the node for the zero path.
func (s *Server) file(p object.Path) (api.ConfigFile, error) {
	text, err := s.o.Store.Text(p)
	if err != nil {
		return api.ConfigFile{}, err
	}
	return api.ConfigFile{ETag: fileTag(text), LastModified: timestamp(text.ModTime), RawBody: text.Data}, nil
}

// keywords returns keywords of a configuration.
func (s *Server) keywords(p object.Path, q api.ConfigQuery) (api.KeywordList, error) {
	as := q.Impersonate
	if as == "" {
		as = s.o.Node
	}
	if err := s.isNode(as); err != nil {
		return api.KeywordList{}, err
	}
	if _, err := s.o.Store.Load(p); err != nil {
		return api.KeywordList{}, err
	}
	values, err := s.o.Store.Values(p, q.Keywords, q.Evaluate, as)
	if err != nil {
		return api.KeywordList{}, badRequest(err)
	}
	list := api.KeywordList{Kind: "KeywordList", Items: make([]api.KeywordItem, len(values))}
	for i, v := range values {
		list.Items[i] = api.KeywordItem{Object: p.String(), Node: s.o.Node, Keyword: v.Key.String(), Value: v.Written, EvaluatedAs: as}
		if q.Evaluate {
			list.Items[i].Evaluated = v.Evaluated
		}
	}
	return list, nil
}

// isNode refuses the names that are not those of nodes of the cluster.
func (s *Server) isNode(name string) error {
	if name == s.o.Node {
		return nil
	}
	c, err := s.o.Store.Cluster()
	if err != nil {
		return err
	}
	if known := slices.Concat(c.Nodes, c.DRPNodes); !slices.Contains(known, name) {
		return badRequest(fmt.Errorf("query.impersonate: %s is not a node of the cluster: use %s", name, strings.Join(known, ", ")))
	}
	return nil
}

// change applies one transaction, then has the daemon read the result, so that
// what the caller asks next sees it.
func (s *Server) change(ctx context.Context, p object.Path, in api.ConfigChange) (api.Committed, error) {
	c, err := change(in)
	if err != nil {
		return api.Committed{}, badRequest(err)
	}
	limited, cancel, err := within(ctx, "wait", in.Wait)
	if err != nil {
		return api.Committed{}, err
	}
	defer cancel()
	committed, err := s.writer(ctx).Update(ctx, p, c)
	if err != nil {
		return api.Committed{}, configProblem(err)
	}
	s.refresh(p)
	if in.Wait != "" && s.o.Copies != nil && !p.IsZero() {
		if missing := s.o.Copies.Await(limited, p); len(missing) > 0 {
			return api.Committed{}, api.NewProblem(http.StatusRequestTimeout, fmt.Sprintf(
				"%s: the configuration is committed, and has not reached %s yet: it will, do not update it again", p, strings.Join(missing, ", ")))
		}
	}
	return api.Committed{IsChanged: committed.Changed, LastModified: timestamp(committed.ModTime)}, nil
}

func change(in api.ConfigChange) (config.Change, error) {
	c := config.Change{Delete: in.Delete}
	var errs []error
	for _, text := range in.Unset {
		key, err := config.ParseKey(text)
		c.Unset, errs = append(c.Unset, key), append(errs, err)
	}
	for _, text := range in.Set {
		op, err := config.ParseOp(text)
		c.Set, errs = append(c.Set, op), append(errs, err)
	}
	if len(c.Delete)+len(c.Unset)+len(c.Set) == 0 {
		errs = append(errs, errors.New("no change: give set, unset or delete"))
	}
	return c, errors.Join(errs...)
}

func (s *Server) replace(ctx context.Context, p object.Path, data []byte, when api.ConfigCondition) (api.Written, error) {
	if !p.IsZero() && !s.o.Store.Exists(p) {
		return api.Written{}, &object.NotFoundError{What: p.String()}
	}
	committed, err := s.writer(ctx).ReplaceIf(ctx, p, data, func(current store.Text) error { return holdsFor(when, current) })
	return s.written(p, committed, err)
}

// holdsFor refuses to replace a configuration that is not the one the caller means.
func holdsFor(when api.ConfigCondition, current store.Text) error {
	changed := func(format string, a ...any) error {
		return api.NewProblem(http.StatusPreconditionFailed, "the configuration is another one: "+fmt.Sprintf(format, a...)+": read it again")
	}
	if tag := fileTag(current); when.IfMatch != "" && !matchesList(when.IfMatch, func(word string) bool { return word == "*" || word == tag }) {
		return changed("its entity tag is %s", tag)
	}
	if when.LastModified == "" {
		return nil
	}
	at, err := time.Parse(api.TimeHeader, when.LastModified)
	if err != nil {
		return badRequest(fmt.Errorf("header.OM-Last-Modified: %q is no time: send the one of the answer that gave the file", when.LastModified))
	}
	if !at.Equal(current.ModTime) {
		return changed("it is of %s", timestamp(current.ModTime))
	}
	return nil
}

// fileTag identifies the bytes of a configuration. It is a strong tag.
func fileTag(text store.Text) string {
	sum := sha256.Sum256(text.Data)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

func (s *Server) written(p object.Path, c store.Committed, err error) (api.Written, error) {
	if err != nil {
		return api.Written{}, configProblem(err)
	}
	s.refresh(p)
	return api.Written{LastModified: timestamp(c.ModTime)}, nil
}

// refresh has the daemon read a configuration that was committed. That it cannot
// is no reason to refuse what is done: the view says what is wrong with it.
func (s *Server) refresh(p object.Path) {
	if err := s.o.Discover.Refresh(p); err != nil {
		s.o.Log.Warn("read a configuration after its commit", slog.String("object", p.String()), slog.Any("err", err))
	}
}
