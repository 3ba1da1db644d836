package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// ResourceInfo is one key-value of a resource.
type ResourceInfo struct {
	Object string `json:"object"`
	Node   string `json:"node"`
	RID    string `json:"rid"`
	Key    string `json:"key"`
	Value  string `json:"value"`
}

// Info returns the key-values of the resources the request selects, as last
// asked. With refresh they are asked again; those of the resources not selected
// are kept, those of the resources that are no more are dropped.
func (e *Engine) Info(ctx context.Context, p object.Path, r Request, refresh bool) ([]ResourceInfo, error) {
	r.Action = Info
	r = r.complete(p)
	l, err := e.load(p, r)
	if err != nil {
		return nil, err
	}
	if !p.Kind.Runs() {
		return nil, &UnsupportedError{Path: p, Action: Info}
	}
	var all []facts
	for _, m := range l.resources {
		all = append(all, m.facts())
	}
	selected, err := choose(all, r)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(l.flags.dir, "resinfo.json")
	known, err := readInfo(name)
	if err != nil {
		return nil, fmt.Errorf("%s: resource info: %w", p, err)
	}
	if refresh {
		if known, err = l.refreshInfo(ctx, known, selected); err != nil {
			return nil, err
		}
		if err := writeInfo(name, known); err != nil {
			return nil, fmt.Errorf("%s: resource info: %w", p, err)
		}
	}
	wanted := map[string]bool{}
	for _, f := range all {
		wanted[f.rid] = selected(f)
	}
	return slices.DeleteFunc(known, func(i ResourceInfo) bool { return !wanted[i.RID] }), nil
}

func (l *loaded) refreshInfo(ctx context.Context, known []ResourceInfo, selected func(facts) bool) ([]ResourceInfo, error) {
	var fresh []ResourceInfo
	for _, m := range l.resources {
		if !selected(m.facts()) {
			fresh = append(fresh, slices.DeleteFunc(slices.Clone(known), func(i ResourceInfo) bool { return i.RID != m.RID })...)
			continue
		}
		values, err := l.describe(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", l.path, m.RID, err)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			fresh = append(fresh, ResourceInfo{Object: l.path.String(), Node: l.engine.Host.Hostname, RID: m.RID, Key: key, Value: values[key]})
		}
	}
	return fresh, nil
}

// describe asks one resource.
func (l *loaded) describe(ctx context.Context, m *member) (map[string]string, error) {
	c := m.Common
	values := map[string]string{
		"driver": m.Spec.ID(), "standby": strconv.FormatBool(c.Standby), "optional": strconv.FormatBool(c.Optional),
		"disable": strconv.FormatBool(c.Disable), "monitor": strconv.FormatBool(c.Monitor),
		"shared": strconv.FormatBool(c.Shared), "encap": strconv.FormatBool(c.Encap),
	}
	if c.Restart > 0 {
		values["restart"] = strconv.Itoa(c.Restart)
		values["restart_delay"] = c.RestartDelay.String()
	}
	if c.Desc != "" {
		values["desc"] = c.Desc
	}
	informer, ok := m.Driver.(resource.Informer)
	if !ok || c.Disable {
		return values, nil
	}
	if l.ready(m) != nil {
		return values, nil //nolint:nilerr // what cannot be configured has nothing more to say
	}
	more, err := informer.Info(ctx)
	maps.Copy(values, more)
	return values, err
}

func readInfo(name string) (list []ResourceInfo, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(b, &list)
}

func writeInfo(name string, list []ResourceInfo) error {
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return replaceFile(name, append(b, '\n'), 0o600)
}
