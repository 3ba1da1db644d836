// Command krops-bootstrap makes and removes Cluster API management clusters.
package main

import (
	"os"

	"github.com/holdfast-ops/holdfast/internal/krops"
)

// version is set by the linker.
var version = "devel"

func main() {
	toolbox()
	krops.Main(version)
}

// toolbox tells podman, which kind runs, where the engine listens that a toolbox was
// given. Whoever has set the variable, even to nothing, is right.
func toolbox() {
	if _, set := os.LookupEnv("CONTAINER_HOST"); !set && os.Getenv("KROPS_TOOLBOX") == "1" {
		_ = os.Setenv("CONTAINER_HOST", "unix:///var/run/docker.sock") // it cannot fail: the name is one
	}
}
