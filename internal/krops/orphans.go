package krops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/site"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
)

// orphansCommand reports what clusters have left in AWS.
func (c cli) orphansCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "orphans [PROFILE]",
		Short: "Report what clusters have left in AWS",
		Long: "Report the AWS resources of the clusters of an environment that are older than ORPHAN_MIN_AGE_HOURS, and change nothing.\n" +
			"The report is printed as markdown, appended to GITHUB_STEP_SUMMARY, and written as JSON to ORPHAN_REPORT_JSON.\n" +
			"Orphans are no error. A query that fails is one, and the report says which.\n\n" + profileHelp,
		Example: "  krops-bootstrap orphans aws\n  ORPHAN_MIN_AGE_HOURS=24 ORPHAN_REPORT_JSON=orphans.json krops-bootstrap orphans aws",
		Args:    atMostOne("profile"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.orphans(cmd.Context(), args) },
	}
}

func (c cli) orphans(ctx context.Context, args []string) error {
	s, root, err := c.settings(config.VerbOrphans, args)
	if err != nil {
		return err
	}
	e := s.Environment
	if len(e.Teardown.AWSWorkloads) == 0 {
		return fmt.Errorf("Orphan discovery is only supported for the 'aws' profile.\nThe '%s' profile has no AWS workloads to scan.", e.Name) //nolint:staticcheck // ST1005: the documented text
	}
	scope, err := sweep.ScopeOf(s.File, e)
	if err != nil {
		return err
	}
	o := site.Options{Settings: s, Root: root, Environ: c.Environ, Now: time.Now}
	if c.over.Site != nil {
		c.over.Site(&o)
	}
	report := sweep.Open(o.AWS, scope.Home()).Orphans(ctx, scope, s.OrphanMinAge, o.Now())
	if ctx.Err() != nil {
		return ctx.Err() // what an interruption leaves unanswered is no finding
	}
	markdown := report.Markdown()
	if _, err := fmt.Fprintln(c.Streams.Out, markdown); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	// All that can be written is, whatever fails.
	failed := errors.Join(summarize(s, markdown), writeReport(s.OrphanReport, report))
	if n := len(report.Errors); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("Orphan discovery completed with %d error(s); see report above", n)) //nolint:staticcheck // ST1005: the documented text
	}
	return failed
}

// summarize appends the report to the summary of a workflow.
func summarize(s *config.Settings, markdown string) (err error) {
	if s.StepSummary == "" || !s.OrphanSummary {
		return nil
	}
	file, err := os.OpenFile(s.StepSummary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // G302: others read the summary
	if err != nil {
		return fmt.Errorf("failed to write %s: %w", s.StepSummary, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(markdown + "\n"); err != nil {
		return fmt.Errorf("failed to write %s: %w", s.StepSummary, err)
	}
	return nil
}

func writeReport(path string, report *sweep.Report) error {
	if path == "" {
		return nil
	}
	text, err := report.JSON()
	if err == nil {
		err = renameio.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	return nil
}
