package fs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/linux/mount"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Tmpfs is the driver of filesystems in memory.
var Tmpfs = resource.Spec{
	Group: "fs",
	Name:  "tmpfs",
	Doc:   "A filesystem in memory. It is empty when it is started, and what it holds is gone when it is stopped.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New:   func(e resource.Env) resource.Driver { return newTmpfs(e) },
}

// Bind is the driver of directories that are shown in another place.
var Bind = resource.Spec{
	Group: "fs",
	Name:  "bind",
	Doc:   "A directory of the node that is shown in another place, with its own options of a mount.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New:   func(e resource.Env) resource.Driver { return newBind(e) },
}

type tmpfs struct {
	mounted

	dev  string
	size int64
}

func newTmpfs(e resource.Env) *tmpfs {
	t := &tmpfs{mounted: mounted{env: e, typ: "tmpfs"}}
	t.source = func() string { return t.dev }
	t.ours = func(p mount.Point) (bool, error) { return p.Type == "tmpfs" && p.Source == t.dev, nil }
	t.more = func() (string, error) {
		switch {
		case t.size == 0:
			return "", nil
		case strings.Contains(","+t.options, ",size="):
			return "", errors.New("the size is set twice, by size and by mnt_opt: set one")
		}
		return fmt.Sprintf("size=%d", t.size), nil
	}
	return t
}

// Keywords implements [resource.Driver].
func (t *tmpfs) Keywords(k *keyword.Table) {
	t.keywords(k)
	k.String(&t.dev, "dev", "The name under which the filesystem is shown among the mounts of the node.").Check(keyword.Word).Default("none").Scopable()
	k.Size(&t.size, "size", "The most that the filesystem holds. By default it is half of the memory of the node.").Scopable().Eg("100m")
}

type bind struct {
	mounted

	dev string
}

func newBind(e resource.Env) *bind {
	b := &bind{mounted: mounted{env: e, typ: "bind"}}
	b.source = func() string { return b.dev }
	b.ours = func(p mount.Point) (bool, error) { return sameDirectory(b.dev, p.Dir) }
	b.more = func() (string, error) { return "bind", nil }
	return b
}

// Keywords implements [resource.Driver].
func (b *bind) Keywords(k *keyword.Table) {
	b.keywords(k)
	k.String(&b.dev, "dev", "The directory that is shown in another place, as an absolute name.").Required().Check(keyword.File).Scopable().Eg("/data/shop")
}
