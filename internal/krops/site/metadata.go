package site

import (
	"context"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// runTags is the ConfigMap with what the resources of a run are tagged with.
const runTags = "krops-run"

// tagKeys are the keys of the ConfigMap, all of which must have a value.
func tagKeys() []string {
	return []string{"KROPS_RUN_ID", "KROPS_REVISION", "KROPS_EXPIRES_AT", "KROPS_RUN_KIND"}
}

// metadataPart tags a run. Tags that are there stay: every resource carries them,
// and a rerun must not touch them all.
func (s *Site) metadataPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"source/run-metadata": s.sourceTagged,
			"target/run-metadata": s.targetTagged,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"run-metadata":        s.tag,
			"target-run-metadata": s.copyTags,
		},
	}
}

func (s *Site) fluxNamespace() string { return s.Settings.File.Bootstrap.FluxNamespace }

// tags reads the tags of a cluster. The error of tags that are not there is one
// that kube.Gone knows; what cannot be used is another.
func (s *Site) tags(ctx context.Context, c *kube.Cluster, name string) (map[string]string, error) {
	data, err := c.ConfigMapData(ctx, s.fluxNamespace(), runTags)
	if err != nil {
		return nil, err
	}
	whole := make(map[string]string, len(tagKeys()))
	for _, key := range tagKeys() {
		if data[key] == "" {
			return nil, fmt.Errorf("%s missing or empty in %s/%s on '%s'", key, s.fluxNamespace(), runTags, name)
		}
		whole[key] = data[key]
	}
	return whole, nil
}

func (s *Site) sourceTags(ctx context.Context) (map[string]string, error) {
	c, err := s.source(ctx)
	if err != nil {
		return nil, err
	}
	return s.tags(ctx, c, s.Settings.KindContext)
}

func (s *Site) targetTags(ctx context.Context) (map[string]string, error) {
	c, err := s.target(ctx)
	if err != nil {
		return nil, err
	}
	return s.tags(ctx, c, s.Settings.File.Bootstrap.MgmtContext)
}

func (s *Site) sourceTagged(ctx context.Context, _ plan.Fact) plan.Presence {
	_, err := s.sourceTags(ctx)
	return there(err)
}

// there is what an error says of the thing that was read.
func there(err error) plan.Presence {
	switch {
	case err == nil:
		return plan.Present()
	case kube.Gone(err):
		return plan.Absent("the server does not have it")
	}
	return plan.Failed(err.Error())
}

// targetTagged compares with the source as long as there is one.
func (s *Site) targetTagged(ctx context.Context, _ plan.Fact) plan.Presence {
	have, err := s.targetTags(ctx)
	if err != nil {
		return there(err)
	}
	kinds, err := s.kinds(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	exists, err := kinds.Exists(ctx, s.Settings.KindCluster)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if !exists {
		return plan.Present()
	}
	want, err := s.sourceTags(ctx)
	if kube.Gone(err) {
		return plan.Present() // nothing to copy
	}
	if err != nil {
		return plan.Failed(err.Error())
	}
	for _, key := range tagKeys() {
		if have[key] != want[key] {
			return plan.Absent(key + " is not that of the source")
		}
	}
	return plan.Present()
}

// tag makes the tags of the run, where it is confirmed that there are none.
func (s *Site) tag(ctx context.Context, _ plan.Step, v run.Voice) error {
	c, err := s.source(ctx)
	if err != nil {
		return err
	}
	_, err = s.tags(ctx, c, s.Settings.KindContext)
	if err == nil {
		return nil
	}
	if !kube.Gone(err) {
		return err
	}
	if s.Settings.Run.ID != "" {
		v.Warn("Run tags: existing ConfigMap not found; generating fresh tags (run-id from KROPS_RUN_ID, expires-at recalculated)")
	}
	m, err := s.Settings.Metadata(s.now(), s.branch)
	if err != nil {
		return err
	}
	err = c.Apply(ctx, kube.NewConfigMap(s.fluxNamespace(), runTags, map[string]string{
		"KROPS_RUN_ID": m.RunID, "KROPS_REVISION": m.Revision, "KROPS_EXPIRES_AT": m.ExpiresAt, "KROPS_RUN_KIND": m.RunKind,
	}))
	if err != nil {
		return err
	}
	v.Say("Run tags: run-id=%s revision=%s expires-at=%s run-kind=%s", m.RunID, m.Revision, m.ExpiresAt, m.RunKind)
	return nil
}

// copyTags gives the management cluster the tags of the source, as they are.
func (s *Site) copyTags(ctx context.Context, _ plan.Step, _ run.Voice) error {
	tags, err := s.sourceTags(ctx)
	if err != nil {
		return err
	}
	c, err := s.target(ctx)
	if err != nil {
		return err
	}
	return c.Apply(ctx, kube.NewConfigMap(s.fluxNamespace(), runTags, tags))
}
