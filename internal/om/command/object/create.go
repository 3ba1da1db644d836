package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Creator makes objects.
type Creator interface {
	configure.Reader
	// Create commits the configuration of a new object.
	Create(ctx context.Context, p object.Path, n New) (Created, error)
	// Alive returns nil when the daemon answers.
	Alive(ctx context.Context) error
}

// New is the configuration of an object to be.
type New struct {
	Config   []byte            // nil: empty
	Set      []string          // keyword operations applied to it
	Env      map[string]string // overrides of its env section
	Force    bool              // replace an existing object
	Restore  bool              // keep the recorded keywords: it is that object again
	WaitLock time.Duration
}

// Created tells what was made.
type Created struct {
	configure.Outcome
	Orchestrate string // no, start or ha
	Nodes       int    // in the scope
	Frozen      bool   // the local instance
}

// Create declares the making of an object.
var Create = verb.Verb{
	Path: "create", Group: "configuration",
	Short: "Create an object",
	Long: "Create an object: write its configuration. Nothing is started nor provisioned.\n\n" +
		"The configuration is empty, or that of --config: a file, a URL, another object, or - for the standard input. A copy is another object: " +
		"what the source recorded of itself, its id first, is reset, unless --restore says that it is the same object again.",
	Example: "om web create --kw app#1.type=simple --kw 'app#1.start=/usr/bin/python3 -m http.server 8099'\n" +
		"om web2 create --config web --env port=8100\nom web config show | om web3 create --config -",
	New: verb.Needs(func(cr Creator) verb.Runner { return &create{creator: cr} }),
}

// Deploy declares the making, provisioning and start of an object.
var Deploy = verb.Verb{
	Path: "deploy", Group: "orchestrated actions",
	Short: "Create, provision and start an object",
	Long:  "Create an object as create does, then ask the cluster to provision it, which starts it.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New: verb.Needs(func(cr deployer) verb.Runner {
		return &create{creator: cr, orchestrator: cr, provision: true, deploys: true}
	}),
}

type deployer interface {
	Creator
	Orchestrator
}

type create struct {
	creator      Creator
	orchestrator Orchestrator

	source    string
	namespace string
	env       []string
	new       New
	provision bool
	deploys   bool
	waiting   waiting
}

func (cr *create) Flags(f *pflag.FlagSet) {
	f.StringVar(&cr.source, "config", "", "start from this configuration: a `file`, a URL, an object, or - for the standard input")
	f.StringArrayVar(&cr.new.Set, "kw", nil, "apply this `operation`, as app#1.type=simple; repeat it for more")
	f.StringArrayVar(&cr.env, "env", nil, "set this option of the env section, `name=value`; repeat it for more")
	f.StringVar(&cr.namespace, "namespace", "", "create in this `namespace`")
	f.BoolVar(&cr.new.Force, "force", false, "replace the configuration of an existing object")
	f.BoolVar(&cr.new.Restore, "restore", false, "keep the recorded keywords, the id first: it is the same object again")
	if !cr.deploys {
		f.BoolVar(&cr.provision, "provision", false, "provision it, which starts it, as deploy does")
	}
	f.DurationVar(&cr.new.WaitLock, "waitlock", 30*time.Second, "how long to wait for another change in progress")
	cr.waiting.flags(f)
	for _, hidden := range []string{"no-lock", "local"} {
		f.Bool(hidden, false, "")
		f.Lookup(hidden).Hidden = true
	}
}

func (cr *create) Run(ctx context.Context, c *verb.Call) error {
	paths, err := cr.paths(c)
	if err != nil {
		return err
	}
	if cr.new.Env, err = pairs(cr.env); err != nil {
		return err
	}
	orchestrator := cr.orchestrator
	if cr.provision {
		if orchestrator == nil {
			var ok bool
			if orchestrator, ok = c.Backend.(Orchestrator); !ok {
				return errors.New("--provision: this program cannot orchestrate")
			}
		}
		if err := cr.creator.Alive(ctx); err != nil {
			return needDaemon(err)
		}
	}
	if cr.new.Config, err = cr.read(ctx, c); err != nil {
		return err
	}
	for _, p := range paths {
		made, err := cr.creator.Create(ctx, p, cr.new)
		if err != nil {
			return err
		}
		configure.Warn(c, made.Warnings)
		if !cr.provision {
			next(c, p, made)
		}
	}
	if !cr.provision {
		return nil
	}
	return submit(ctx, c, orchestrator, paths, Action{Name: "provision"}, cr.waiting)
}

