package lab

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Comparison is a run over reads.txt.
type Comparison struct {
	Dir      string // of reads.txt and accepted.txt
	Koc      Koc
	Oracle   *Oracle
	Service  string // only this one
	Command  *regexp.Regexp
	Formats  []string // only these
	Full     bool     // every format even of a list that only a filter sets apart
	Verbose  bool
	Parallel int
	Out      io.Writer
}

// Totals counts command lines, those with --long for themselves.
type Totals struct{ Commands, Equal, Differ, Accepted int }

type result struct {
	lines  []string
	totals Totals
}

// Do compares, prints a line for each command line that differs and the totals
// of each service, and returns the sum.
func (c Comparison) Do(ctx context.Context) (Totals, error) {
	reads, accepted, err := c.load()
	if err != nil {
		return Totals{}, err
	}
	values := map[string]string{}
	seen := map[string]bool{}
	var todo []Read
	for _, r := range reads {
		if c.Service != "" && r.Service != c.Service {
			continue
		}
		if r.Name != "" {
			runs, _, err := c.Oracle.Ask(ctx, Fill(r.Argv, values), Alone, true)
			if err != nil {
				return Totals{}, err
			}
			if runs[0].Code != 0 || strings.TrimSpace(runs[0].Out) == "" {
				c.say("NOTE %s | let %s: exit code %d, %q: %s\n", r.Service, r.Name, runs[0].Code, runs[0].Out, firstLine(runs[0].Err))
			}
			values[r.Name] = firstLine(runs[0].Out)
			continue
		}
		r.variants = All
		if noun := r.noun(); noun != "" && !c.Full {
			if seen[noun] {
				r.variants = Few
			}
			seen[noun] = true
		}
		if c.Command == nil || c.Command.MatchString(r.String()) {
			todo = append(todo, r)
		}
	}

	results := make([]result, len(todo))
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		fault error
	)
	for range max(1, c.Parallel) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := fault != nil || ctx.Err() != nil
				mu.Unlock()
				if stop || i >= len(todo) {
					return
				}
				res, err := c.one(ctx, todo[i], values, accepted, &mu)
				mu.Lock()
				results[i] = res
				fault = cmp.Or(fault, err)
				for _, l := range res.lines {
					c.say("%s\n", l)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(fault, ctx.Err()); err != nil {
		return Totals{}, err
	}

	var sum Totals
	services := map[string]Totals{}
	var names []string
	for i, r := range todo {
		t := services[r.Service]
		t.add(results[i].totals)
		services[r.Service] = t
		sum.add(results[i].totals)
		if !slices.Contains(names, r.Service) {
			names = append(names, r.Service)
		}
	}
	services["all"] = sum
	for _, n := range append(names, "all") {
		t := services[n]
		c.say("%-9s %4d command lines, %4d equal, %4d differ, %3d accepted\n", n, t.Commands, t.Equal, t.Differ, t.Accepted)
	}
	if c.Service == "" && c.Command == nil && len(c.Formats) == 0 {
		for _, a := range accepted {
			if !a.Used {
				c.say("NOTE accepted.txt: nothing differs any more: %s | %s\n", a.Command, a.Reason)
			}
		}
	}
	return sum, nil
}

func (t *Totals) add(o Totals) {
	t.Commands += o.Commands
	t.Equal += o.Equal
	t.Differ += o.Differ
	t.Accepted += o.Accepted
}

func (c Comparison) load() (reads []Read, accepted []*Accepted, err error) {
	b, err := os.ReadFile(filepath.Join(c.Dir, "reads.txt"))
	if err != nil {
		return nil, nil, err
	}
	if reads, err = ParseReads(bytes.NewReader(b)); err != nil {
		return nil, nil, err
	}
	if b, err = os.ReadFile(filepath.Join(c.Dir, "accepted.txt")); err != nil {
		return nil, nil, err
	}
	accepted, err = ParseAccepted(bytes.NewReader(b))
	return reads, accepted, err
}

