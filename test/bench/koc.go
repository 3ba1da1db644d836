package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// kocs measures koc: start-up beside a process that does nothing, and lists of
// servers from a cloud in memory. Where OS_CLOUD names a real cloud and the
// openstack client is installed, both list its servers.
func kocs(ctx context.Context, b bench) ([]row, error) {
	koc, err := filepath.Abs("bin/koc")
	if err != nil {
		return nil, err
	}
	rows, err := beside(ctx, b, 5*runs, "koc", koc, "--version", "2x hello", "2x hello", "-")
	if err != nil {
		return rows, err
	}
	large, err := size("koc", koc, "14 MB")
	if err != nil {
		return rows, err
	}
	rows = append(rows, large)
	lists, err := kocLists(ctx, b, koc)
	rows = append(rows, lists...)
	if err != nil {
		return rows, err
	}
	live, err := kocReal(ctx, koc)
	return append(rows, live...), err
}

// kocLists lists the servers of a cloud that is another process: a large parent
// would count in the memory of its children.
func kocLists(ctx context.Context, b bench, koc string) (rows []row, err error) {
	program := filepath.Join(b.work, "cloud")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./test/demo/cloud").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the cloud: %w: %s", err, text)
	}
	const servers = 10000
	cloud := exec.CommandContext(ctx, program, strconv.Itoa(servers))
	stdin, err := cloud.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cloud.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cloud.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stdin.Close(), cloud.Wait()) }()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
	for lines := bufio.NewScanner(stdout); lines.Scan() && lines.Text() != ""; {
		env = append(env, strings.TrimPrefix(lines.Text(), "export "))
	}
	for _, list := range []struct {
		what string
		args []string
		aim  string
	}{
		{"table", nil, "150 ms, 20 MB"},
		{"json", []string{"-f", "json"}, "150 ms, 20 MB"},
		{"value -c ID", []string{"-f", "value", "-c", "ID"}, "-"},
		{"--long", []string{"--long"}, "-"},
		{"--limit 1", []string{"--limit", "1"}, "-"},
	} {
		var costs []cost
		for range 7 {
			c, err := measured(ctx, env, append([]string{koc, "server", "list"}, list.args...)...)
			if err != nil {
				return rows, err
			}
			costs = append(costs, c)
		}
		m := median(costs)
		rows = append(rows, row{
			"koc server list of " + strconv.Itoa(servers) + ", " + list.what,
			fmt.Sprintf("%s processor, %s wall, %s", milliseconds(m.cpu), milliseconds(m.wall), megabytes(m.rss)), list.aim,
		})
	}
	return rows, nil
}

// openstack is the upstream client, where Debian installs it.
const openstack = "/usr/bin/openstack"

func kocReal(ctx context.Context, koc string) ([]row, error) {
	_, err := os.Stat(openstack)
	if installed := err == nil; !installed || os.Getenv("OS_CLOUD") == "" {
		return []row{{"koc beside the openstack client", "not measured: no OS_CLOUD, or no " + openstack, "100x less"}}, nil
	}
	var ours, theirs []cost
	for i := range 9 {
		o, err := measured(ctx, os.Environ(), koc, "server", "list")
		if err != nil {
			return nil, err
		}
		ours = append(ours, o)
		if i%3 == 0 {
			t, err := measured(ctx, os.Environ(), openstack, "server", "list")
			if err != nil {
				return nil, err
			}
			theirs = append(theirs, t)
		}
	}
	o, t := median(ours), median(theirs)
	times := func(a, b time.Duration) string {
		return strconv.FormatFloat(float64(a)/float64(max(b, 1)), 'f', 0, 64) + "x"
	}
	return []row{
		{"openstack server list, a real cloud", fmt.Sprintf("%s processor, %s wall, %s", milliseconds(t.cpu), milliseconds(t.wall), megabytes(t.rss)), "-"},
		{"koc server list, the same", fmt.Sprintf("%s processor (%s less), %s wall, %s", milliseconds(o.cpu), times(t.cpu, o.cpu), milliseconds(o.wall), megabytes(o.rss)), "100x less"},
	}, nil
}
