// Package kind makes the kind cluster that a bootstrap begins on.
//
// Creation is the library of kind, which calls the command line of the engine;
// everything else asks the engine's API.
package kind

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// Config is how a cluster is made: the configuration kind reads, and files that are
// written into each node afterwards.
type Config struct {
	YAML  string
	Files []File
}

// File is a file of a node.
type File struct {
	Path string
	Text string
}

// String is the whole configuration as a text: what a cluster is recognised by.
func (c Config) String() string {
	var text strings.Builder
	text.WriteString(c.YAML)
	for _, f := range c.Files {
		text.WriteString("--- " + f.Path + "\n" + f.Text)
	}
	return text.String()
}

// Wanted says what a cluster must be like.
type Wanted struct {
	EngineSocket string // on the side of the daemon
	Registry     *Mirror
}

// Mirror is a registry that nodes reach under another address than this host.
type Mirror struct {
	Port int    // of this host: images are named localhost:Port/…
	URL  string // what nodes ask instead
}

const (
	nodeSocket = "/var/run/docker.sock"
	certsDir   = "/etc/containerd/certs.d"
	// registryTable lets containerd read its certs.d: images of kind do since v0.27,
	// older ones are told here.
	registryTable = "[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"" + certsDir + "\"\n"
)

// Render makes the configuration of a cluster: one control plane that reaches the
// engine, and the mirror of the local registry where there is one.
func Render(w Wanted) (Config, error) {
	cluster := v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes: []v1alpha4.Node{{
			Role:        v1alpha4.ControlPlaneRole,
			ExtraMounts: []v1alpha4.Mount{{HostPath: w.EngineSocket, ContainerPath: nodeSocket}},
		}},
	}
	var files []File
	comment := ""
	if m := w.Registry; m != nil {
		local := "localhost:" + strconv.Itoa(m.Port)
		cluster.ContainerdConfigPatches = []string{registryTable}
		file := File{
			Path: path.Join(certsDir, local, "hosts.toml"),
			Text: fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", m.URL, m.URL),
		}
		files = append(files, file)
		comment = fmt.Sprintf("# %s is mirrored to %s by %s\n", local, m.URL, file.Path)
	}
	text, err := yaml.Marshal(sparse(cluster))
	if err != nil {
		return Config{}, fmt.Errorf("render the configuration of kind: %w", err)
	}
	return Config{YAML: comment + string(text), Files: files}, nil
}

// sparse leaves out the empty networking table, which the type always prints.
func sparse(c v1alpha4.Cluster) any {
	type cluster struct {
		v1alpha4.TypeMeta       `json:",inline"`
		Nodes                   []v1alpha4.Node `json:"nodes,omitempty"`
		ContainerdConfigPatches []string        `json:"containerdConfigPatches,omitempty"`
	}
	return cluster{c.TypeMeta, c.Nodes, c.ContainerdConfigPatches}
}

// ContextOf is the name kind gives the context of a cluster.
func ContextOf(cluster string) string { return "kind-" + cluster }

// Node is the name of the container of the control plane of a cluster.
func Node(cluster string) string { return cluster + "-control-plane" }
