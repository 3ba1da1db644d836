package site

import (
	"context"
	"os"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
)

// found is the container engine of a run, once it was found, and what hangs on it.
type found struct {
	engine *engine.Engine
	kinds  Kinds
	joined bool // this container is in the network of kind
}

// engine returns the container engine. It is looked for until it is found.
func (s *Site) engine(ctx context.Context) (*engine.Engine, error) {
	if s.found.engine != nil {
		return s.found.engine, nil
	}
	look := s.Engine
	if look == nil {
		look = s.detect
	}
	e, err := look(ctx)
	if err != nil {
		return nil, err
	}
	s.found.engine = e
	return e, nil
}

func (s *Site) detect(ctx context.Context) (*engine.Engine, error) {
	o := engine.Options{
		Engine: s.Settings.Engine, Socket: s.Settings.EngineSocket, Toolbox: s.Settings.Toolbox, ContainerHost: s.Settings.ContainerHost,
		Env: s.env, UID: os.Getuid(),
	}
	e, err := engine.Detect(ctx, o)
	if err != nil && o.Engine != "" && s.Settings.Verb == config.VerbTeardown {
		// A teardown takes whichever engine answers.
		o.Engine = ""
		return engine.Detect(ctx, o)
	}
	return e, err
}

// env is a variable of the caller.
func (s *Site) env(name string) (string, bool) {
	for _, pair := range s.Environ {
		if key, value, ok := strings.Cut(pair, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// kinds returns what makes kind clusters.
func (s *Site) kinds(ctx context.Context) (Kinds, error) {
	if s.Kinds != nil {
		return s.Kinds, nil
	}
	if s.found.kinds != nil {
		return s.found.kinds, nil
	}
	e, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	s.found.kinds = kind.New(e, s.env)
	return s.found.kinds, nil
}

// join lets this process reach the network of kind, in the toolbox: its container
// joins. Where there is no such network yet there is nothing to reach.
func (s *Site) join(ctx context.Context) error {
	if !s.Settings.Toolbox || s.found.joined {
		return nil
	}
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	there, err := e.HasNetwork(ctx, engine.KindNetwork)
	if err != nil || !there {
		return err
	}
	id, err := engine.OwnID(s.System)
	if err != nil {
		return err
	}
	if err := e.Join(ctx, engine.KindNetwork, id); err != nil {
		return err
	}
	s.found.joined = true
	return nil
}

// leave undoes join as far as that is possible.
func (s *Site) leave(ctx context.Context) {
	if !s.Settings.Toolbox {
		return
	}
	s.found.joined = false
	e, err := s.engine(ctx)
	if err != nil {
		return
	}
	id, err := engine.OwnID(s.System)
	if err != nil {
		return
	}
	_ = e.Leave(ctx, engine.KindNetwork, id) // it only tidies up
}
