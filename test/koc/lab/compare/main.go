// Command compare runs the reads of test/koc/lab/reads.txt with the openstack
// client and with koc in its compatibility voice, and prints what differs:
//
//	go run ./test/koc/lab/compare [-service network] [-run regexp] [-koc path]
//
// It needs the cloud of test/koc/lab/cloud-up, with the data of its seed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	differ, err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if differ {
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) (differ bool, err error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	koc := flags.String("koc", "", `the koc to compare (default: build it); with -writes, "oracle" is the openstack client, to test the lab`)
	dir := flags.String("dir", "test/koc/lab", "where reads.txt and accepted.txt are")
	service := flags.String("service", "", "only commands of this service")
	only := flags.String("run", "", "only commands that this regular expression matches")
	formats := flags.String("format", "", "only these formats: table,json,yaml,value,csv,shell")
	fresh := flags.Bool("fresh", false, "ask the oracle again instead of reading its cache")
	writes := flags.Bool("writes", false, "take the steps of writes.txt instead")
	full := flags.Bool("full", false, "every format even of lists that only a filter sets apart: else table and json")
	verbose := flags.Bool("v", false, "print both outputs of what differs")
	parallel := flags.Int("p", 2, "commands at once")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	c := lab.Comparison{Dir: *dir, Service: *service, Full: *full, Verbose: *verbose, Parallel: *parallel, Out: out}
	c.Koc = lab.Koc{Path: *koc, Compat: true}
	if *only != "" {
		if c.Command, err = regexp.Compile(*only); err != nil {
			return false, err
		}
	}
	if *formats != "" {
		c.Formats = strings.Split(*formats, ",")
	}
	if *koc == "" {
		tmp, err := os.MkdirTemp("", "koc-compare")
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
		c.Koc.Path = filepath.Join(tmp, "koc")
		build := exec.CommandContext(ctx, "go", "build", "-o", c.Koc.Path, "./cmd/koc")
		if b, err := build.CombinedOutput(); err != nil {
			return false, fmt.Errorf("go build ./cmd/koc: %w\n%s", err, b)
		}
	}
	for _, e := range lab.Env(false) {
		if k, v, _ := strings.Cut(e, "="); strings.HasPrefix(k, "OS_") {
			if err := os.Setenv(k, v); err != nil {
				return false, err
			}
		}
	}
	c.Oracle, err = lab.StartOracle(ctx, *dir, filepath.Join(lab.CloudDir(), "compare-cache"), *fresh, *parallel)
	if err != nil {
		return false, err
	}
	var totals lab.Totals
	if *writes {
		totals.Differ, err = write(ctx, c)
	} else {
		totals, err = c.Do(ctx)
	}
	if cerr := c.Oracle.Close(); err == nil && cerr != nil && ctx.Err() == nil {
		err = cerr
	}
	return totals.Differ > 0, err
}

// write takes the steps of writes.txt, and counts the cases that fail.
func write(ctx context.Context, c lab.Comparison) (failed int, err error) {
	w := lab.Writes{Dir: c.Dir, Koc: c.Koc, Oracle: c.Oracle}
	if c.Koc.Path == "oracle" {
		w.Koc = c.Oracle
	}
	cases, err := w.Load()
	if err != nil {
		return 0, err
	}
	ran := 0
	for _, k := range cases {
		if c.Service != "" && k.Service != c.Service || c.Command != nil && !c.Command.MatchString(k.Name) {
			continue
		}
		ran++
		if err := w.Do(ctx, k); err != nil {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			failed++
			_, _ = fmt.Fprintf(c.Out, "FAIL %s | %s | %s\n", k.Service, k.Name, strings.ReplaceAll(err.Error(), "\n", " "))
		} else if c.Verbose {
			_, _ = fmt.Fprintf(c.Out, "ok   %s | %s\n", k.Service, k.Name)
		}
	}
	_, _ = fmt.Fprintf(c.Out, "%d cases, %d failed\n", ran, failed)
	return failed, nil
}
