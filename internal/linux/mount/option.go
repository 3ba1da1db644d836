package mount

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Options are those of a mount, as the kernel takes them.
type Options struct {
	Flags uintptr // of the mount
	Data  string  // for the filesystem
	Bind  bool
}

// ReadOnly reports whether nothing can be written.
func (o Options) ReadOnly() bool { return o.Flags&unix.MS_RDONLY != 0 }

// form is that of the options of filesystems.
var form = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*(=[^[:space:][:cntrl:]]*)?$`)

// flag is what a word does to the flags.
type flag struct{ set, clear uintptr }

func flags() map[string]flag {
	return map[string]flag{
		"defaults": {}, "rw": {clear: unix.MS_RDONLY}, "ro": {set: unix.MS_RDONLY},
		"suid": {clear: unix.MS_NOSUID}, "nosuid": {set: unix.MS_NOSUID},
		"dev": {clear: unix.MS_NODEV}, "nodev": {set: unix.MS_NODEV},
		"exec": {clear: unix.MS_NOEXEC}, "noexec": {set: unix.MS_NOEXEC},
		"async": {clear: unix.MS_SYNCHRONOUS}, "sync": {set: unix.MS_SYNCHRONOUS}, "dirsync": {set: unix.MS_DIRSYNC},
		"mand": {set: unix.MS_MANDLOCK}, "nomand": {clear: unix.MS_MANDLOCK},
		"atime": {clear: unix.MS_NOATIME}, "noatime": {set: unix.MS_NOATIME},
		"diratime": {clear: unix.MS_NODIRATIME}, "nodiratime": {set: unix.MS_NODIRATIME},
		"relatime": {set: unix.MS_RELATIME}, "norelatime": {clear: unix.MS_RELATIME},
		"strictatime": {set: unix.MS_STRICTATIME}, "nostrictatime": {clear: unix.MS_STRICTATIME},
		"lazytime": {set: unix.MS_LAZYTIME}, "nolazytime": {clear: unix.MS_LAZYTIME},
		"silent": {set: unix.MS_SILENT}, "loud": {clear: unix.MS_SILENT},
		"bind": {set: unix.MS_BIND}, "rbind": {set: unix.MS_BIND | unix.MS_REC},
	}
}

// ParseOptions reads options as those of mount(8) and of /etc/fstab. What these do in
// programs, and not in the kernel, is left out when it is harmless, else refused.
func ParseOptions(text string) (Options, error) {
	var o Options
	var data []string
	words := flags()
	for word := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(word, "=")
		f, known := words[word]
		switch {
		case known:
			o.Flags = o.Flags&^f.clear | f.set
		case word == "",
			slices.Contains(strings.Fields("auto noauto user nouser users owner group nofail _netdev comment"), name),
			strings.HasPrefix(word, "x-"), strings.HasPrefix(word, "X-"):
		case slices.Contains(strings.Fields("remount loop offset sizelimit move"), name):
			return Options{}, fmt.Errorf("option %s is not one of a mount that is made here", word)
		case !form.MatchString(word):
			return Options{}, fmt.Errorf("%q is not an option of a mount: write them separated by commas, as ro,size=1m", word)
		default:
			data = append(data, word)
		}
	}
	o.Data = strings.Join(data, ",")
	o.Bind = o.Flags&unix.MS_BIND != 0
	return o, nil
}
