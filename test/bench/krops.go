package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// kropss measures krops-bootstrap. What needs an API server is measured where the
// lab of krops has been built, see test/krops/lab/assets.
func kropss(ctx context.Context, b bench) ([]row, error) {
	program, err := filepath.Abs("bin/krops-bootstrap")
	if err != nil {
		return nil, err
	}
	return kropsStart(ctx, b, program)
}

// kropsStart measures what a command costs that needs none of the libraries.
func kropsStart(ctx context.Context, b bench, program string) ([]row, error) {
	info, err := os.Stat(program)
	if err != nil {
		return nil, err
	}
	var ours, floor []cost
	for range runs {
		h, err := measured(ctx, nil, b.hello)
		if err != nil {
			return nil, err
		}
		o, err := measured(ctx, nil, program, "--help")
		if err != nil {
			return nil, err
		}
		floor, ours = append(floor, h), append(ours, o)
	}
	h, o := median(floor), median(ours)
	return []row{
		{"krops-bootstrap --help, processor time", fmt.Sprintf("%s (%s)", milliseconds(o.cpu), ratio(o.cpu, h.cpu)), "60 ms"},
		{"krops-bootstrap --help, wall", fmt.Sprintf("%s (%s)", milliseconds(o.wall), ratio(o.wall, h.wall)), "-"},
		{"krops-bootstrap --help, memory", megabytes(o.rss), "-"},
		{"krops-bootstrap, size of the binary", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "-"},
	}, nil
}
