package compute

import "github.com/holdfast-ops/holdfast/internal/koc/command"

func hostDrain() command.Command    { return command.Command{Short: "Move the servers of a host that is up to others"} }
func hostEvacuate() command.Command { return command.Command{Short: "Rebuild the servers of a host that is down on others"} }
