package discover

import (
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// readFlags looks at the flag files of an instance, and has it evaluated when
// one came or went.
func (d *Discovery) readFlags(p object.Path) {
	d.mu.Lock()
	k := d.objects[p]
	d.mu.Unlock()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	changed := false
	for i, name := range flagNames {
		file := filepath.Join(d.o.Paths.Var(), p.StateDir(), name)
		at := modTime(file)
		if at.Equal(k.flags[i]) {
			continue
		}
		k.flags[i], changed = at, true
		d.o.Bus.Publish(flagEvent(name, p, file, at))
	}
	if changed {
		d.o.Evaluate.Request(p)
	}
}

func flagEvent(name string, p object.Path, file string, at time.Time) event.Event {
	removed := at.IsZero()
	if removed {
		at = time.Now().Round(0)
	}
	switch {
	case name == "frozen" && removed:
		return event.InstanceFrozenFileRemoved{Path: p, File: file, At: at}
	case name == "frozen":
		return event.InstanceFrozenFileUpdated{Path: p, File: file, At: at}
	case removed:
		return event.InstanceStoppedFileRemoved{Path: p, File: file, At: at}
	default:
		return event.InstanceStoppedFileUpdated{Path: p, File: file, At: at}
	}
}

// readNodeFlag looks at the freeze flag of the node.
func (d *Discovery) readNodeFlag() {
	file := filepath.Join(d.o.Paths.Var(), "node", "frozen")
	at := modTime(file)
	d.mu.Lock()
	same := at.Equal(d.frozen)
	d.frozen = at
	d.mu.Unlock()
	switch {
	case same:
		return
	case at.IsZero():
		d.o.Bus.Publish(event.NodeFrozenFileRemoved{File: file})
	default:
		d.o.Bus.Publish(event.NodeFrozenFileUpdated{File: file, At: at})
	}
	d.o.State.SetNodeFrozen(d.o.State.Node(), at)
}

// modTime is when a file was modified, zero when there is none.
func modTime(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
