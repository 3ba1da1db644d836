package discover

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch makes d use another watcher of the file system.
func (d *Discovery) Watch(watcher func() (*fsnotify.Watcher, error), pollEvery time.Duration) {
	d.watcher, d.pollEvery = watcher, pollEvery
}

// Drained is what takes the errors of a watcher.
var Drained = drained
