package orchestrate

import "github.com/holdfast-ops/holdfast/internal/om/cluster"

// boot runs the boot action once per boot of the node, and notes which boot that
// was. An instance seen for the first time only has it noted: there is nothing
// left from a former boot.
func (d *decider) boot() bool {
	memory := &d.d.Memory
	if !d.bootDue() || d.nodeBusy() != "" {
		return false
	}
	memory.Booted = true
	if d.Local.LastBootID == "" {
		d.because("record-boot", "the instance is new on this node")
		memory.Recorded = true
		d.act(Action{Verb: RecordBoot})
		return true
	}
	d.because("boot", "the node was booted since the instance was last seen")
	memory.Autostart = d.Config.Orchestrate == cluster.OrchestrateStart
	d.act(Action{Verb: Boot})
	return true
}

// bootDue reports whether this boot of the node was not dealt with yet.
func (d *decider) bootDue() bool {
	return !d.d.Memory.Booted && d.Local.BootID != "" && d.Local.LastBootID != d.Local.BootID && d.Path.Kind.Runs()
}

// recordBoot notes the boot the boot action was run for.
func (d *decider) recordBoot() bool {
	if d.state() != StateBooted || d.d.Memory.Recorded || d.Local.BootID == "" || d.Local.LastBootID == d.Local.BootID {
		return false
	}
	d.because("record-boot", "the boot action is done")
	d.d.Memory.Recorded = true
	d.act(Action{Verb: RecordBoot})
	return true
}
