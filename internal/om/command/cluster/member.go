package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Members has nodes come to the cluster and leave it.
type Members interface {
	EnrollNode(ctx context.Context, in api.EnrollOrder) (api.Enrolled, error)
	EvictNode(ctx context.Context, in api.EvictOrder) error
	EventsFrom(ctx context.Context, q api.EventQuery, opened func()) iter.Seq2[api.Event, error]
}

// Joiner has this node come to a cluster and leave it.
type Joiner interface {
	// JoinCluster and LeaveCluster return once the daemon has restarted in its other
	// cluster; say is told what goes on. The name is that of the cluster.
	JoinCluster(ctx context.Context, in api.JoinOrder, say func(string) error) (name string, err error)
	LeaveCluster(ctx context.Context, in api.LeaveOrder, say func(string) error) (name string, err error)
	NodeName() string
}

// members declares the commands on the nodes of the cluster.
func members() []verb.Verb {
	return []verb.Verb{
		{
			Path: "enroll", Group: "members", Short: "Add a node to the cluster",
			Long: "Add a node to the cluster, from a node of it. The node to enroll must be alone in its cluster: it is drained, its instances stay down, its configurations go to its " +
				"backup directory and those of the cluster take their place. It made the token, with om daemon auth --role join. The token is in a file, or in OSVC_JOIN_TOKEN. " +
				"What can be refused is refused before anything changes.",
			Example: "om daemon auth --role join --duration 10m >node2.token   # on node2\nom cluster enroll --node node2 --token node2.token --wait   # on node1",
			New:     verb.Needs(func(m Members) verb.Runner { return &enroll{members: m} }),
		},
		{
			Path: "evict", Group: "members", Short: "Remove a node from the cluster",
			Long: "Remove a drained node from the cluster, from another node of it. The evicted node restarts alone in a cluster of its own, its configurations in its backup directory. " +
				"No user of the cluster can reach it any more: --credential is a file with the <user>:<password> of a user to create there, with the root grant; or OSVC_CREDENTIAL. " +
				"A node that is not frozen, or has an instance that is not down, is refused.",
			Example: "om node drain --node node2 --wait\nom cluster evict --node node2 --wait",
			New:     verb.Needs(func(m Members) verb.Runner { return &evict{members: m} }),
		},
		joining(false), leaving(false),
	}
}

// Former are the commands on the nodes of the cluster by which the daemon was told.
func Former() []verb.Verb { return []verb.Verb{joining(true), leaving(true)} }

func joining(hidden bool) verb.Verb {
	return verb.Verb{
		Path: "join", Group: "members", Short: "Have this node join a cluster", Hidden: hidden,
		Long: "Have this node, alone in its cluster, join another one. A node of that cluster made the token, with om daemon auth --role join. " +
			"It is what om cluster enroll does, asked from the other side.",
		Example: "om cluster join --node node1 --token node1.token",
		New:     verb.Needs(func(j Joiner) verb.Runner { return &join{joiner: j} }),
	}
}

func leaving(hidden bool) verb.Verb {
	return verb.Verb{
		Path: "leave", Group: "members", Short: "Have this node leave its cluster", Hidden: hidden,
		Long: "Drain this node, then have it leave its cluster. Its daemon restarts alone, its configurations are in the backup directory. It is what om cluster evict does, asked from the other side.",
		New:  verb.Needs(func(j Joiner) verb.Runner { return &leave{joiner: j} }),
	}
}

// memberLimit is how long a join or a leave may last, unless told.
const memberLimit = time.Hour

// maxSecret bounds what is read of a file that holds a secret.
const maxSecret = 64 << 10