// paths reads the names of the objects to make, in the namespace asked for.
func (cr *create) paths(c *verb.Call) ([]object.Path, error) {
	if c.Selector == "" {
		return nil, app.Usage("say which object to create: om <name> %s", c.Verb)
	}
	selector, err := c.Selection()
	if err != nil {
		return nil, err
	}
	parsed, err := object.ParseSelector(selector)
	if err != nil {
		return nil, err
	}
	paths, ok := parsed.Exact()
	if !ok {
		return nil, app.Usage("%s: an object to create is named by its path: name, kind/name or namespace/kind/name", selector)
	}
	if cr.namespace == "" {
		return paths, nil // OSVC_NAMESPACE chooses among the objects that exist
	}
	for i, p := range paths {
		if p.Namespace != cr.namespace && placed(selector, p) {
			return nil, app.Usage("%s is in namespace %s: name it without its namespace, or leave --namespace %s out", p.FQN(), p.Namespace, cr.namespace)
		}
		p.Namespace = cr.namespace
		if err := p.Validate(); err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return paths, nil
}

// placed tells whether a path was written with its namespace.
func placed(selector string, p object.Path) bool {
	written := strings.Split(selector, ",")
	return p.Namespace != object.RootNamespace || slices.ContainsFunc(written, func(w string) bool { return strings.TrimSpace(w) == p.FQN() })
}

// read returns the configuration to start from.
func (cr *create) read(ctx context.Context, c *verb.Call) ([]byte, error) {
	switch {
	case cr.source == "":
		return nil, nil
	case cr.source == "-":
		return bounded("the standard input", c.Streams.In)
	case strings.Contains(cr.source, "://"):
		return fetch(ctx, cr.source)
	}
	p, pathErr := object.Parse(cr.source)
	if pathErr == nil {
		file, err := cr.creator.ConfigFile(ctx, p)
		if err == nil {
			return file.Data, nil
		}
		var coded interface {
			error
			ExitCode() int
		}
		if !errors.As(err, &coded) || coded.ExitCode() != 2 {
			return nil, err
		}
	}
	data, err := os.ReadFile(cr.source)
	switch {
	case err == nil:
		return data, nil
	case os.IsNotExist(err) && pathErr == nil:
		return nil, fmt.Errorf("--config %s: there is no such object and no such file", cr.source)
	default:
		return nil, fmt.Errorf("--config: %w", err)
	}
}

// maxConfig bounds a configuration that is read from outside.
const maxConfig = 16 << 20

func bounded(what string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	case len(data) > maxConfig:
		return nil, fmt.Errorf("read %s: more than %d MiB is no configuration", what, maxConfig>>20)
	}
	return data, nil
}

func fetch(ctx context.Context, url string) (data []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("--config %s: the server answers %s", url, response.Status)
	}
	return bounded(url, response.Body)
}

func pairs(words []string) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, app.Usage("--env %s: write name=value", w)
		}
		values[strings.TrimPrefix(name, "env.")] = value
	}
	return values, nil
}

// next says what state a new object is in and which command moves it.
func next(c *verb.Call, p object.Path, made Created) {
	if !p.Kind.Runs() || made.Orchestrate != "ha" {
		return
	}
	state := "stopped: the daemon starts it once it is provisioned"
	if made.Frozen {
		state = "frozen: the daemon does not start it yet"
	}
	c.Say("%[1]s is created, not provisioned and %[2]s.\n"+
		"To provision and start it: om %[1]s provision. If what it describes exists already: om %[1]s unfreeze; om %[1]s start.", p, state)
}
