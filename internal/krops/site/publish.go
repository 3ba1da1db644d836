package site

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/artifact"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// publishPart is the artifact in the local registry. Both clusters read the same
// one: what differs is when it is published.
func (s *Site) publishPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"source/artifact": s.published, "target/artifact": s.published,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"publish": s.publish, "target-publish": s.publish,
		},
	}
}

// reference is where the artifact is, as this process reaches it.
func (s *Site) reference() artifact.Reference {
	host, port := s.Settings.RegistryEndpoint()
	return artifact.Reference{Host: host, Port: port, Repository: s.Settings.OCIRepository, Tag: s.Settings.OCITag}
}

// artifact makes the artifact of the checkout as it is at this moment.
func (s *Site) artifact() (*artifact.Artifact, error) {
	directories, err := artifact.Directories(s.Settings.Environment.SyncPath)
	if err != nil {
		return nil, err
	}
	return artifact.Build(artifact.Source{
		Root: s.Root, Directories: directories,
		Given: artifact.Meta{SHA: s.Settings.OCIGitSHA, Ref: s.Settings.OCIGitRef, Source: s.Settings.OCISourceURL},
	})
}

// published tells whether the registry has the artifact of the checkout. Where
// nothing listens there is none: that is no question that failed.
func (s *Site) published(ctx context.Context, _ plan.Fact) plan.Presence {
	wanted, err := s.artifact()
	if err != nil {
		return plan.Failed(err.Error())
	}
	found, err := s.reference().Digest(ctx)
	switch {
	case errors.Is(err, artifact.ErrAbsent):
		return plan.Absent(err.Error())
	case err != nil:
		return plan.Failed(err.Error())
	case found != wanted.Digest():
		return plan.Absent("the registry has another artifact: " + found)
	}
	return plan.Present()
}

func (s *Site) publish(ctx context.Context, _ plan.Step, v run.Voice) error {
	made, err := s.artifact()
	if err != nil {
		return err
	}
	if len(made.Changed) > 0 {
		v.Detail("not as in commit %.12s, published as it is here: %s", made.SHA, some(made.Changed))
	}
	if err := made.Push(ctx, s.reference()); err != nil {
		return err
	}
	v.Detail("%d files of %s, %s", made.Files, made.Revision(), made.Digest())
	return nil
}

// some names the first of a list, and how many more there are.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
