package site

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
	"github.com/holdfast-ops/holdfast/internal/retry"
)

const (
	appsName  = "flux-apps"
	logsSince = 10 * time.Minute
	logsEvery = 10 * time.Second // how often new pods are looked for
)

// watchPart follows the reconciliation of the clusters of this host.
func (s *Site) watchPart() part {
	apps := &patience{now: s.now}
	inner := &patience{now: s.now}
	return part{
		facts: map[string]func(context.Context, plan.Fact) plan.Presence{
			"source/flux-apps":                 s.appsThere,
			"source/flux-apps-ready":           s.appsReady,
			"source/workload-flux":             s.workloadFlux,
			"source/workload-flux-controllers": s.workloadControllers,
			"source/workload-flux-ready":       s.workloadReady,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"flux-apps-created":         s.fluxHold(s.source, apps, fluxSync),
			"flux-apps-ready":           s.fluxHold(s.source, apps, appsName),
			"workload-flux-created":     s.fluxHold(s.workload, inner, fluxSync),
			"workload-flux-controllers": s.workloadPodsHold,
			"workload-flux-ready":       s.fluxHold(s.workload, inner, fluxSync),
		},
		follows: map[string]func(context.Context, plan.Step, run.Voice) func(){
			"workload-flux-ready": s.followWorkload,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"flux-apps-created":         showOn(s.source, showKustomizations),
			"flux-apps-ready":           showOn(s.source, showKustomizations),
			"workload-flux-created":     showOn(s.workload, s.showFluxPods),
			"workload-flux-controllers": showOn(s.workload, s.showFluxPods),
			"workload-flux-ready":       showOn(s.workload, showKustomizations),
		},
	}
}

func (s *Site) appsThere(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.source(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return c.Lookup(ctx, kube.Kustomization, s.fluxNamespace(), appsName)
}

func (s *Site) appsReady(ctx context.Context, _ plan.Fact) plan.Presence {
	return s.kustomized(ctx, s.source, appsName)
}

// kustomized tells whether a Kustomization is Ready.
func (s *Site) kustomized(ctx context.Context, on func(context.Context) (*kube.Cluster, error), name string) plan.Presence {
	c, err := on(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	u, err := c.Get(ctx, kube.Kustomization, s.fluxNamespace(), name)
	if err != nil {
		return there(err)
	}
	return readiness(u)
}

func (s *Site) workloadFlux(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.workload(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return c.Lookup(ctx, kube.Kustomization, s.fluxNamespace(), fluxSync)
}

func (s *Site) workloadControllers(ctx context.Context, _ plan.Fact) plan.Presence {
	c, err := s.workload(ctx)
	if err != nil {
		return plan.Failed(err.Error())
	}
	return podsReady(ctx, c, s.fluxNamespace())
}

func (s *Site) workloadReady(ctx context.Context, _ plan.Fact) plan.Presence {
	return s.kustomized(ctx, s.workload, fluxSync)
}

// fluxHold tells what keeps a Kustomization from being ready.
func (s *Site) fluxHold(on func(context.Context) (*kube.Cluster, error), p *patience, name string) func(context.Context, plan.Step) (string, error) {
	return func(ctx context.Context, _ plan.Step) (string, error) {
		c, err := on(ctx)
		if err != nil {
			return waiting(err)
		}
		seen := &trouble{}
		seen.from(ctx, c, s.fluxNamespace(), name)
		return seen.why(), p.with(seen)
	}
}

func (s *Site) workloadPodsHold(ctx context.Context, _ plan.Step) (string, error) {
	c, err := s.workload(ctx)
	if err != nil {
		return waiting(err)
	}
	return podsHold(ctx, c, s.fluxNamespace()), nil
}

func (s *Site) showFluxPods(ctx context.Context, c *kube.Cluster, v run.Voice) {
	showPods(ctx, c, s.fluxNamespace(), v)
}

// showOn shows something of a cluster, or why it cannot.
func showOn(on func(context.Context) (*kube.Cluster, error), show func(context.Context, *kube.Cluster, run.Voice)) func(context.Context, plan.Step, run.Voice) {
	return func(ctx context.Context, _ plan.Step, v run.Voice) {
		c, err := on(ctx)
		if err != nil {
			v.Detail("%v", err)
			return
		}
		show(ctx, c, v)
	}
}

// followWorkload says what Flux logs as errors in the workload cluster.
func (s *Site) followWorkload(ctx context.Context, _ plan.Step, v run.Voice) (stop func()) {
	c, err := s.workload(ctx)
	if err != nil {
		v.Detail("the logs of Flux cannot be followed: %v", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { followErrors(ctx, c, &group, v) })
	return func() { cancel(); group.Wait() }
}

// followErrors reads the logs of all pods of Flux, those that come later included.
func followErrors(ctx context.Context, c *kube.Cluster, group *sync.WaitGroup, v run.Voice) {
	followed := map[string]bool{}
	// It lasts until ctx ends.
	_ = retry.Until(ctx, retry.Policy{Interval: logsEvery}, func(ctx context.Context) (bool, error) {
		pods, err := c.List(ctx, kube.Pod, "", kube.Labelled(fluxPods))
		if err != nil {
			return false, nil //nolint:nilerr // the next look may succeed
		}
		for i := range pods {
			for _, container := range containers(&pods[i]) {
				id := string(pods[i].GetUID()) + "/" + container
				if followed[id] {
					continue
				}
				log, err := c.Log(ctx, pods[i].GetNamespace(), pods[i].GetName(), container, logsSince)
				if err != nil {
					continue
				}
				followed[id] = true
				group.Go(func() {
					defer func() { _ = log.Close() }()
					lines := bufio.NewScanner(log)
					lines.Buffer(nil, 1<<20)
					for lines.Scan() {
						if text, ok := logged(lines.Bytes()); ok {
							v.Detail("%s", text)
						}
					}
				})
			}
		}
		return false, nil
	})
}

// containers lists those of a pod.
func containers(pod *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	var names []string
	for _, item := range list {
		about, _ := item.(map[string]any)
		if name, _ := about["name"].(string); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// logged reads a line of a log of Flux; ok tells whether it is an error.
func logged(line []byte) (text string, ok bool) {
	var entry struct {
		Level      string `json:"level"`
		Logger     string `json:"logger"`
		Msg        string `json:"msg"`
		Error      string `json:"error"`
		Controller string `json:"controllerKind"`
		Name       string `json:"name"`
		Namespace  string `json:"namespace"`
	}
	if err := json.Unmarshal(line, &entry); err != nil || entry.Level != "error" {
		return "", false
	}
	text = entry.Msg
	if entry.Error != "" {
		text = strings.TrimPrefix(text+": "+entry.Error, ": ")
	}
	if entry.Controller != "" && entry.Name != "" {
		text = fmt.Sprintf("%s %s/%s: %s", entry.Controller, entry.Namespace, entry.Name, text)
	}
	return text, text != ""
}
