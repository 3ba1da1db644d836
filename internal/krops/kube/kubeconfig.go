package kube

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

var errKubeconfig = errors.New("it is no valid YAML of the kind Config")

// RenameContext returns a kubeconfig whose current context has another name.
func RenameContext(kubeconfig []byte, name string) ([]byte, error) {
	return edited(kubeconfig, func(config *clientcmdapi.Config) error {
		current := config.Contexts[config.CurrentContext]
		if current == nil {
			return errors.New("it has no current context")
		}
		delete(config.Contexts, config.CurrentContext)
		config.Contexts[name] = current
		config.CurrentContext = name
		return nil
	})
}

// SetServer returns a kubeconfig whose cluster of that name has another address.
func SetServer(kubeconfig []byte, cluster, server string) ([]byte, error) {
	return edited(kubeconfig, func(config *clientcmdapi.Config) error {
		entry := config.Clusters[cluster]
		if entry == nil {
			return fmt.Errorf("it has no cluster %q", cluster)
		}
		entry.Server = server
		return nil
	})
}

// MergeKubeconfig returns a kubeconfig with the entries of another added, which
// win. Its current context stays, if it has one.
func MergeKubeconfig(kubeconfig, other []byte) ([]byte, error) {
	added, err := clientcmd.Load(other)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig to merge: %w", errKubeconfig)
	}
	return edited(kubeconfig, func(config *clientcmdapi.Config) error {
		maps.Copy(config.Clusters, added.Clusters)
		maps.Copy(config.AuthInfos, added.AuthInfos)
		maps.Copy(config.Contexts, added.Contexts)
		if config.CurrentContext == "" {
			config.CurrentContext = added.CurrentContext
		}
		return nil
	})
}

// CurrentContext returns the current context of a kubeconfig.
func CurrentContext(kubeconfig []byte) (string, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return "", fmt.Errorf("kubeconfig: %w", errKubeconfig)
	}
	return config.CurrentContext, nil
}

func edited(kubeconfig []byte, edit func(*clientcmdapi.Config) error) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", errKubeconfig)
	}
	if err := edit(config); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return clientcmd.Write(*config)
}

// SameAccess tells whether the current contexts of two kubeconfigs reach the same
// server with the same credentials.
func SameAccess(one, other []byte) (bool, error) {
	a, err := access(one)
	if err != nil {
		return false, err
	}
	b, err := access(other)
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(a, b), nil
}

// access is what the current context of a kubeconfig leads to.
func access(kubeconfig []byte) ([2]any, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return [2]any{}, fmt.Errorf("kubeconfig: %w", errKubeconfig)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil {
		return [2]any{}, errors.New("kubeconfig: it has no current context")
	}
	return [2]any{config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]}, nil
}