func (c Comparison) say(format string, a ...any) { _, _ = fmt.Fprintf(c.Out, format, a...) }

// one compares all variants of a read.
func (c Comparison) one(ctx context.Context, r Read, values map[string]string, accepted []*Accepted, mu *sync.Mutex) (result, error) {
	argv := Fill(r.Argv, values)
	var res result
	runs, old, err := c.Oracle.Ask(ctx, argv, r.variants, true)
	if err != nil {
		return res, err
	}
	found, err := c.differences(ctx, r, runs)
	if err != nil {
		return res, err
	}
	if len(found) > 0 && (old || !unknown(found)) {
		// perhaps the cloud has changed since
		if runs, _, err = c.Oracle.Ask(ctx, argv, r.variants, false); err != nil {
			return res, err
		}
		if found, err = c.differences(ctx, r, runs); err != nil {
			return res, err
		}
	}
	if first := runs[0]; first.Code != 0 && !r.Fails && !r.Broken {
		res.lines = append(res.lines, fmt.Sprintf("NOTE %s | %s: the oracle fails: %s", r.Service, r, short(firstLine(first.Err), 160)))
	} else if first.Code == 0 && (r.Fails || r.Broken) {
		res.lines = append(res.lines, fmt.Sprintf("NOTE %s | %s: the oracle does not fail", r.Service, r))
	}
	// by command line: the one as it is, and with --long
	for i := 0; i < len(runs); {
		name := r.String()
		if len(runs[i].Argv) > len(r.Argv) {
			name += " --long"
		}
		var parts []string
		took := false
		j := i
		for ; j < len(runs) && len(runs[j].Argv) == len(runs[i].Argv); j++ {
			f := found[j]
			if f.text == "" {
				continue
			}
			mu.Lock()
			a := acceptedBy(accepted, name, runs[j].Format)
			mu.Unlock()
			if a {
				took = true
				continue
			}
			parts = append(parts, runs[j].Format+": "+f.text)
			if c.Verbose {
				res.lines = append(res.lines, "--- openstack "+strings.Join(runs[j].Args(), " "), runs[j].Out+runs[j].Err, "+++ koc", f.got.Out+f.got.Err)
			}
			if runs[j].Code != f.got.Code {
				break // the others tell nothing more
			}
		}
		for j < len(runs) && len(runs[j].Argv) == len(runs[i].Argv) {
			j++
		}
		res.totals.Commands++
		switch {
		case len(parts) > 0:
			res.totals.Differ++
			res.lines = append(res.lines, fmt.Sprintf("DIFF %s | %s | %s", r.Service, name, strings.Join(parts, " ⏐ ")))
		case took:
			res.totals.Accepted++
		default:
			res.totals.Equal++
		}
		i = j
	}
	return res, nil
}

func acceptedBy(accepted []*Accepted, name, format string) bool {
	for _, a := range accepted {
		if a.Command.MatchString(name) && (len(a.Formats) == 0 || slices.Contains(a.Formats, format)) {
			a.Used = true
			return true
		}
	}
	return false
}

type finding struct {
	text string
	got  Run
}

func (c Comparison) differences(ctx context.Context, r Read, runs []Run) (map[int]finding, error) {
	found := map[int]finding{}
	skip := -1 // the length of a command line that koc does not know
	for i, want := range runs {
		if len(c.Formats) > 0 && !slices.Contains(c.Formats, want.Format) || len(want.Argv) == skip {
			continue
		}
		got, err := c.Koc.Run(ctx, want.Args()...)
		if err != nil {
			return nil, err
		}
		if d := Difference(r, want, got); d != "" {
			found[i] = finding{d, got}
			if got.Code == 2 && want.Code != 2 {
				skip = len(want.Argv)
			}
		}
	}
	return found, nil
}

// unknown tells whether all differences are of command lines that koc does not know.
func unknown(found map[int]finding) bool {
	for _, f := range found {
		if f.got.Code != 2 {
			return false
		}
	}
	return true
}
