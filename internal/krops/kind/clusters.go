package kind

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/exec"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
)

// What kind writes on its containers.
const (
	labelCluster = "io.x-k8s.kind.cluster"
	labelRole    = "io.x-k8s.kind.role"
	roleControl  = "control-plane"
	roleBalancer = "external-load-balancer"

	adminConfig = "/etc/kubernetes/admin.conf"
	apiPort     = 6443
	// recorded is where a node keeps what its cluster was made from.
	recorded = "/kind/krops-bootstrap.config"
)

// Clusters are the kind clusters of an engine.
type Clusters struct {
	Engine *engine.Engine
	Env    func(name string) (string, bool) // of the process
	// Make creates the containers and the control plane on them.
	Make func(ctx context.Context, e *engine.Engine, name, config string, say func(string)) error
}

// New returns the clusters of an engine.
func New(e *engine.Engine, env func(string) (string, bool)) *Clusters {
	return &Clusters{Engine: e, Env: env, Make: Library}
}

// nodes lists the containers of a cluster.
func (c *Clusters) nodes(ctx context.Context, name string) ([]engine.Container, error) {
	return c.Engine.Containers(ctx, func(n engine.Container) bool { return n.Labels[labelCluster] == name && name != "" })
}

// Exists tells whether a cluster of exactly this name has a node.
func (c *Clusters) Exists(ctx context.Context, name string) (bool, error) {
	nodes, err := c.nodes(ctx, name)
	return len(nodes) > 0, err
}

// HalfMade tells whether the creation of a cluster was begun and not ended.
func (c *Clusters) HalfMade(ctx context.Context, name string) (bool, error) {
	return c.Engine.Marked(ctx, mark(name))
}

func mark(name string) string { return "krops-making-" + name }

// Usable tells why clusters cannot be made here, nil when they can.
func (c *Clusters) Usable() error {
	if list, _ := c.Env("PATH"); InPath(list, c.Engine.Name) {
		return nil
	}
	return fmt.Errorf("kind makes its nodes with the command line of %[1]s, and no %[1]s is in PATH: install it beside the engine", c.Engine.Name)
}

