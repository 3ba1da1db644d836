package kind

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-ops/holdfast/internal/retry"
)

// own makes the kubeconfig of a node that of a cluster: with the names kind uses, so
// that several go into one file, and with a server that is reached from outside.
func own(text []byte, name, server string) ([]byte, error) {
	node, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of kind cluster '%s': %w", name, err)
	}
	at := node.Contexts[node.CurrentContext]
	if at == nil || node.Clusters[at.Cluster] == nil || node.AuthInfos[at.AuthInfo] == nil {
		return nil, fmt.Errorf("the kubeconfig of kind cluster '%s' has no current context with a cluster and a user", name)
	}
	key := ContextOf(name)
	cluster := *node.Clusters[at.Cluster]
	cluster.Server = server
	made := api.NewConfig()
	made.Clusters[key], made.AuthInfos[key] = &cluster, node.AuthInfos[at.AuthInfo]
	made.Contexts[key] = &api.Context{Cluster: key, AuthInfo: key}
	made.CurrentContext = key
	return clientcmd.Write(*made)
}

// Files are the kubeconfigs of a caller: those KUBECONFIG lists, else the one at home.
func Files(kubeconfig, home string) []string {
	var list []string
	for _, file := range filepath.SplitList(kubeconfig) {
		if file != "" {
			list = append(list, file)
		}
	}
	if len(list) == 0 && home != "" {
		list = []string{filepath.Join(home, ".kube", "config")}
	}
	return list
}

// HasContext tells whether one of the files has the context of a cluster that is
// reached as the kubeconfig says.
func HasContext(files []string, name string, kubeconfig []byte) (bool, error) {
	want, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return false, err
	}
	for _, file := range files {
		have, err := read(file)
		if err != nil {
			return false, err
		}
		key := ContextOf(name)
		if at := have.Contexts[key]; at != nil {
			cluster, wanted := have.Clusters[at.Cluster], want.Clusters[key]
			return cluster != nil && wanted != nil && cluster.Server == wanted.Server &&
				string(cluster.CertificateAuthorityData) == string(wanted.CertificateAuthorityData), nil
		}
	}
	return false, nil
}

// Merge adds the contexts of a kubeconfig to the first of the files that exists, or
// makes the last. The current context stays what it is, unless there is none.
func Merge(ctx context.Context, files []string, kubeconfig []byte) (file string, err error) {
	if len(files) == 0 {
		return "", errors.New("no kubeconfig to add the context to: neither KUBECONFIG nor HOME is set")
	}
	added, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return "", err
	}
	file = files[len(files)-1]
	for _, candidate := range files {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			file = candidate
			break
		}
	}
	return file, change(ctx, file, func(have *api.Config) {
		maps.Copy(have.Clusters, added.Clusters)
		maps.Copy(have.AuthInfos, added.AuthInfos)
		maps.Copy(have.Contexts, added.Contexts)
		if have.CurrentContext == "" {
			have.CurrentContext = added.CurrentContext
		}
	})
}

// Unmerge removes what kind names of a cluster from all the files.
func Unmerge(ctx context.Context, files []string, name string) error {
	key := ContextOf(name)
	var failed []error
	for _, file := range files {
		if have, err := read(file); err != nil || have.Contexts[key] == nil && have.Clusters[key] == nil && have.AuthInfos[key] == nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, change(ctx, file, func(have *api.Config) {
			delete(have.Contexts, key)
			delete(have.Clusters, key)
			delete(have.AuthInfos, key)
			if have.CurrentContext == key {
				have.CurrentContext = ""
			}
		}))
	}
	return errors.Join(failed...)
}

// Write makes a kubeconfig the whole content of a file that only its owner reads.
func Write(file string, kubeconfig []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return replace(file, kubeconfig)
}

// replace replaces a file in one step by one that only its owner reads, whoever could
// read the one before.
func replace(file string, text []byte) error {
	pending, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer pending.Cleanup() //nolint:errcheck // nothing is left of it once it has replaced the other
	if _, err := pending.Write(text); err != nil {
		return err
	}
	return pending.CloseAtomicallyReplace()
}

// read reads a kubeconfig; one that does not exist is empty. Paths in it stay as they
// are written.
func read(file string) (*api.Config, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return api.NewConfig(), nil
	}
	if err != nil {
		return nil, err
	}
	have, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", file, err)
	}
	return have, nil
}

// lockTime is how long a kubeconfig may be locked by somebody else.
const lockTime = 5 * time.Second

// change rewrites a kubeconfig under the lock that kubectl and kind take too.
func change(ctx context.Context, file string, edit func(*api.Config)) (err error) {
	if target, linkErr := filepath.EvalSymlinks(file); linkErr == nil {
		file = target // a link stays one
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	unlock, err := lock(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	have, err := read(file)
	if err != nil {
		return err
	}
	edit(have)
	text, err := clientcmd.Write(*have)
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", file, err)
	}
	return replace(file, text)
}

func lock(ctx context.Context, name string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, fmt.Errorf("%s is there: another program changes the kubeconfig, or one has crashed; remove it if none runs", name))
	defer cancel()
	err = retry.Until(ctx, retry.Policy{Interval: 20 * time.Millisecond, Max: 500 * time.Millisecond}, func(context.Context) (bool, error) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		return true, f.Close()
	})
	if err != nil {
		return nil, fmt.Errorf("lock the kubeconfig: %w", err)
	}
	return func() error { return os.Remove(name) }, nil
}
