package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The sets of definitions that the assets have.
const (
	CAPICore     = "capi-core"     // Cluster, Machine, MachineDeployment, ...
	CAPIKubeadm  = "capi-kubeadm"  // KubeadmConfig, KubeadmControlPlane
	CAPIDev      = "capi-dev"      // DevCluster, DevMachine, ...
	Clusterctl   = "clusterctl"    // the inventory
	CAPIOperator = "capi-operator" // CoreProvider, InfrastructureProvider, ...
	CertManager  = "cert-manager"
	Flux         = "flux"          // sources and Kustomizations
	FluxOperator = "flux-operator" // FluxInstance
)

// Definitions returns the CustomResourceDefinitions of sets, with the labels that
// an installed provider of Cluster API has: what clusterctl looks for when it moves.
func Definitions(sets ...string) ([]*Object, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	var list []*Object
	for _, set := range sets {
		files, err := filepath.Glob(filepath.Join(assets, "crds", set, "*.yaml"))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("the assets have no definitions %s", set)
		}
		slices.Sort(files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			o := &Object{}
			if err := yaml.Unmarshal(text, &o.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if o.GetKind() == "CustomResourceDefinition" {
				markProvider(o)
				list = append(list, o)
			}
		}
	}
	return list, nil
}

func markProvider(o *Object) {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group") // it is a definition
	if !strings.HasSuffix(group, "cluster.x-k8s.io") || group == "operator.cluster.x-k8s.io" {
		return
	}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["clusterctl.cluster.x-k8s.io"] = ""
	if group != "clusterctl.cluster.x-k8s.io" {
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, v := range versions {
			m, _ := v.(map[string]any)
			if name, _ := m["name"].(string); name == "v1beta1" || name == "v1beta2" {
				labels["cluster.x-k8s.io/"+name] = name
			}
		}
	}
	o.SetLabels(labels)
}

// Install installs sets of definitions and waits until they are served.
func (c *Client) Install(ctx context.Context, sets ...string) error {
	list, err := Definitions(sets...)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, o := range list {
		group.Go(func() error {
			if err := c.Apply(ctx, o); err != nil {
				return err
			}
			return Poll(ctx, time.Minute, 50*time.Millisecond, func() error {
				is, err := c.Get(ctx, Kind("apiextensions.k8s.io", "CustomResourceDefinition"), "", o.GetName())
				if err != nil {
					return err
				}
				if Condition(is, "Established") != "True" {
					return errors.New(o.GetName() + " is not established")
				}
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.mapper.Reset()
	return nil
}
