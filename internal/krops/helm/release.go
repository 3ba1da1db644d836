package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
)

// Wait is what an installation waits for before it counts as done.
type Wait string

// The ways to wait.
const (
	// Watcher waits until every object of the chart is ready by the rules for its kind.
	Watcher Wait = "watcher"
	// Legacy looks at workloads alone: an object of a kind Helm does not know may
	// pass through states that a watcher takes for failures.
	Legacy Wait = "legacy"
	// None waits for hooks only.
	None Wait = "none"
)

const (
	usual   = 10 * time.Minute // the timeout of a release that names none
	history = 10               // how many revisions are kept
)

// Release is a release as it is wanted.
type Release struct {
	Name, Namespace string
	Chart           string // its address, see [Pull]
	Version         string
	Values          map[string]any
	Wait            Wait
	Timeout         time.Duration // 0 is ten minutes
	// Loose lets a release with other values count as the one that is wanted: Flux
	// takes releases over, with values of its own.
	Loose bool
}

func (r Release) timeout() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return usual
}

func (r Release) strategy() helmkube.WaitStrategy {
	switch r.Wait {
	case Legacy:
		return helmkube.LegacyStrategy
	case None:
		return helmkube.HookOnlyStrategy
	case Watcher:
	}
	return helmkube.StatusWatcherStrategy
}

// Ensure installs a release, or upgrades it, and waits until it is ready. A
// release that a process left behind in the middle of its work is taken over: so
// one cluster must not be worked on by two processes.
func Ensure(ctx context.Context, c *kube.Cluster, r Release, say func(string)) error {
	chart, err := Pull(ctx, r.Chart, r.Version)
	if err != nil {
		return err
	}
	cfg, end, err := session(ctx, c, r.Namespace)
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", r.Namespace, r.Name, err)
	}
	defer end()
	last, err := heal(cfg, r.Name, say)
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", r.Namespace, r.Name, err)
	}
	if last == nil {
		err = r.install(ctx, cfg, chart)
	} else {
		err = r.upgrade(ctx, cfg, chart)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", r.Namespace, r.Name, err)
	}
	return nil
}

func (r Release) install(ctx context.Context, cfg *action.Configuration, chart *chartv2.Chart) error {
	i := action.NewInstall(cfg)
	i.ReleaseName, i.Namespace, i.CreateNamespace = r.Name, r.Namespace, true
	i.WaitStrategy, i.Timeout = r.strategy(), r.timeout()
	i.WaitOptions = []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
	i.ForceConflicts = true
	_, err := i.RunWithContext(ctx, chart, r.values())
	return err
}

func (r Release) upgrade(ctx context.Context, cfg *action.Configuration, chart *chartv2.Chart) error {
	u := action.NewUpgrade(cfg)
	u.Namespace, u.Install = r.Namespace, true
	u.WaitStrategy, u.Timeout = r.strategy(), r.timeout()
	u.WaitOptions = []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
	u.ResetValues, u.MaxHistory, u.ForceConflicts = true, history, true
	_, err := u.RunWithContext(ctx, r.Name, chart, r.values())
	return err
}

// values returns a copy: the library writes into them.
func (r Release) values() map[string]any {
	values, err := plain(r.Values)
	if err != nil || values == nil {
		return map[string]any{}
	}
	return values
}

// heal returns the last revision of a release that can be built on, nil when it
// has to be installed. What a killed process left unfinished is settled.
func heal(cfg *action.Configuration, name string, say func(string)) (*releasev1.Release, error) {
	for {
		last, err := lastOf(cfg, name)
		if last == nil || err != nil {
			return nil, err
		}
		switch status := last.Info.Status; status {
		case common.StatusDeployed, common.StatusFailed, common.StatusSuperseded:
			return last, nil
		case common.StatusPendingUpgrade, common.StatusPendingRollback, common.StatusUninstalling:
			say(fmt.Sprintf("Release %s was left %s; going on from there...", name, status))
			last.SetStatus(common.StatusFailed, "left "+string(status)+" by a process that ended")
			if err := cfg.Releases.Update(last); err != nil {
				return nil, err
			}
			return last, nil
		case common.StatusPendingInstall, common.StatusUninstalled, common.StatusUnknown:
			// Nothing was recorded but the intent: installing again takes over what
			// was made.
			if status == common.StatusPendingInstall {
				say(fmt.Sprintf("Release %s was left %s; installing it again...", name, status))
			}
			if _, err := cfg.Releases.Delete(name, last.Version); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("it is in the state %s", status)
		}
	}
}

