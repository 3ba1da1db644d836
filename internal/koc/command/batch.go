package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Each does something to each of the things that references name: all are
// attempted, in order, references given twice once, and all failures are reported.
// A command that declares [Parallel] does several at a time. noun and verb are for
// the messages: "network", "delete".
func Each(ctx context.Context, c *Call, noun, verb string, refs []string, do func(ctx context.Context, ref string) error) error {
	var distinct []string
	for _, ref := range refs {
		if !slices.Contains(distinct, ref) {
			distinct = append(distinct, ref)
		}
	}
	width := 1
	if c.Declares("parallel") {
		width = max(1, c.Int("parallel"))
	}
	failed := make([]error, len(distinct))
	gate := make(chan struct{}, width)
	var group sync.WaitGroup
	for i, ref := range distinct {
		gate <- struct{}{}
		if ctx.Err() != nil {
			failed[i] = ctx.Err()
			<-gate
			continue
		}
		group.Go(func() {
			defer func() { <-gate }()
			failed[i] = do(ctx, ref)
		})
	}
	group.Wait()
	return c.batch(noun, verb, distinct, failed)
}

// batch joins the failures of a batch. One thing fails with its own error alone.
func (c *Call) batch(noun, verb string, refs []string, failed []error) error {
	var lines []string
	var errs []error
	for i, err := range failed {
		if err != nil {
			errs = append(errs, err)
			lines = append(lines, fmt.Sprintf("%s %s %q: %v", verb, noun, refs[i], err))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	if len(refs) > 1 {
		lines = append(lines, fmt.Sprintf("%d of %d %ss failed to %s", len(errs), len(refs), noun, verb))
	}
	return &batchError{text: strings.Join(lines, "\n"), errs: errors.Join(errs...)}
}

type batchError struct {
	text string
	errs error
}

func (e *batchError) Error() string { return e.text }
func (e *batchError) Unwrap() error { return e.errs }

// Parallel is the flag of commands that do the same to many things.
func Parallel() Flag {
	return Flag{Name: "parallel", Value: "<count>", Type: Natural, Default: "1", Koc: true, Help: "Do this many at a time"}
}
