// Command service is the service that the trials of the cluster run, and the client
// that asks for it. Its service is its own witness: it holds a lock in the directory
// that all nodes share as long as it lives, so the kernel knows whether two of them
// live at once.
//
//	service serve NAME ADDRESS          serves until it is told to end
//	service probe EVERY ADDRESS...      prints who answers, each time it changes
//	service load NAME                   serves nobody, for many of them
//	service fence NODE                  has the power of a node cut
//	service clock PID SECONDS           steps the wall clock of a process
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ops/holdfast/internal/retry"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == "serve":
		return serve(ctx, args[1], args[2])
	case len(args) > 2 && args[0] == "probe":
		every, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		return probe(ctx, os.Stdout, every, args[2:])
	case len(args) == 2 && args[0] == "load":
		<-ctx.Done()
		return nil
	case len(args) == 2 && args[0] == "fence":
		return fence(ctx, args[1])
	case len(args) == 3 && args[0] == "clock":
		pid, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		seconds, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return step(ctx, pid, time.Duration(seconds)*time.Second)
	}
	return errors.New("usage: serve NAME ADDRESS, probe EVERY ADDRESS..., load NAME, fence NODE, clock PID SECONDS")
}

// fence asks whoever made the bed to cut the power of a node, and waits until it is.
func fence(ctx context.Context, node string) error {
	name := fmt.Sprintf("%s/fence-%s-%d", witness.Dir, node, monotonic())
	if err := os.WriteFile(name, []byte(node), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return retry.Until(ctx, retry.Policy{Interval: 5 * time.Millisecond}, func(context.Context) (bool, error) {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist), nil
	})
}

// monotonic is the clock that all name spaces share.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}

func serve(ctx context.Context, name, address string) error {
	node, err := os.Hostname()
	if err != nil {
		return err
	}
	w, err := open(name, node)
	if err != nil {
		return err
	}
	defer func() { _, _ = w.log.Close(), w.lock.Close() }()
	w.say(witness.Start)
	go w.guard(ctx)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		w.say(witness.Stop)
		return err
	}
	go func() {
		<-ctx.Done()
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			break
		}
		go func() {
			_, _ = io.WriteString(conn, node+"\n")
			_ = conn.Close()
		}()
	}
	w.say(witness.Stop)
	return nil
}

// stand is what a service tells of itself.
type stand struct {
	name, node string
	log, lock  *os.File
}

func open(name, node string) (*stand, error) {
	w := &stand{name: name, node: node}
	var err error
	file := filepath.Join(witness.Dir, name)
	if w.log, err = os.OpenFile(file+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	w.lock, err = os.OpenFile(file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	return w, err
}

func (w *stand) say(what string) {
	b, err := json.Marshal(witness.Stamp{At: monotonic(), Node: w.node, Pid: os.Getpid(), What: what})
	if err == nil {
		_, _ = w.log.Write(append(b, '\n'))
	}
}

// guard takes the lock. Whoever does not get it at once is not alone.
func (w *stand) guard(ctx context.Context) {
	said := false
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if unix.Flock(int(w.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if said {
				w.say(witness.Alone)
			}
			<-ctx.Done()
			return
		}
		if !said {
			w.say(witness.Overlap)
			said = true
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// probe asks every address, again and again, and says who answers when it changes. A
// node that does not answer holds up nobody else's answers.
func probe(ctx context.Context, out io.Writer, every time.Duration, addresses []string) error {
	type change struct {
		address int
		answer  witness.Answer
	}
	changes := make(chan change)
	for i, address := range addresses {
		go func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			last := "?"
			for ctx.Err() == nil {
				asked := monotonic()
				if who := ask(ctx, address); who != last {
					last = who
					select {
					case changes <- change{i, witness.Answer{At: asked, Until: monotonic(), Who: who}}:
					case <-ctx.Done():
					}
				}
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		}()
	}
	who := make([]string, len(addresses))
	last := "?"
	enc := json.NewEncoder(out)
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			who[c.address] = c.answer.Who
			all := slices.DeleteFunc(slices.Clone(who), func(s string) bool { return s == "" })
			slices.Sort(all)
			c.answer.Who = strings.Join(slices.Compact(all), ",")
			if c.answer.Who == last {
				continue
			}
			last = c.answer.Who
			if err := enc.Encode(c.answer); err != nil {
				return err
			}
		}
	}
}

// A client waits shortly for a connection, which the kernel of a node makes, and longer
// for an answer, which a busy service gives.
const (
	connecting = 500 * time.Millisecond
	patience   = 2 * time.Second
)

func ask(ctx context.Context, address string) string {
	conn, err := (&net.Dialer{Timeout: connecting}).DialContext(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(io.LimitReader(conn, 256))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
