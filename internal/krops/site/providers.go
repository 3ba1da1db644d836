package site

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/plan"
	"github.com/holdfast-ops/holdfast/internal/krops/run"
)

// providerPart lists the providers of Cluster API on the controller host, and
// deletes them.
func (s *Site) providerPart() part {
	return part{
		views: map[string]func(context.Context, plan.World) plan.World{
			"providers/all": s.providersView,
		},
		steps: map[string]func(context.Context, plan.Step, run.Voice) error{
			"delete-providers": s.deleteProviders,
		},
		holds: map[string]func(context.Context, plan.Step) (string, error){
			"wait-providers": s.providersLeft,
		},
		diagnoses: map[string]func(context.Context, plan.Step, run.Voice){
			"wait-providers": s.diagnoseProviders,
		},
	}
}

func (s *Site) providersView(ctx context.Context, w plan.World) plan.World {
	found, err := s.providers(ctx)
	if err != nil {
		w.Providers = plan.Unlisted(err.Error())
		return w
	}
	var list []string
	for i := range found {
		list = append(list, short(found[i].GroupVersionKind().GroupKind())+"/"+kube.Name(&found[i]))
	}
	w.Providers = plan.Listed(list...)
	return w
}

// providers lists them in the order they are deleted in.
func (s *Site) providers(ctx context.Context) ([]unstructured.Unstructured, error) {
	c, err := s.controller(ctx)
	if err != nil {
		return nil, err
	}
	var found []unstructured.Unstructured
	for _, kind := range kube.Providers() {
		list, err := c.List(ctx, kind, "")
		if noKind(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot list the CAPI %ss providers: %w", strings.ToLower(kind.Kind), err)
		}
		found = append(found, list...)
	}
	return found, nil
}

// short is the kind of a provider in one word: addon, controlplane, bootstrap,
// infrastructure, core.
func short(kind schema.GroupKind) string {
	return strings.TrimSuffix(strings.ToLower(kind.Kind), "provider")
}

func (s *Site) deleteProviders(ctx context.Context, _ plan.Step, v run.Voice) error {
	c, err := s.controller(ctx)
	if err != nil {
		return err
	}
	found, err := s.providers(ctx)
	if err != nil {
		return err
	}
	for i := range found {
		u := &found[i]
		kind := u.GroupVersionKind().GroupKind()
		v.Detail("Deleting %s: %s (namespace: %s)", strings.ToLower(kind.Kind), u.GetName(), u.GetNamespace())
		if err := c.Delete(ctx, kind, u.GetNamespace(), u.GetName()); err != nil {
			v.Warn("%v", err)
		}
	}
	return ctx.Err()
}

func (s *Site) providersLeft(ctx context.Context, _ plan.Step) (string, error) {
	// Whether a failure ends the wait, the next look tells.
	found, _ := s.providers(ctx)
	if len(found) == 0 {
		return "", nil
	}
	lines := []string{fmt.Sprintf("%d provider(s) still deleting...", len(found))}
	for i := range found {
		lines = append(lines, short(found[i].GroupVersionKind().GroupKind())+" "+kube.Name(&found[i])+": "+holdup(&found[i]))
	}
	return strings.Join(lines, "\n"), nil
}

func (s *Site) diagnoseProviders(ctx context.Context, _ plan.Step, v run.Voice) {
	found, err := s.providers(ctx)
	if err != nil {
		v.Warn("%v", err)
	}
	for i := range found {
		v.Warn("%s %s: %s", found[i].GetKind(), kube.Name(&found[i]), holdup(&found[i]))
	}
}
