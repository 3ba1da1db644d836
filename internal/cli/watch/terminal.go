package watch

import (
	"os"
)

// Terminal is what a watch needs of a terminal, beside the streams.
type Terminal interface {
	// Size is asked for every frame.
	Size() (width, height int)
	// Raw makes keys come one by one, unseen; Restore undoes it.
	Raw() error
	Restore() error
	// Signals delivers those of the process: a change of the size, a return from
	// suspension, or anything else, which ends the watch.
	Signals() (signals <-chan os.Signal, stop func())
	// Suspend stops the process until it is continued.
	Suspend()
}
