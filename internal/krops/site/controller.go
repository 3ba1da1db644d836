package site

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/engine"
	"github.com/holdfast-ops/holdfast/internal/krops/helm"
	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// controllers is where the controllers of a teardown run. It is looked for once:
// a host that was found and does not answer later is a host that does not answer,
// not one that is gone.
type controllers struct {
	host    plan.Host
	cluster *kube.Cluster // nil when there is none
	notes   []string      // what an operator should know of the choice
}

// controllerPart answers where the controllers of a teardown run.
func (s *Site) controllerPart() part {
	return part{
		views: map[string]func(context.Context, plan.World) plan.World{
			"controller/host": s.hostView,
		},
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"controller/kustomizations": s.kustomizations,
			"controller/flux*":          s.release,
			"controller/secrets":        s.secrets,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"discover-host":    s.discoverHost,
			"suspend-workload": s.suspendWorkload,
			"suspend-flux":     s.suspendFlux,
			"uninstall-flux*":  s.uninstall,
			"delete-secrets":   s.deleteSecrets,
			"not-wiped":        told,
			"skip-providers":   told,
		},
	}
}

// told is a step whose title is all there is to it.
func told(context.Context, plan.Step, run.Voice) error { return nil }

// controller returns the API server of the cluster the controllers run on.
func (s *Site) controller(ctx context.Context) (*kube.Cluster, error) {
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	if s.controllers.cluster == nil {
		return nil, errors.New("no controller host answers")
	}
	return s.controllers.cluster, nil
}

func (s *Site) hostView(ctx context.Context, w plan.World) plan.World {
	if w.Host == plan.HostRemoved {
		return w
	}
	if err := s.find(ctx); err != nil {
		return w.With("controller/host", plan.Failed(err.Error()))
	}
	w.Host = s.controllers.host
	if w.Host == plan.HostSelfManaged && !s.Settings.Local() {
		// A kind cluster that was kept has to go, too.
		w = s.Observe(ctx, w, "host/kind-cluster")
	}
	return w
}

// find looks for the controllers unless they were found.
func (s *Site) find(ctx context.Context) error {
	if s.controllers != nil {
		return nil
	}
	b, e := s.Settings.File.Bootstrap, s.Settings.Environment
	k := seeker{
		name: s.Settings.KindCluster, file: s.mgmtFile(), namespace: b.MgmtNamespace, own: b.MgmtNamespace + "/" + e.MgmtCluster,
		cloud:     !s.Settings.Local() && !e.Teardown.HardwareRelease,
		contained: s.Settings.Local() && e.Teardown.MgmtContainerPrefix != "",
		join:      s.join, kind: s.kindExists, source: s.source, target: s.target,
		there: func(ctx context.Context, f plan.Fact) plan.Presence { return s.Observe(ctx, plan.World{}, f).Of(f) },
	}
	found, err := k.seek(ctx)
	if err != nil {
		return err
	}
	s.controllers = found
	return nil
}

// kindExists tells whether there is a kind cluster.
func (s *Site) kindExists(ctx context.Context) (bool, error) {
	kinds, err := s.kinds(ctx)
	if err != nil {
		return false, err
	}
	return kinds.Exists(ctx, s.Settings.KindCluster)
}

// A seeker looks for the cluster the controllers of a teardown run on.
//
// The kind cluster comes first. One that exists and does not answer is not one that
// is gone: its controllers may be at work, or come back with the Clusters in their
// store and make anew what was swept. The same holds for a management cluster that
// answers, but does not let us in. Only the silence of a cluster that nothing else
// tells of is taken for the end of it.
//
// Which of two clusters it is that answer, the Clusters tell: the controllers are
// where those are. Clusters on both sides are a move that was interrupted, and a
// teardown of one half would orphan the other.
type seeker struct {
	name      string // of the kind cluster
	file      string // with the kubeconfig of the management cluster
	namespace string // of the Cluster of the management cluster
	own       string // namespace/name of that Cluster
	cloud     bool   // what is left when nobody answers can be swept
	contained bool   // the management cluster is made of containers that can be listed

	join   func(ctx context.Context) error         // the network of kind, inside the toolbox
	kind   func(ctx context.Context) (bool, error) // whether the kind cluster exists
	source func(ctx context.Context) (*kube.Cluster, error)
	target func(ctx context.Context) (*kube.Cluster, error)
	there  func(ctx context.Context, f plan.Fact) plan.Presence
}

