package command

import (
	"context"

	"github.com/holdfast-ops/holdfast/internal/om/command/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/command/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/contexts"
	"github.com/holdfast-ops/holdfast/internal/om/command/daemon"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/key"
	"github.com/holdfast-ops/holdfast/internal/om/command/log"
	"github.com/holdfast-ops/holdfast/internal/om/command/monitor"
	"github.com/holdfast-ops/holdfast/internal/om/command/node"
	"github.com/holdfast-ops/holdfast/internal/om/command/object"
	"github.com/holdfast-ops/holdfast/internal/om/command/schedule"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	omobject "github.com/holdfast-ops/holdfast/internal/om/object"
)

// New returns the command line of a program: every verb its backend can serve,
// and those of its own.
func New(name, short string, backend verb.Backend, own ...verb.Verb) Tree {
	objects := objectVerbs()
	t := Tree{
		Name: name, Short: short, Backend: backend, Topics: topics(),
		Subsystems: []Subsystem{{Name: "all", Short: "Act on objects of any kind", Selects: true, Verbs: objects}},
		Verbs:      append([]verb.Verb{monitor.Monitor, configure.Doc}, own...),
	}
	// What a program has of its own and takes a selector follows one too.
	for _, v := range own {
		if v.Selects {
			objects = append(objects, v)
		}
	}
	t.Subsystems[0].Verbs = objects
	for _, k := range omobject.Kinds() {
		t.Subsystems = append(t.Subsystems, Subsystem{Name: string(k), Short: kindShort(k), Kind: k, Selects: true, Verbs: objects})
	}
	t.Subsystems = append(t.Subsystems,
		Subsystem{Name: "node", Short: "Act on nodes", Verbs: nodeVerbs()},
		Subsystem{Name: "cluster", Short: "Act on the cluster", Verbs: cluster.Verbs()},
		Subsystem{Name: "daemon", Short: "Act on the daemon, and see what it does", Verbs: daemonVerbs()},
	)
	// A program without contexts leaves the word to an object of that name.
	if _, ok := backend.(contexts.Keeper); ok {
		t.Subsystems = append(t.Subsystems, Subsystem{Name: "context", Short: "Say which clusters there are, and who you are for them", Verbs: contexts.Verbs()})
	}
	return t
}

func kindShort(k omobject.Kind) string {
	return map[omobject.Kind]string{
		omobject.KindSvc:   "Act on services",
		omobject.KindVol:   "Act on volumes",
		omobject.KindCfg:   "Act on configuration maps",
		omobject.KindSec:   "Act on secrets",
		omobject.KindUsr:   "Act on users",
		omobject.KindNscfg: "Act on namespaces",
		omobject.KindCcfg:  "Act on the cluster configuration object",
	}[k]
}

func objectVerbs() []verb.Verb {
	verbs := []verb.Verb{object.List, object.Create, object.Deploy, instance.Status, instance.List, monitor.Monitor, monitor.Explain}
	verbs = append(verbs, object.Orchestrated()...)
	verbs = append(verbs, object.Switches()...)
	verbs = append(verbs, instance.Actions()...)
	verbs = append(verbs, instance.Resources()...)
	verbs = append(verbs, schedule.Objects)
	verbs = append(verbs, configure.Verbs(selected)...)
	verbs = append(verbs, certificate.Verbs()...)
	verbs = append(verbs, key.Verbs()...)
	return append(verbs, log.Verb("logs", "Print the log of the objects", verb.Args{}, log.Selected))
}

// selected is the target of the commands on the configurations of objects: those
// that change nothing are about every object of the kind when none is named.
func selected(ctx context.Context, c *verb.Call) ([]omobject.Path, error) {
	switch c.Verb {
	case "config doc":
		return documented(ctx, c)
	case "config show", "config get", "config eval", "config validate", "config mtime":
		return c.Described(ctx)
	}
	return c.Objects(ctx)
}

// documented is what the keywords are explained for. They are those of a kind:
// there may be no object yet.
func documented(ctx context.Context, c *verb.Call) ([]omobject.Path, error) {
	kind := c.Kind
	if kind == "" {
		kind = omobject.KindSvc
	}
	typical := []omobject.Path{{Namespace: omobject.RootNamespace, Kind: kind, Name: "any"}}
	if c.Selector == "" {
		return typical, nil
	}
	if p, err := omobject.Parse(c.Selector); err == nil {
		return []omobject.Path{p}, nil
	}
	paths, err := c.Listed(ctx)
	if err != nil || len(paths) > 0 {
		return paths, err
	}
	return typical, nil
}

func nodeVerbs() []verb.Verb {
	return append(node.Verbs(),
		daemon.Events(true),
		schedule.Node,
		log.Verb("logs", "Print the log of the node", verb.Args{}, log.Everything))
}

func daemonVerbs() []verb.Verb {
	verbs := append(append(append(daemon.Lifecycle(), daemon.Control()...), append(append(daemon.Heartbeats(), daemon.Relay), daemon.History()...)...), cluster.Former()...)
	return append(verbs,
		daemon.Events(false),
		daemon.Auth, daemon.Authority,
		log.Verb("logs", "Print the log of the node", verb.Args{}, log.Everything),
		log.Verb("session logs", "Print what a session logged", verb.Args{Use: "SESSION_ID", Min: 1, Max: 1}, log.Session),
		log.Verb("exec logs", "Print what a run logged", verb.Args{Use: "EXEC_ID", Min: 1, Max: 1}, log.Exec),
		log.Verb("orchestration logs", "Print what an orchestration logged", verb.Args{Use: "ORCHESTRATION_ID", Min: 1, Max: 1}, log.Orchestration),
	)
}

// topics explains the words between a subsystem and a verb.
func topics() map[string]string {
	return map[string]string{
		"instance":      "Act on the instances of this node, now",
		"certificate":   "Make and renew certificates",
		"config":        "Read and change configurations",
		"key":           "Read and change the keys of configuration maps, secrets and users",
		"secret":        "Change what the nodes of the cluster share",
		"resource":      "Look at the resources of instances",
		"schedule":      "Look at what runs by itself",
		"exec":          "Look at the runs of the daemon",
		"session":       "Look at the submitted commands",
		"orchestration": "Look at the orchestrations",
		"relay":         "See what the relays of heartbeats have",
		"listener":      "Start and stop the listeners of the daemon",
		"hb":            "Look at the heartbeats, and act on them",
		"auth":          "Make what clients of the API need",
	}
}