// InPath tells whether a program is in one of the directories of PATH.
func InPath(list, program string) bool {
	for _, dir := range filepath.SplitList(list) {
		info, err := os.Stat(filepath.Join(dir, program))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// Create makes a cluster. While it does the engine bears a mark: whoever finds it
// later, after a crash, knows that the cluster is only half made and replaces it.
func (c *Clusters) Create(ctx context.Context, name string, config Config, say func(string)) error {
	if err := c.Usable(); err != nil {
		return err
	}
	half, err := c.HalfMade(ctx, name)
	if err != nil {
		return err
	}
	there, err := c.Exists(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case there && !half:
		return fmt.Errorf("kind cluster '%s' exists already", name)
	case there:
		say("Replacing kind cluster '" + name + "', which an interrupted run left half made...")
		if err := c.removeNodes(ctx, name); err != nil {
			return err
		}
	}
	if err := c.Engine.Mark(ctx, mark(name)); err != nil {
		return err
	}
	if err := c.Make(ctx, c.Engine, name, config.YAML, say); err != nil {
		err = fmt.Errorf("create kind cluster '%s': %w", name, err)
		if ctx.Err() != nil {
			return err // the nodes may still be in the making: the mark stays
		}
		return errors.Join(err, c.forget(ctx, name))
	}
	if err := c.write(ctx, name, append([]File{{recorded, config.String()}}, config.Files...)); err != nil {
		return err
	}
	return c.Engine.Unmark(ctx, mark(name))
}

// forget takes the mark away when kind has removed what it could not finish.
func (c *Clusters) forget(ctx context.Context, name string) error {
	there, err := c.Exists(ctx, name)
	if err != nil || there {
		return err
	}
	return c.Engine.Unmark(ctx, mark(name))
}

func (c *Clusters) write(ctx context.Context, name string, files []File) error {
	nodes, err := c.nodes(ctx, name)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Labels[labelRole] == roleBalancer {
			continue
		}
		for _, f := range files {
			if err := c.Engine.WriteFile(ctx, node, f.Path, []byte(f.Text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recorded is what a cluster was made from, "" when it does not say: other programs
// make clusters too.
func (c *Clusters) Recorded(ctx context.Context, name string) (string, error) {
	node, err := c.node(ctx, name, roleControl)
	if err != nil {
		return "", err
	}
	text, err := c.Engine.ReadFile(ctx, node, recorded)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// Delete removes the nodes of a cluster with their volumes.
func (c *Clusters) Delete(ctx context.Context, name string) error {
	if err := c.removeNodes(ctx, name); err != nil {
		return err
	}
	return c.Engine.Unmark(ctx, mark(name))
}

func (c *Clusters) removeNodes(ctx context.Context, name string) error {
	nodes, err := c.nodes(ctx, name)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := c.Engine.Remove(ctx, node); err != nil {
			return err
		}
		if c.Engine.Name == engine.Podman {
			if err := c.Engine.RemoveLabelledVolumes(ctx, node.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// node is the first node of a cluster with a role.
func (c *Clusters) node(ctx context.Context, name, role string) (engine.Container, error) {
	nodes, err := c.nodes(ctx, name)
	if err != nil {
		return engine.Container{}, err
	}
	for _, node := range nodes {
		if node.Labels[labelRole] == role {
			return node, nil
		}
	}
	return engine.Container{}, fmt.Errorf("kind cluster '%s' has no node with the role %s", name, role)
}

// State is what the container of the control plane does: running, exited, …
func (c *Clusters) State(ctx context.Context, name string) (node, state string, err error) {
	found, err := c.node(ctx, name, roleControl)
	return found.Name, found.State, err
}

// Kubeconfig returns how to reach a cluster as its administrator: through the port
// that is published on this host, or, internal, by the name of the node.
func (c *Clusters) Kubeconfig(ctx context.Context, name string, internal bool) ([]byte, error) {
	control, err := c.node(ctx, name, roleControl)
	if err != nil {
		return nil, err
	}
	text, err := c.Engine.ReadFile(ctx, control, adminConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("kind cluster '%s' was never set up: %s has no %s", name, control.Name, adminConfig)
	}
	if err != nil {
		return nil, err
	}
	front := control
	if balancer, err := c.node(ctx, name, roleBalancer); err == nil {
		front = balancer
	}
	server := "https://" + net.JoinHostPort(front.Name, strconv.Itoa(apiPort))
	if !internal {
		port, err := c.Engine.Port(ctx, front.Name, apiPort)
		if err != nil {
			return nil, err
		}
		server = "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return own(text, name, server)
}

// Library makes a cluster with the library of kind. It cannot be broken off: when ctx
// ends it goes on by itself until the process ends, and the mark tells of it.
func Library(ctx context.Context, e *engine.Engine, name, config string, say func(string)) error {
	dir, err := os.MkdirTemp("", "krops-kind-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it holds what the node holds too
	log := newLog(ctx, say)
	with := cluster.ProviderWithDocker()
	if e.Name == engine.Podman {
		with = cluster.ProviderWithPodman()
	}
	ended := make(chan error, 1)
	go func() {
		provider := cluster.NewProvider(cluster.ProviderWithLogger(log), with)
		ended <- provider.Create(name,
			cluster.CreateWithRawConfig([]byte(config)),
			// Kind would switch the context of the caller.
			cluster.CreateWithKubeconfigPath(filepath.Join(dir, "kubeconfig")),
			cluster.CreateWithDisplayUsage(false), cluster.CreateWithDisplaySalutation(false))
	}()
	select {
	case err := <-ended:
		return explain(err)
	case <-ctx.Done():
		return fmt.Errorf("broken off: %w", context.Cause(ctx))
	}
}

// explain adds the last words of the command that failed.
func explain(err error) error {
	run := exec.RunErrorForError(err)
	if err == nil || run == nil {
		return err
	}
	const limit = 1 << 10
	said := strings.TrimSpace(string(run.Output))
	if len(said) > limit {
		said = "…" + said[len(said)-limit:]
	}
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}
