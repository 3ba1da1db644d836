package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/holdfast-ops/holdfast/test/om/bed"
	"github.com/holdfast-ops/holdfast/test/om/bed/witness"
)

// Client asks a service, again and again, and remembers who answered.
type Client struct {
	process *bed.Process
	read    *os.File

	mu      sync.Mutex
	answers []witness.Answer
	told    int // outages that [Client.Since] gave
}

// Ask starts a client that asks the port of every node, or the given addresses, every
// 10 ms.
func (t *Trial) Ask(ctx context.Context, port string, addresses ...string) (*Client, error) {
	if len(addresses) == 0 {
		for _, n := range t.Nodes() {
			addresses = append(addresses, n.Address(0))
		}
	}
	argv := []string{"service", "probe", "10ms"}
	for _, a := range addresses {
		argv = append(argv, a+":"+port)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &Client{read: read}
	c.process, err = t.Bed.Client().Start(ctx, write, argv...)
	if err := errors.Join(err, write.Close()); err != nil {
		return nil, errors.Join(err, read.Close())
	}
	go func() {
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			var a witness.Answer
			if json.Unmarshal(lines.Bytes(), &a) == nil {
				c.mu.Lock()
				c.answers = append(c.answers, a)
				c.mu.Unlock()
			}
		}
		_ = read.Close()
	}()
	return c, nil
}

// Who answered last; "" when nobody does.
func (c *Client) Who() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == 0 {
		return ""
	}
	return c.answers[len(c.answers)-1].Who
}

// Answers are all changes of who answers.
func (c *Client) Answers() []witness.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]witness.Answer(nil), c.answers...)
}

// Since are the outages that were not given before.
func (c *Client) Since() []witness.Outage {
	all := witness.Outages(c.Answers())
	since := all[c.told:]
	c.told = len(all)
	return since
}

// End stops asking.
func (c *Client) End() { _ = c.process.Kill(syscall.SIGTERM) }
