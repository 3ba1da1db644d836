// Command koc is the OpenStack client of Holdfast.
package main

import "github.com/holdfast-ops/holdfast/internal/koc"

// version is set by the linker.
var version = "devel"

func main() { koc.Main(version) }
