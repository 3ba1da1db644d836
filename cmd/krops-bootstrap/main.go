// Command krops-bootstrap makes and removes Cluster API management clusters.
package main

import "github.com/holdfast-ops/holdfast/internal/krops"

// version is set by the linker.
var version = "devel"

func main() { krops.Main(version) }