func (k seeker) seek(ctx context.Context) (*controllers, error) {
	var notes []string
	if err := k.join(ctx); err != nil {
		notes = append(notes, "the network of kind was not joined: "+err.Error())
	}
	certain := true // whether there is a kind cluster
	kind, err := k.onKind(ctx)
	if errors.Is(err, engine.ErrNone) && k.cloud {
		certain = false
		notes = append(notes, "no container engine answers: no kind cluster was looked for, registry cleanup will be skipped")
	} else if err != nil {
		return nil, err
	}
	target, shut, err := k.onTarget(ctx)
	if err != nil {
		return nil, err
	}
	found, err := k.choose(ctx, kind, certain, target, shut)
	if err != nil {
		return nil, err
	}
	found.notes = notes
	return found, nil
}

// onKind returns the kind cluster, nil when there is none.
func (k seeker) onKind(ctx context.Context) (*kube.Cluster, error) {
	exists, err := k.kind(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot tell whether kind cluster '%s' exists: %w", k.name, err)
	}
	if !exists {
		return nil, nil //nolint:nilnil // no cluster is an answer
	}
	c, err := k.source(ctx)
	if err == nil {
		err = c.Answers(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("kind cluster '%s' exists and cannot be asked, so the Clusters in it are unknown (start its container, or delete it if nothing it made is left): %w", k.name, err)
	}
	return c, nil
}

// onTarget returns the management cluster, nil when it is silent. shut is why one
// that is there cannot be asked.
func (k seeker) onTarget(ctx context.Context) (c *kube.Cluster, shut, err error) {
	if _, err := os.Stat(k.file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("cannot tell whether there is a kubeconfig of the management cluster: %w", err)
	}
	c, err = k.target(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot use the kubeconfig of the management cluster: %w", err)
	}
	err = c.Answers(ctx)
	if silent(err) {
		return nil, nil, nil
	}
	if k.contained && k.there(ctx, "host/mgmt-containers").Gone() {
		// Whoever answers is no cluster of this engine: another engine has it, or the
		// file is a leftover and leads to a stranger.
		return nil, nil, fmt.Errorf("'%s' leads to a cluster that answers, and the container engine has no container of it: choose the engine that has them (CONTAINER_ENGINE, DOCKER_HOST, CONTAINER_HOST), or move the file away if it belongs to another cluster", k.file)
	}
	if err == nil {
		return c, nil, nil
	}
	return nil, fmt.Errorf("the management cluster is there and cannot be asked: %w", err), nil
}

// silent tells whether an error means that nobody answered at all.
func silent(err error) bool {
	if err == nil {
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	switch kube.Classify(err, false).Failure { //nolint:exhaustive // all others are answers
	case plan.TimedOut, plan.Reset:
		return true
	}
	return false
}

// choose tells which of the clusters the controllers run on.
func (k seeker) choose(ctx context.Context, kind *kube.Cluster, certain bool, target *kube.Cluster, shut error) (*controllers, error) {
	switch {
	case kind != nil && target != nil:
		return k.either(ctx, kind, target)
	case kind != nil:
		return k.young(ctx, kind, shut)
	case shut != nil:
		return nil, shut
	case target != nil:
		return k.alone(ctx, target, certain)
	}
	return &controllers{host: plan.HostUnreachable}, nil
}

// young makes sure that nothing was moved away from a kind cluster that is alone.
func (k seeker) young(ctx context.Context, kind *kube.Cluster, shut error) (*controllers, error) {
	moved, err := move.Left(ctx, kind, k.namespace)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot tell whether the Clusters of kind cluster '%s' were moved: %w", k.name, err)
	case moved && shut != nil:
		return nil, shut
	case moved:
		return nil, fmt.Errorf("Clusters were moved from kind cluster '%s' to the management cluster, which does not answer (make '%s' lead to it; if it is gone for good, delete ConfigMap %s/krops-move of the kind cluster)", //nolint:staticcheck // ST1005: Clusters are a kind
			k.name, k.file, k.namespace)
	}
	return &controllers{host: plan.HostKind, cluster: kind}, nil
}

// alone makes sure that a management cluster that is alone is that of the
// environment: the file may lead to another one.
func (k seeker) alone(ctx context.Context, target *kube.Cluster, certain bool) (*controllers, error) {
	names, err := inventory(ctx, target)
	if err != nil {
		return nil, err
	}
	self := &controllers{host: plan.HostSelfManaged, cluster: target}
	switch {
	case slices.Contains(names, k.own):
		return self, nil
	case len(names) > 0:
		return nil, fmt.Errorf("'%s' leads to a cluster that manages %s and not %s: it is that of another environment, and is not touched", k.file, strings.Join(names, ", "), k.own)
	case !certain:
		return nil, fmt.Errorf("'%s' leads to a cluster without any Cluster, and there is no container engine to tell whether kind cluster '%s' has them", k.file, k.name)
	case !k.there(ctx, "host/mgmt-kubeconfig-own").There():
		return nil, fmt.Errorf("'%s' leads to a cluster without any Cluster, and does not name it %s: it may be any cluster, and is not touched", k.file, k.own)
	}
	return self, nil
}

// either chooses between two clusters that answer.
func (k seeker) either(ctx context.Context, kind, target *kube.Cluster) (*controllers, error) {
	here, err := inventory(ctx, kind)
	if err != nil {
		return nil, err
	}
	there, err := inventory(ctx, target)
	if err != nil {
		return nil, err
	}
	both := slices.ContainsFunc(there, func(name string) bool { return slices.Contains(here, name) })
	moved := slices.Contains(there, k.own)
	switch {
	case both, moved && len(here) > 0:
		return nil, fmt.Errorf("kind cluster '%s' has Clusters (%s), and so has the management cluster (%s): a move between them did not end; run the bootstrap again to complete it, then the teardown",
			k.name, strings.Join(here, ", "), strings.Join(there, ", "))
	case moved:
		return &controllers{host: plan.HostSelfManaged, cluster: target}, nil
	}
	// What else there is on the other side belongs to another environment.
	return &controllers{host: plan.HostKind, cluster: kind}, nil
}

// noKind tells whether a listing failed because the server does not have the kind.
// That something is not found is no answer to a listing.
func noKind(err error) bool {
	return err != nil && plan.List(kube.Classify(err, false)).Known().There()
}

// inventory lists the Clusters of a cluster.
func inventory(ctx context.Context, c *kube.Cluster) ([]string, error) {
	listing := c.Listing(ctx, kube.CAPICluster, "", nil)
	names, known := listing.Names()
	if !known {
		why, _ := listing.Known().Failed()
		return nil, fmt.Errorf("cannot list the CAPI Clusters of %s: %s", c.Server(), why)
	}
	return names, nil
}

// discoverHost says where the controllers run.
func (s *Site) discoverHost(ctx context.Context, _ plan.Step, v run.Voice) error {
	if err := s.find(ctx); err != nil {
		return err
	}
	for _, note := range s.controllers.notes {
		v.Warn("%s", note)
	}
	switch s.controllers.host {
	case plan.HostKind:
		v.Detail("the controllers run on kind cluster '%s' (context %s)", s.Settings.KindCluster, s.controllers.cluster.Context())
	case plan.HostSelfManaged:
		v.Detail("the management cluster manages itself (%s)", s.Settings.MgmtKubeconfig)
	case plan.HostUnreachable, plan.HostUnknown, plan.HostRemoved:
		s.unreachable(v)
	}
	return nil
}

func (s *Site) unreachable(v run.Voice) {
	if s.Settings.Local() {
		v.Detail("No reachable management cluster; skipping CAPI workload deletion")
		return
	}
	v.Warn("No reachable management cluster – skipping k8s steps")
	v.Warn("There is no kind cluster '%s', and no cluster answers that %s leads to.", s.Settings.KindCluster, s.Settings.MgmtKubeconfig)
	v.Warn("Clusters cannot be deleted by their controllers; the AWS sweep removes what it finds by name and tag.")
	v.Warn("If a management cluster does exist, stop now, make its kubeconfig work, and run again.")
	v.Warn("This run ends with an error even when all goes well; AWS_ONLY=1 says that only AWS is left.")
}

// kustomizations tells whether there is anything for Flux to reconcile.
func (s *Site) kustomizations(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.controller(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return c.Listing(ctx, kube.Kustomization, s.Settings.File.Bootstrap.FluxNamespace, nil).Any(func(string) bool { return true })
}

const suspended = `{"spec":{"suspend":true}}`

// suspendFlux keeps Flux from making again what is deleted. A Kustomization that
// cannot be suspended is told of: what it brings back is deleted again.
func (s *Site) suspendFlux(ctx context.Context, _ plan.Step, v run.Voice) error {
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	found, err := c.List(ctx, kube.Kustomization, s.Settings.File.Bootstrap.FluxNamespace)
	if noKind(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list the Flux Kustomizations; aborting before any deletion: %w", err)
	}
	var failed []string
	for i := range found {
		if on, _, _ := unstructured.NestedBool(found[i].Object, "spec", "suspend"); on {
			continue
		}
		err := c.Patch(ctx, kube.Kustomization, found[i].GetNamespace(), found[i].GetName(), []byte(suspended))
		if err != nil && !kube.Gone(err) {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		v.Warn("Could not suspend some Kustomizations – continuing anyway (%d of %d): %s", len(failed), len(found), strings.Join(failed, "; "))
	}
	return ctx.Err()
}

// suspendWorkload does the same for the one Kustomization that makes the workload
// clusters of this host.
func (s *Site) suspendWorkload(ctx context.Context, _ plan.Step, v run.Voice) error {
	const name = "docker-workload-cluster"
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	err = c.Patch(ctx, kube.Kustomization, s.Settings.File.Bootstrap.FluxNamespace, name, []byte(suspended))
	if err != nil && !kube.Gone(err) {
		v.Warn("Could not suspend Kustomization '%s' – continuing anyway: %v", name, err)
	}
	return ctx.Err()
}

// release tells whether a Helm release is there, in whatever state.
func (s *Site) release(ctx context.Context, f plan.Fact) plan.Presence {
	c, err := s.controller(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return helm.Exists(ctx, c, s.Settings.File.Bootstrap.FluxNamespace, strings.TrimPrefix(string(f), "controller/"))
}

func (s *Site) uninstall(ctx context.Context, step plan.Step, _ run.Voice) error {
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	return helm.Uninstall(ctx, c, s.Settings.File.Bootstrap.FluxNamespace, strings.TrimPrefix(step.ID, "uninstall-"), step.Deadline)
}

// leftovers are the secrets a bootstrap made, namespace and name.
func (s *Site) leftovers() [][2]string {
	b := s.Settings.File.Bootstrap
	return [][2]string{
		{b.FluxNamespace, b.GithubPATSecret}, {b.FluxNamespace, b.SopsAgeSecret}, {"default", b.SopsAgeSecret}, {"capa-system", "aws-credentials"},
	}
}

// secrets tells whether one of the secrets is left.
func (s *Site) secrets(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.controller(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	answer := plan.Absent("none of them is there")
	for _, name := range s.leftovers() {
		p := c.Lookup(ctx, kube.Secret, name[0], name[1])
		if p.There() {
			return p
		}
		if p.Unknown() {
			answer = p
		}
	}
	return answer
}

func (s *Site) deleteSecrets(ctx context.Context, _ plan.Step, _ run.Voice) error {
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range s.leftovers() {
		failed = append(failed, c.Delete(ctx, kube.Secret, name[0], name[1]))
	}
	return errors.Join(failed...)
}
