package command

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
)

// A flag means the same in every verb, so its name says what it may not be.

// narrows tells whether the value of a flag chooses what a command is about.
// Given empty, as by a variable that is not set, it would choose everything.
func narrows(flag string) bool {
	return slices.Contains(strings.Fields(
		"rid tag tags subset subsets to upto downto node selector service status impersonate session-id orchestration-id namespace"), flag)
}

// checkFlags refuses the values which no verb can honour, before anything is done.
func checkFlags(cmd *cobra.Command) error {
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case narrows(f.Name):
			if slices.ContainsFunc(valuesOf(f), func(v string) bool { return strings.TrimSpace(v) == "" }) {
				errs = append(errs, app.Usage("--%s is given nothing, which would mean everything: name what is meant, or leave the flag out", f.Name))
			}
		case f.Value.Type() == "duration":
			d, err := time.ParseDuration(f.Value.String())
			if err == nil && (d < 0 || d == 0 && f.Name == "time") {
				errs = append(errs, app.Usage("--%s %s: write a positive duration, as 30s or 5m", f.Name, f.Value))
			}
		}
	})
	return errors.Join(errs...)
}

// valuesOf returns the values a flag was given; an empty list is one empty value.
func valuesOf(f *pflag.Flag) []string {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return []string{f.Value.String()}
	}
	if values := list.GetSlice(); len(values) > 0 {
		return values
	}
	return []string{""}
}

// ignored tells whether an error only says that objects do not exist, to a
// command told not to mind.
func ignored(cmd *cobra.Command, err error) bool {
	f := cmd.Flag("ignore-not-found")
	return err != nil && f != nil && f.Value.String() == "true" && onlyMissing(err)
}

// exitMissing is the exit code of a command whose object does not exist.
const exitMissing = 2

func onlyMissing(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyMissing(e) })
	}
	var coded interface {
		error
		ExitCode() int
	}
	return errors.As(err, &coded) && coded.ExitCode() == exitMissing
}

// parameter is how the API names one of its parameters.
var parameter = regexp.MustCompile(`\bquery\.([a-z_]+)`)

// inFlags names the flags of the command where the API refused its parameters.
func inFlags(cmd *cobra.Command, err error) error {
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Status != http.StatusBadRequest && p.Status != http.StatusUnprocessableEntity || !parameter.MatchString(p.Detail) {
		return err
	}
	said := parameter.ReplaceAllStringFunc(p.Detail, func(word string) string {
		name := strings.ReplaceAll(strings.TrimPrefix(word, "query."), "_", "-")
		for _, flag := range []string{name, map[string]string{"wait": "time", "wait-lock": "waitlock", "path": "selector"}[name]} {
			if cmd.Flag(flag) != nil && (flag != "wait" || cmd.Flag("time") == nil) {
				return "--" + flag
			}
		}
		return word
	})
	return app.Usage("%s", said)
}
