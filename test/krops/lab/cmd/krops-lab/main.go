// Command krops-lab is krops-bootstrap in the lab, see package program.
package main

import "github.com/holdfast-ops/holdfast/test/krops/lab/program"

func main() { program.Main() }
