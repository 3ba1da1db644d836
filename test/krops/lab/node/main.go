// Command node is all the programs of a node of kind in one, as far as kind itself
// calls them: it answers what kind asks and starts nothing. The lab cannot pull
// kindest/node, and has no room for a kubelet.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(program string, args []string) error {
	switch program {
	case "init":
		_, _ = fmt.Fprintln(os.Stdout, "Reached target Multi-User System.")
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		return nil
	case "cat":
		for _, name := range args {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if _, err := os.Stdout.Write(text); err != nil {
				return err
			}
		}
		return nil
	case "mkdir":
		return os.MkdirAll(args[len(args)-1], 0o755)
	case "cp":
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		return os.WriteFile(args[len(args)-1], text, 0o644)
	case "kubeadm":
		return kubeadm()
	case "kubectl":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	return nil
}

// kubeadm sets a control plane up, unless the node is of the cluster "broken".
func kubeadm() error {
	if _, err := os.Stat("/kind/kubeadm.conf"); err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "broken-") {
		return errors.New("kubeadm of the lab says no")
	}
	if err := os.MkdirAll("/etc/kubernetes", 0o755); err != nil {
		return err
	}
	return os.WriteFile("/etc/kubernetes/admin.conf", []byte(`apiVersion: v1
kind: Config
clusters: [{name: k, cluster: {server: "https://`+name+`:6443", certificate-authority-data: Y2E=}}]
users: [{name: kubernetes-admin, user: {token: t}}]
contexts: [{name: kubernetes-admin@k, context: {cluster: k, user: kubernetes-admin}}]
current-context: kubernetes-admin@k
`), 0o600)
}
