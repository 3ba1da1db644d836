package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/kind"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// Kinds makes and removes kind clusters. The lab has one of its own that starts a
// real control plane without containers.
type Kinds interface {
	// Exists tells whether a cluster of exactly this name is there. A listing that
	// fails is an error.
	Exists(ctx context.Context, name string) (bool, error)
	// Create makes a cluster; one that an earlier crash left half made is replaced.
	Create(ctx context.Context, name string, c kind.Config, say func(string)) error
	// Delete removes a cluster with all its nodes; none is no error.
	Delete(ctx context.Context, name string) error
	// Kubeconfig returns how to reach a cluster, from this host or, internal, from the
	// network of the containers.
	Kubeconfig(ctx context.Context, name string, internal bool) ([]byte, error)
}

// What clusters of a real engine can tell beyond that.
type (
	halfMaker interface {
		HalfMade(ctx context.Context, name string) (bool, error)
	}
	recorder interface {
		Recorded(ctx context.Context, name string) (string, error)
	}
	stater interface {
		State(ctx context.Context, name string) (node, state string, err error)
	}
	usable interface{ Usable() error }
)

// hostPart is the containers of this host, and the kind cluster among them.
func (s *Site) hostPart() part {
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"host/kind-cluster":    s.kindCluster,
			"host/mgmt-kubeconfig": s.mgmtKubeconfig,
			"source/context":       s.context,
			"host/mgmt-containers": s.mgmtContainers,
			"host/containers/*":    s.workloadContainers,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"create-kind":                  s.createKind,
			"kind-context":                 s.addContext,
			"recreate-kind":                s.deleteKind,
			"delete-kind":                  s.deleteKind,
			"post-kind-create-task":        s.hook,
			"delete-containers":            s.deleteContainers,
			"delete-workload-containers-*": s.deleteContainers,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){"kind-ready": s.kindHold},
	}
}

// kindCluster tells whether the kind cluster is there. To a bootstrap one that was
// never finished is none: it is made anew. A teardown has to remove it all the same.
func (s *Site) kindCluster(ctx context.Context, _ plan.Fact) plan.Presence {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	name := s.Settings.KindCluster
	there, err := kinds.Exists(ctx, name)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if !there {
		return plan.Absent("the engine lists no kind cluster '" + name + "'")
	}
	if half, ok := kinds.(halfMaker); ok && s.Settings.Verb != config.VerbTeardown {
		unfinished, err := half.HalfMade(ctx, name)
		if err != nil {
			return plan.Failed(err.Error())
		}
		if unfinished {
			return plan.Absent("the creation of kind cluster '" + name + "' was interrupted")
		}
	}
	if err := s.join(ctx); err != nil && s.Settings.Verb != config.VerbTeardown {
		return plan.Failed(err.Error())
	}
	return plan.Present()
}

// mgmtKubeconfig tells whether the kubeconfig of the management cluster is there. What
// it leads to may be in the network of kind.
func (s *Site) mgmtKubeconfig(ctx context.Context, _ plan.Fact) plan.Presence {
	switch _, err := os.Stat(s.mgmtFile()); {
	case errors.Is(err, fs.ErrNotExist):
		return plan.Absent(s.mgmtFile() + " does not exist")
	case err != nil:
		return plan.Failed(err.Error())
	}
	if s.Settings.Local() {
		_ = s.join(ctx) // without it the cluster does not answer, which is seen then
	}
	return plan.Present()
}

func (s *Site) mgmtContainers(ctx context.Context, _ plan.Fact) plan.Presence {
	return s.containers(ctx, s.ofManagement)
}

func (s *Site) workloadContainers(ctx context.Context, f plan.Fact) plan.Presence {
	return s.containers(ctx, ofCluster(strings.TrimPrefix(string(f), "host/containers/")))
}

