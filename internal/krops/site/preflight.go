package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/github"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/krops/sops"
)

// preflightPart is what is checked before anything is made.
func (s *Site) preflightPart() part {
	return part{
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"preflight-github": s.checkGithub,
			"preflight-age":    s.checkAge,
			"preflight-engine": s.checkEngine,
		},
	}
}

// checkGithub looks for the branch with the token, and remembers its commit.
func (s *Site) checkGithub(ctx context.Context, _ plan.Step, v run.Voice) error {
	if s.Settings.GithubToken.IsZero() {
		return errors.New("GITHUB_TOKEN must be set (a PAT with read access to the repo)")
	}
	if s.Settings.GitRepoURL == "" {
		return errors.New("GIT_REPO_URL must be set")
	}
	owner, name, err := config.Repository(s.Settings.GitRepoURL)
	if err != nil {
		return err
	}
	version := s.Version
	if version == "" {
		version = "unknown"
	}
	branch := s.Settings.File.Bootstrap.GitBranch
	commit, err := github.Branch(ctx, github.Question{
		API: s.Github, Owner: owner, Name: name, Branch: branch, Token: s.Settings.GithubToken,
		UserAgent: "krops-bootstrap/" + version, Address: s.Settings.GitRepoURL,
	})
	if err != nil {
		return err
	}
	s.branch = commit
	if commit != "" {
		v.Detail("%s of %s/%s is at %s", branch, owner, name, commit)
	}
	return nil
}

// checkAge reads the age key. That the public key beside it is that of the secret one
// is computed, not believed.
func (s *Site) checkAge(_ context.Context, _ plan.Step, v run.Voice) error {
	file := s.Settings.AgeKeyFile
	text, err := os.ReadFile(s.callers(file))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("age key file not found at '%s'.\nGenerate one with 'mise run sops-keygen' and add its public key to .sops.yaml", file)
	}
	if err != nil {
		return fmt.Errorf("read the age key file: %w", err)
	}
	key := config.ReadAgeKey(string(text))
	if len(key.Missing) > 0 {
		return fmt.Errorf("'%s' is not a valid age key file.\nMissing: %s", file, strings.Join(key.Missing, ", "))
	}
	secret, err := sops.ParseKey(text)
	if err != nil {
		return fmt.Errorf("'%s' is not a valid age key file: %w", file, err)
	}
	if !slices.Contains(secret.Recipients(), key.Public) {
		return fmt.Errorf("'%s' says that its public key is %s, but its secret key belongs to %s: Flux could not decrypt anything",
			file, key.Public, strings.Join(secret.Recipients(), ", "))
	}
	public, err := config.AgePublicKey(s.Settings.AgePublicKey, key.Public)
	if err != nil {
		return err
	}
	v.Detail("public key %s", public)
	return nil
}

// checkEngine finds the container engine and says what it means for the kind cluster.
func (s *Site) checkEngine(ctx context.Context, _ plan.Step, v run.Voice) error {
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	v.Say("Using container engine: %s (socket: %s)", e.Name, e.Socket)
	for _, note := range e.Notes {
		v.Warn("%s", note)
	}
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err
	}
	there, err := kinds.Exists(ctx, s.Settings.KindCluster)
	if err != nil {
		return err
	}
	if about, ok := kinds.(usable); ok && (!there || s.Settings.Recreate) {
		if err := about.Usable(); err != nil && !s.moved() {
			return err
		}
	}
	if about, ok := kinds.(recorder); ok && there && !s.Settings.Recreate {
		s.drift(ctx, about, v)
	}
	return nil
}

// moved tells whether a management cluster was exported: no kind cluster may be needed
// any more.
func (s *Site) moved() bool {
	_, err := os.Stat(s.mgmtFile())
	return err == nil
}

// drift says in what a kind cluster that is reused differs from the one that would be
// made now. It is used all the same.
func (s *Site) drift(ctx context.Context, about recorder, v run.Voice) {
	was, err := about.Recorded(ctx, s.Settings.KindCluster)
	if err != nil || was == "" {
		return // another program has made it, or its node is stopped
	}
	now, err := s.kindConfig(ctx)
	if err != nil || was == now.String() {
		return
	}
	v.Warn("kind cluster '%s' was made otherwise than it would be now; it is used as it is, --recreate replaces it:\n%s",
		s.Settings.KindCluster, difference(was, now.String()))
}

// difference lists the lines of two texts that are in one of them alone.
func difference(was, now string) string {
	before, after := strings.Split(strings.TrimSpace(was), "\n"), strings.Split(strings.TrimSpace(now), "\n")
	var lines []string
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return strings.Join(lines, "\n")
}