// lastOf returns the last revision of a release, nil when there is none.
func lastOf(cfg *action.Configuration, name string) (*releasev1.Release, error) {
	last, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, err
	}
	return known(last)
}

func known(r release.Releaser) (*releasev1.Release, error) {
	switch r := r.(type) {
	case *releasev1.Release:
		if r != nil && r.Info != nil && r.Chart != nil && r.Chart.Metadata != nil {
			return r, nil
		}
	case releasev1.Release:
		return known(&r)
	}
	return nil, errors.New("the record of the release cannot be read")
}

// Exists tells whether there is a release of that name, in whatever state.
func Exists(ctx context.Context, c *kube.Cluster, namespace, name string) plan.Presence {
	return records(ctx, c, namespace, name).Any(func(string) bool { return true })
}

// records lists what Helm keeps of a release.
func records(ctx context.Context, c *kube.Cluster, namespace, name string) plan.Listing {
	found, err := c.List(ctx, kube.Secret, namespace, kube.Labelled("owner=helm,name="+name))
	a := kube.Classify(err, false)
	for i := range found {
		a.Items = append(a.Items, kube.Name(&found[i]))
	}
	return plan.List(a)
}

// Deployed tells whether a release is there as it is wanted: in that version, with
// those values, and finished.
func Deployed(ctx context.Context, c *kube.Cluster, r Release) plan.Presence {
	if there := Exists(ctx, c, r.Namespace, r.Name); !there.There() {
		return there
	}
	cfg, end, err := session(ctx, c, r.Namespace)
	if err != nil {
		return plan.Failed(err.Error())
	}
	defer end()
	last, err := lastOf(cfg, r.Name)
	if err != nil {
		return plan.Failed(fmt.Sprintf("release %s/%s: %v", r.Namespace, r.Name, err))
	}
	if last == nil {
		return plan.Absent("the release has no revision")
	}
	if last.Info.Status != common.StatusDeployed {
		return plan.Absent(fmt.Sprintf("release %s is %s", r.Name, last.Info.Status))
	}
	if have := last.Chart.Metadata.Version; !sameVersion(have, r.Version) {
		return plan.Absent(fmt.Sprintf("release %s has version %s, %s is wanted", r.Name, have, r.Version))
	}
	if r.Loose {
		return plan.Present()
	}
	same, err := alike(last.Config, r.Values)
	if err != nil {
		return plan.Failed(err.Error())
	}
	if !same {
		return plan.Absent(fmt.Sprintf("release %s has other values than are wanted", r.Name))
	}
	return plan.Present()
}

// alike tells whether two sets of values say the same.
func alike(a, b map[string]any) (bool, error) {
	one, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	other, err := json.Marshal(b)
	if err != nil {
		return false, err
	}
	empty := func(text []byte) bool { return string(text) == "null" || string(text) == "{}" }
	return bytes.Equal(one, other) || empty(one) && empty(other), nil
}

// plain returns values as JSON has them.
func plain(values map[string]any) (map[string]any, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var read map[string]any
	return read, json.Unmarshal(text, &read)
}

// Uninstall removes a release and waits until its objects are gone. One that is
// confirmed not to be there is no error.
func Uninstall(ctx context.Context, c *kube.Cluster, namespace, name string, timeout time.Duration) error {
	there := Exists(ctx, c, namespace, name)
	if there.Gone() {
		return nil
	}
	if why, bad := there.Failed(); bad {
		return fmt.Errorf("release %s/%s: cannot tell whether it is there: %s", namespace, name, why)
	}
	cfg, end, err := session(ctx, c, namespace)
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", namespace, name, err)
	}
	defer end()
	u := action.NewUninstall(cfg)
	u.WaitStrategy, u.Timeout, u.DeletionPropagation = helmkube.StatusWatcherStrategy, timeout, "background"
	u.WaitOptions = []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
	if _, err := u.Run(name); err != nil {
		return fmt.Errorf("uninstall release %s/%s: %w", namespace, name, err)
	}
	return nil
}