// secretOf reads a secret in a file, or in the environment. It never is an argument:
// everybody on the host sees those.
func secretOf(c *verb.Call, flag, file, variable string) (string, error) {
	if file == "" {
		return strings.TrimSpace(c.Env(variable)), nil
	}
	info, err := os.Stat(file)
	if err != nil {
		if strings.Count(file, ".") == 2 && strings.HasPrefix(file, "ey") || strings.Contains(file, ":") {
			return "", app.Usage("%s wants the name of a file: what is typed on a command line is seen by everybody on the host. Write it to a file, or set %s", flag, variable)
		}
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	if info.Size() > maxSecret {
		return "", fmt.Errorf("%s: %s is larger than %d bytes: it is not what is wanted", flag, file, maxSecret)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return strings.TrimSpace(string(data)), nil
}

// member is what the events about a member say of it.
type member struct {
	Node          string `json:"node"`
	AddedNode     string `json:"added_node"`
	RemovedNode   string `json:"removed_node"`
	CandidateNode string `json:"candidate_node"`
	Reason        string `json:"reason"`
}

// following are events that are listened to before what causes them is asked.
type following struct {
	events <-chan api.Event
	failed <-chan error
}

// follow returns once the events are listened to, or cannot be.
func follow(ctx context.Context, m Members, filters ...string) (following, error) {
	events, failed, opened := make(chan api.Event, 16), make(chan error, 1), make(chan struct{})
	go func() {
		var last error
		for e, err := range m.EventsFrom(ctx, api.EventQuery{NodeName: api.NodeName{Node: api.Localhost}, Filter: filters}, func() { close(opened) }) {
			if last = err; err != nil {
				break
			}
			select {
			case events <- e:
			case <-ctx.Done():
			}
		}
		if last == nil {
			last = errors.New("the daemon ended the stream of events")
		}
		failed <- last
	}()
	select {
	case <-opened:
		return following{events, failed}, nil
	case err := <-failed:
		return following{}, err
	}
}

// next is the next event, and what it is about.
func (f following) next(ctx context.Context, c *verb.Call, what string) (string, member, error) {
	select {
	case e := <-f.events:
		var m member
		if err := json.Unmarshal(e.Data, &m); err != nil {
			return "", m, fmt.Errorf("an event of the daemon: %w", err)
		}
		return e.Kind, m, nil
	case err := <-f.failed:
		if ctx.Err() == nil {
			return "", member{}, fmt.Errorf("%s goes on unseen: %w", what, err)
		}
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "", member{}, fmt.Errorf("%s is not over, and may go on: not waited for any longer", what)
	}
	c.Say("Interrupted: %s goes on", what)
	return "", member{}, ctx.Err()
}

type enroll struct {
	members  Members
	node     string
	token    string
	joinAddr string
	wait     bool
	limit    time.Duration
}

func (e *enroll) Flags(f *pflag.FlagSet) {
	f.StringVar(&e.node, "node", "", "the `location` of the node to enroll: [scheme://]host[:port]")
	f.StringVar(&e.token, "token", "", "the `file` of the token that node made, else OSVC_JOIN_TOKEN holds it")
	f.StringVar(&e.joinAddr, "join-addr", "", "the `location` of this node as that node reaches it, by default a name of its certificate")
	f.BoolVar(&e.wait, "wait", false, "wait until the node is alive in the cluster")
	f.DurationVar(&e.limit, "timeout", memberLimit, "the join may last this long")
}

func (e *enroll) Run(ctx context.Context, c *verb.Call) error {
	token, err := secretOf(c, "--token", e.token, "OSVC_JOIN_TOKEN")
	switch {
	case e.node == "":
		return app.Usage("say which node: --node <location>")
	case err != nil:
		return err
	case token == "":
		return app.Usage("no token: write the one that om daemon auth --role join makes on that node to a file, and give its name with --token")
	}
	in := api.EnrollOrder{Node: e.node, Token: token, JoinAddr: e.joinAddr, Timeout: e.limit.String()}
	limited, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	var events following
	if e.wait {
		if events, err = follow(limited, e.members, "JoinSuccess", "JoinIgnored", "JoinError", "NodeAlive"); err != nil {
			return err
		}
	}
	answer, err := e.members.EnrollNode(limited, in)
	if err != nil {
		return fmt.Errorf("enroll %s: %w", e.node, err)
	}
	if err := c.Print("Node " + answer.Node + " accepted the join order"); err != nil {
		return err
	}
	hint := "om daemon events --filter 'NodeAlive,.node=" + answer.Node + "'"
	if !e.wait {
		c.Say("Follow it with %s", hint)
		return nil
	}
	return e.follow(limited, c, events, answer.Node, "the join of "+answer.Node+" (see "+hint+")")
}

// follow tells how the join goes, until the node is alive.
func (e *enroll) follow(ctx context.Context, c *verb.Call, events following, node, what string) error {
	for {
		kind, m, err := events.next(ctx, c, what)
		if err != nil {
			return err
		}
		var lines []string
		switch {
		case kind == api.Resync:
			return fmt.Errorf("%s goes on unseen: events were lost", what)
		case kind == "JoinSuccess" && m.AddedNode == node:
			lines = []string{"Cluster nodes updated", "Waiting for " + node + " to beat"}
		case kind == "JoinIgnored" && m.CandidateNode == node:
			lines = []string{"Node " + node + " is among the cluster nodes already", "Waiting for " + node + " to beat"}
		case kind == "JoinError" && m.CandidateNode == node:
			return fmt.Errorf("node %s does not join: %s", node, m.Reason)
		case kind == "NodeAlive" && m.Node == node:
			return c.Print("Node " + node + " is alive")
		}
		for _, line := range lines {
			if err := c.Print(line); err != nil {
				return err
			}
		}
	}
}

type evict struct {
	members    Members
	node       string
	credential string
	wait       bool
	limit      time.Duration
}

func (e *evict) Flags(f *pflag.FlagSet) {
	f.StringVar(&e.node, "node", "", "the `name` of the node to evict")
	f.StringVar(&e.credential, "credential", "", "the `file` of the <user>:<password> to create on that node, else OSVC_CREDENTIAL holds it")
	f.BoolVar(&e.wait, "wait", false, "wait until the cluster nodes are updated")
	f.DurationVar(&e.limit, "timeout", memberLimit, "the leave may last this long")
}

func (e *evict) Run(ctx context.Context, c *verb.Call) error {
	credential, err := secretOf(c, "--credential", e.credential, "OSVC_CREDENTIAL")
	switch {
	case e.node == "":
		return app.Usage("say which node: --node <name>")
	case err != nil:
		return err
	}
	limited, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	var events following
	if e.wait {
		if events, err = follow(limited, e.members, "LeaveSuccess", "LeaveIgnored", "LeaveError"); err != nil {
			return err
		}
	}
	err = e.members.EvictNode(limited, api.EvictOrder{Node: e.node, Credential: credential, Timeout: e.limit.String()})
	if err != nil {
		return fmt.Errorf("evict %s: %w", e.node, err)
	}
	if err := c.Print("Node " + e.node + " accepted the leave order"); err != nil {
		return err
	}
	hint := "om daemon events --filter 'LeaveSuccess,removed_node=" + e.node + "'"
	if !e.wait {
		c.Say("Follow it with %s", hint)
		return nil
	}
	for {
		kind, m, err := events.next(limited, c, "the leave of "+e.node+" (see "+hint+")")
		if err != nil {
			return err
		}
		switch {
		case kind == api.Resync:
			return fmt.Errorf("the leave of %s goes on unseen: events were lost", e.node)
		case kind == "LeaveSuccess" && m.RemovedNode == e.node:
			return errors.Join(c.Print("Cluster nodes updated"), c.Print("Node "+e.node+" is restarting alone, its instances stay down"))
		case kind == "LeaveIgnored" && m.CandidateNode == e.node:
			return errors.Join(c.Print("Node "+e.node+" is not among the cluster nodes"), c.Print("Node "+e.node+" is restarting alone, its instances stay down"))
		case kind == "LeaveError" && m.CandidateNode == e.node:
			return fmt.Errorf("node %s does not leave: %s", e.node, m.Reason)
		}
	}
}

type join struct {
	joiner Joiner
	node   string
	token  string
	limit  time.Duration
}

func (j *join) Flags(f *pflag.FlagSet) {
	f.StringVar(&j.node, "node", "", "the `location` of a node of the cluster: [scheme://]host[:port]")
	f.StringVar(&j.token, "token", "", "the `file` of the token that node made, else OSVC_JOIN_TOKEN holds it")
	f.DurationVar(&j.limit, "timeout", memberLimit, "the join may last this long")
}

func (j *join) Run(ctx context.Context, c *verb.Call) error {
	token, err := secretOf(c, "--token", j.token, "OSVC_JOIN_TOKEN")
	switch {
	case j.node == "":
		return app.Usage("say which node of the cluster: --node <location>")
	case err != nil:
		return err
	case token == "":
		return app.Usage("no token: write the one that om daemon auth --role join makes on that node to a file, and give its name with --token")
	}
	ctx, cancel := context.WithTimeout(ctx, j.limit)
	defer cancel()
	name, err := j.joiner.JoinCluster(ctx, api.JoinOrder{Node: j.node, Token: token, Timeout: j.limit.String()}, c.Print)
	if err != nil {
		return err
	}
	return c.Print("Node " + j.joiner.NodeName() + " is of cluster " + name)
}

type leave struct {
	joiner     Joiner
	credential string
	limit      time.Duration
}

func (l *leave) Flags(f *pflag.FlagSet) {
	f.StringVar(&l.credential, "credential", "", "the `file` of the <user>:<password> to create in the new cluster, else OSVC_CREDENTIAL holds it")
	f.DurationVar(&l.limit, "timeout", memberLimit, "the leave may last this long")
}

func (l *leave) Run(ctx context.Context, c *verb.Call) error {
	credential, err := secretOf(c, "--credential", l.credential, "OSVC_CREDENTIAL")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	name, err := l.joiner.LeaveCluster(ctx, api.LeaveOrder{Credential: credential, Timeout: l.limit.String(), Drain: true}, c.Print)
	if err != nil {
		return err
	}
	return c.Print("Node " + l.joiner.NodeName() + " is alone, in cluster " + name)
}
