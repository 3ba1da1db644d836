package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/command/node"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/logbook"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

// RunDaemon implements daemon.Host.
func (b *Backend) RunDaemon(ctx context.Context, c *verb.Call) error {
	p, log := b.o.Process, b.logger(c)
	err := b.o.Serve(ctx, Daemon{
		Host: b.host, Version: p.Version, Log: log, Args: append([]string{p.Self}, p.Args...), Environ: p.Environ,
	})
	if err != nil && c.Quiet {
		// Nobody reads the console of a daemon in the background.
		log.Error("daemon failed", slog.Any("err", err))
	}
	return err
}

// soon is how often the start and the end of a daemon are looked for.
func soon() retry.Policy {
	return retry.Policy{Interval: 10 * time.Millisecond, Max: 100 * time.Millisecond}
}

// StartDaemon implements daemon.Host.
func (b *Backend) StartDaemon(ctx context.Context, limit time.Duration) (bool, error) {
	if b.Alive(ctx) == nil {
		return false, nil
	}
	since := time.Now()
	// What it says before it can log is in a file without a name.
	words, err := os.CreateTemp("", "om-daemon-")
	if err != nil {
		return false, fmt.Errorf("start the daemon: %w", err)
	}
	defer func() { _ = words.Close() }()
	if err := os.Remove(words.Name()); err != nil {
		return false, fmt.Errorf("start the daemon: %w", err)
	}
	process, err := b.host.Runner.Start(host.Cmd{
		Argv: []string{b.host.Self, "daemon", "run", "--quiet"}, Env: daemonEnviron(b.o.Process.Environ), Capture: words,
	})
	if err != nil {
		return false, fmt.Errorf("start the daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = retry.Until(ctx, soon(), func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			if b.Alive(ctx) == nil {
				return true, nil // another one was faster
			}
			return false, b.diagnose(err, since, words)
		default:
			return b.Alive(ctx) == nil, nil
		}
	})
	if err != nil {
		return false, fmt.Errorf("start the daemon: %w", err)
	}
	return true, nil
}

// diagnose says why a daemon ended: by its last words, else by its log.
func (b *Backend) diagnose(err error, since time.Time, words io.ReaderAt) error {
	if text := lastWords(words); text != "" {
		return errors.New(text)
	}
	if err == nil {
		err = errors.New("it ended at once")
	}
	lines, readErr := b.book().Read(logbook.Filter{Level: "error", Since: since}, 5)
	if readErr != nil {
		return err
	}
	var said []string
	for _, l := range lines {
		said = append(said, strings.TrimSuffix(l.Message+": "+l.Err, ": "))
	}
	if len(said) == 0 {
		return fmt.Errorf("%w: see om daemon run", err)
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(said, "\n"))
}

// maxWords bounds what is read of what a daemon said.
const maxWords = 64 << 10

// lastWords is the error a daemon ended with, as it printed it.
func lastWords(words io.ReaderAt) string {
	text, err := io.ReadAll(io.NewSectionReader(words, 0, maxWords))
	if err != nil {
		return ""
	}
	_, said, found := strings.Cut("\n"+string(text), "\nError: ")
	if !found {
		return strings.TrimSpace(string(text))
	}
	var lines []string
	for line := range strings.Lines(said) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// StopDaemon implements daemon.Host.
func (b *Backend) StopDaemon(ctx context.Context, limit time.Duration) (bool, error) {
	c, err := b.Connect()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked, err := client.Do(ctx, c, api.PostDaemonStop, api.NodeName{Node: api.Localhost})
	if client.IsDown(err) || client.IsHung(err) {
		if runs := b.unreachable(err); runs != nil || client.IsDown(err) {
			return false, runs
		}
	}
	if err != nil {
		return false, fmt.Errorf("stop the daemon: %w", err)
	}
	if err := b.gone(ctx, asked.Pid); err != nil {
		return false, fmt.Errorf("stop the daemon, process %d: %w", asked.Pid, err)
	}
	return true, nil
}

// gone waits until the process of a daemon has ended.
func (b *Backend) gone(ctx context.Context, pid int) error {
	return retry.Until(ctx, soon(), func(ctx context.Context) (bool, error) {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil && pid > 0 && !zombie(pid) {
			return false, nil
		}
		return b.Alive(ctx) != nil, nil
	})
}

// zombie tells whether the process has ended and waits for its parent.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// ShutdownDaemon implements daemon.Shutter.
func (b *Backend) ShutdownDaemon(ctx context.Context, limit time.Duration) error {
	c, err := b.Connect()
	if err != nil {
		return err
	}
	asked, err := client.Do(ctx, c, api.PostDaemonShutdown, api.DaemonShutdown{NodeName: api.NodeName{Node: api.Localhost}, Duration: limit.String()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return b.gone(ctx, asked.Pid)
}

// Drivers implements node.Drivers.
func (b *Backend) Drivers(context.Context) ([]node.Driver, error) {
	var drivers []node.Driver
	for _, s := range b.registry().Specs() {
		drivers = append(drivers, node.Driver{Name: s.ID(), Doc: s.Doc})
	}
	return drivers, nil
}

func (b *Backend) stateDir(p object.Path) string {
	return filepath.Join(b.host.Paths.Var(), p.StateDir())
}
