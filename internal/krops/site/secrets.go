package site

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// secretPart gives Flux its secrets: the token of the Git repository, and the age
// key, which is also needed where remote clusters are reconciled from.
func (s *Site) secretPart() part {
	p := part{facts: map[string]func(context.Context, plan.Fact) plan.Presence{}, steps: map[string]func(context.Context, plan.Step, run.Voice) error{}}
	shared := s.Settings.File.Bootstrap
	for _, side := range s.sides() {
		for _, secret := range []fluxSecret{
			{id: "git-secret", namespace: shared.FluxNamespace, name: shared.GithubPATSecret, data: s.gitData},
			{id: "sops-secret", namespace: shared.FluxNamespace, name: shared.SopsAgeSecret, data: s.ageData, alone: true},
			{id: "sops-secret-default", namespace: "default", name: shared.SopsAgeSecret, data: s.ageData, alone: true},
		} {
			secret.on = side.cluster
			p.facts[side.fact+secret.id], p.steps[side.step+secret.id] = secret.there, secret.make
		}
	}
	return p
}

// fluxSide is one of the two clusters Flux is installed on.
type fluxSide struct {
	fact, step string // what the names of its facts and steps begin with
	cluster    func(context.Context) (*kube.Cluster, error)
}

func (s *Site) sides() []fluxSide {
	return []fluxSide{{"source/", "", s.source}, {"target/", "target-", s.target}}
}

// fluxSecret is a Secret of Flux on one of the clusters.
type fluxSecret struct {
	id, namespace, name string
	data                func() (map[string][]byte, error)
	alone               bool // no other keys must be in it: a stale key would be tried too
	on                  func(context.Context) (*kube.Cluster, error)
}

// there compares what the Secret holds. Nothing of it is ever said.
func (f fluxSecret) there(ctx context.Context, _ plan.Fact) plan.Presence {
	want, err := f.data()
	if err != nil {
		return plan.Failed(err.Error())
	}
	c, err := f.on(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	have, err := c.SecretData(ctx, f.namespace, f.name)
	if err != nil {
		return there(err)
	}
	if f.alone && len(have) != len(want) {
		return plan.Absent("the Secret has other keys")
	}
	for key, value := range want {
		if subtle.ConstantTimeCompare(have[key], value) != 1 {
			return plan.Absent("the Secret holds something else")
		}
	}
	return plan.Present()
}

func (f fluxSecret) make(ctx context.Context, _ plan.Step, _ run.Voice) error {
	data, err := f.data()
	if err != nil {
		return err
	}
	c, err := f.on(ctx)
	if err != nil {
		return err
	}
	if f.alone {
		if err := c.Delete(ctx, kube.Secret, f.namespace, f.name); err != nil {
			return err
		}
	}
	return c.Apply(ctx, kube.NewSecret(f.namespace, f.name, data))
}

func (s *Site) gitData() (map[string][]byte, error) {
	if s.Settings.GithubToken.IsZero() {
		return nil, errors.New("GITHUB_TOKEN must be set (a PAT with read access to the repo)")
	}
	return map[string][]byte{"username": []byte(s.Settings.GithubUser), "password": []byte(s.Settings.GithubToken.Reveal())}, nil
}

// ageData is the age key under a name that tells Flux what it is.
func (s *Site) ageData() (map[string][]byte, error) {
	text, err := os.ReadFile(s.callers(s.Settings.AgeKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the age key file: %w", err)
	}
	public, err := config.AgePublicKey(s.Settings.AgePublicKey, config.ReadAgeKey(string(text)).Public)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"keys." + public + ".agekey": text}, nil
}
