package discover

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch makes d use another watcher of the file system.
func (d *Discovery) Watch(watcher func() (*fsnotify.Watcher, error), pollEvery time.Duration) {
	d.watcher, d.pollEvery = watcher, pollEvery
}
