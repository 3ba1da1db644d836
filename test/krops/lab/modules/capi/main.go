// Command capi runs two controllers of Cluster API's core, those of Cluster and
// Machine, with their cache of the clusters they lead to. It has no webhooks and
// listens nowhere.
//
//	capi KUBECONFIG
package main

import (
	"fmt"
	"os"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	bootstrap "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplane "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusters "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	ctx := ctrl.SetupSignalHandler()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensions.AddToScheme, clusters.AddToScheme, bootstrap.AddToScheme, controlplane.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"},
		Cache: setup.ManagerCacheOptions(scheme, "capi", "", 10*time.Minute), Client: setup.ManagerClientOptions(),
	})
	if err != nil {
		return err
	}
	if err := index.AddDefaultIndexes(ctx, manager); err != nil {
		return err
	}
	secrets, err := setup.CreateSecretCachingClient(manager)
	if err != nil {
		return err
	}
	options := controller.Options{MaxConcurrentReconciles: 4}
	cache, err := clustercache.SetupWithManager(ctx, manager, clustercache.Options{
		SecretClient: secrets, Cache: setup.ClusterCacheCacheOptions(), Client: setup.ClusterCacheClientOptions("capi", 50, 100),
	}, options)
	if err != nil {
		return err
	}
	if err := (&cluster.Reconciler{
		Client: manager.GetClient(), APIReader: manager.GetAPIReader(), ClusterCache: cache, RemoteConnectionGracePeriod: 50 * time.Second,
	}).SetupWithManager(ctx, manager, options); err != nil {
		return err
	}
	if err := (&machine.Reconciler{
		Client: manager.GetClient(), APIReader: manager.GetAPIReader(), ClusterCache: cache, RemoteConditionsGracePeriod: 5 * time.Minute,
	}).SetupWithManager(ctx, manager, options); err != nil {
		return err
	}
	return manager.Start(ctx)
}
