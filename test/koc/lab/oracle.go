// Package lab compares koc with the openstack client on a real cloud: the one
// that cloud-up starts and seed fills. README.md tells how to use it.
package lab

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Run is a command line that ran: with an output format, or none.
type Run struct {
	Argv   []string `json:"argv"`
	Format string   `json:"format"`
	Code   int      `json:"rc"`
	Out    string   `json:"out"`
	Err    string   `json:"err"`
}

// Args is the command line as it was given to the program.
func (r Run) Args() []string {
	if r.Format == "" {
		return r.Argv
	}
	return append(append([]string{}, r.Argv...), "-f", r.Format)
}

// answer is what the oracle replies.
type answer struct {
	ID    int    `json:"id"`
	Kind  string `json:"kind"` // list, show or command
	Runs  []Run  `json:"runs"`
	Error string `json:"error,omitempty"`
}

// Oracle is the openstack client as a process that forks for each command.
type Oracle struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	cache string
	fresh bool
	done  chan struct{}

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
}

// StartOracle starts it. dir holds lib/oracle.py, cache the answers of earlier
// runs; fresh ignores them.
func StartOracle(ctx context.Context, dir, cache string, fresh bool, parallel int) (*Oracle, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", filepath.Join(dir, "lib", "oracle.py"), "serve", strconv.Itoa(parallel))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o := &Oracle{cmd: cmd, in: in, cache: cache, fresh: fresh, done: make(chan struct{}), waiting: map[int]chan answer{}}
	go o.read(out)
	return o, nil
}

// Close ends it.
func (o *Oracle) Close() error {
	_ = o.in.Close()
	<-o.done
	return o.cmd.Wait()
}

func (o *Oracle) read(out io.Reader) {
	defer close(o.done)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			a.Error = err.Error() // the id is there, or the request ends with its context
		}
		o.mu.Lock()
		ch := o.waiting[a.ID]
		delete(o.waiting, a.ID)
		o.mu.Unlock()
		if ch != nil {
			ch <- a
		}
	}
}

// Variants is how a command runs: as it is; in every output format of its kind,
// and again with --long where that exists; or so in table and json alone.
type Variants string

// The variants of a command.
const (
	Alone Variants = ""
	All   Variants = "all"
	Few   Variants = "few"
)

// Ask runs a command, its variants all of the same moment. If it may be
// answered from the cache, the second result tells whether it was.
func (o *Oracle) Ask(ctx context.Context, argv []string, expand Variants, cached bool) (runs []Run, old bool, err error) {
	file := o.file(argv, expand)
	if cached && !o.fresh {
		if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &runs) == nil {
			return runs, true, nil
		}
	}
	o.mu.Lock()
	o.next++
	id, ch := o.next, make(chan answer, 1)
	o.waiting[id] = ch
	request, err := json.Marshal(map[string]any{"id": id, "argv": argv, "expand": expand})
	if err == nil {
		_, err = o.in.Write(append(request, '\n'))
	}
	o.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	var a answer
	select {
	case a = <-ch:
	case <-o.done:
		return nil, false, errors.New("the oracle ended: is python3-openstackclient installed?")
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if a.Error != "" {
		return nil, false, fmt.Errorf("oracle: %s: %s", strings.Join(argv, " "), a.Error)
	}
	b, err := json.Marshal(a.Runs)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	return a.Runs, false, err
}

func (o *Oracle) file(argv []string, expand Variants) string {
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00") + "\x00" + string(expand)))
	return filepath.Join(o.cache, hex.EncodeToString(sum[:8])+".json")
}