func (s *Site) containers(ctx context.Context, which func(engine.Container) bool) plan.Presence {
	e, err := s.engine(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	list, err := e.Containers(ctx, which)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if len(list) == 0 {
		return plan.Absent("the engine lists none")
	}
	return plan.Present()
}

// ofManagement tells whether a container is one of the management cluster. The
// prefix ends where a word ends, so that local-management is not local-management2,
// and what a label gives to another cluster is that one's.
func (s *Site) ofManagement(c engine.Container) bool {
	e := s.Settings.Environment
	prefix := strings.TrimSuffix(e.Teardown.MgmtContainerPrefix, "-")
	if prefix == "" || c.Name != prefix && !strings.HasPrefix(c.Name, prefix+"-") {
		return false
	}
	label, ok := c.Labels[clusterLabel]
	return !ok || label == e.MgmtCluster || label == prefix
}

// ofCluster tells whether a container is one of a cluster: by its label, and by its
// name where it has none.
func ofCluster(name string) func(engine.Container) bool {
	return func(c engine.Container) bool {
		if label, ok := c.Labels[clusterLabel]; ok {
			return label == name
		}
		return strings.HasPrefix(c.Name, name+"-")
	}
}

// clusterLabel is what kind, and the provider of clusters made of containers, write on
// a container.
const clusterLabel = "io.x-k8s.kind.cluster"

// kindConfig is how the kind cluster of the settings is made.
func (s *Site) kindConfig(ctx context.Context) (kind.Config, error) {
	wanted := kind.Wanted{EngineSocket: s.Settings.EngineSocket}
	e, err := s.engine(ctx)
	switch {
	case err == nil:
		wanted.EngineSocket = e.Socket
	case s.Kinds == nil:
		return kind.Config{}, err
	}
	if s.Settings.Local() {
		wanted.Registry = &kind.Mirror{Port: s.Settings.RegistryPort, URL: fmt.Sprintf("http://%s:5000", s.Settings.RegistryName)}
	}
	return kind.Render(wanted)
}

func (s *Site) createKind(ctx context.Context, _ plan.Step, v run.Voice) error {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err
	}
	c, err := s.kindConfig(ctx)
	if err != nil {
		return err
	}
	s.reopen()
	if err := kinds.Create(ctx, s.Settings.KindCluster, c, func(text string) { v.Detail("%s", text) }); err != nil {
		return err
	}
	return s.join(ctx)
}

// context tells whether the caller reaches the kind cluster with kubectl.
func (s *Site) context(ctx context.Context, _ plan.Fact) plan.Presence {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	kubeconfig, err := kinds.Kubeconfig(ctx, s.Settings.KindCluster, s.Settings.Toolbox)
	if err != nil {
		return plan.Failed(err.Error())
	}
	has, err := kind.HasContext(s.kubeconfigs(), s.Settings.KindCluster, kubeconfig)
	switch {
	case err != nil:
		return plan.Failed(err.Error())
	case !has:
		return plan.Absent("no kubeconfig of the caller has it, or it leads elsewhere")
	}
	return plan.Present()
}

func (s *Site) addContext(ctx context.Context, _ plan.Step, v run.Voice) error {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err
	}
	return s.exportContext(ctx, kinds, v)
}

// exportContext lets the caller reach the kind cluster with kubectl. The current
// context of a file that has one stays.
func (s *Site) exportContext(ctx context.Context, kinds Kinds, v run.Voice) error {
	name := s.Settings.KindCluster
	kubeconfig, err := kinds.Kubeconfig(ctx, name, s.Settings.Toolbox)
	if err != nil {
		return err
	}
	if s.Settings.Toolbox {
		return kind.Write(s.callers(s.Settings.Kubeconfig), kubeconfig)
	}
	files := s.kubeconfigs()
	if has, err := kind.HasContext(files, name, kubeconfig); err != nil || has {
		return err
	}
	file, err := kind.Merge(ctx, files, kubeconfig)
	if err == nil {
		v.Detail("context %s is in %s", kind.ContextOf(name), file)
	}
	return err
}

// kubeconfigs are the files kubectl of the caller reads.
func (s *Site) kubeconfigs() []string {
	home, _ := s.env("HOME")
	files := kind.Files(s.Settings.Kubeconfig, home)
	for i, file := range files {
		files[i] = s.callers(file)
	}
	return files
}

func (s *Site) deleteKind(ctx context.Context, _ plan.Step, v run.Voice) error {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err
	}
	s.leave(ctx)
	s.reopen()
	if err := kinds.Delete(ctx, s.Settings.KindCluster); err != nil {
		return err
	}
	if s.Settings.Toolbox {
		return nil
	}
	if err := kind.Unmerge(ctx, s.kubeconfigs(), s.Settings.KindCluster); err != nil {
		v.Warn("the context of the kind cluster is still in the kubeconfig: %v", err)
	}
	return nil
}

// kindHold says why the nodes of kind are not ready when it is the container that
// does not run: no waiting starts it.
func (s *Site) kindHold(ctx context.Context, _ plan.Step) (string, error) {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // the engine may answer again
	}
	about, ok := kinds.(stater)
	if !ok {
		return "", nil
	}
	node, state, err := about.State(ctx, s.Settings.KindCluster)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // the engine may answer again
	}
	if state == "exited" || state == "created" || state == "stopped" {
		return "", fmt.Errorf("container %s of kind cluster '%s' is %s: start it, or rerun with --recreate to replace the cluster", node, s.Settings.KindCluster, state)
	}
	return "", nil
}

// deleteContainers removes the containers that a deletion is about.
func (s *Site) deleteContainers(ctx context.Context, step plan.Step, v run.Voice) error {
	which := s.ofManagement
	if name, ok := strings.CutPrefix(step.ID, "delete-workload-containers-"); ok {
		which = ofCluster(name)
	}
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	list, err := e.Containers(ctx, which)
	if err != nil {
		return err
	}
	var failed []error
	for _, c := range list {
		v.Detail("%s", c.Name)
		failed = append(failed, e.Remove(ctx, c))
	}
	return errors.Join(failed...)
}
