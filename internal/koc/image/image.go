// Package image has the commands of the image service, Glance.
package image

import (
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// Commands are all commands of the service.
func Commands() []command.Entry {
	return append([]command.Entry{
		{Name: "image list", Build: imageList},
		{Name: "image show", Build: imageShow},
		{Name: "image create", Build: imageCreate},
		{Name: "image set", Build: imageSet},
		{Name: "image unset", Build: imageUnset},
		{Name: "image delete", Build: imageDelete},
		{Name: "image save", Build: imageSave},
		{Name: "image stage", Build: imageStage},
		{Name: "image import", Build: imageImport},
		{Name: "image import info", Build: importInfo},
		{Name: "image stores list", Build: storesList},
		{Name: "image add project", Build: memberAdd},
		{Name: "image remove project", Build: memberRemove},
		{Name: "image member list", Build: memberList},
		{Name: "image member get", Build: memberGet},
		{Name: "image member set", Build: memberSet},
		{Name: "image task list", Build: taskList},
		{Name: "image task show", Build: taskShow},
		{Name: "cached image list", Build: cachedList},
		{Name: "cached image queue", Build: cachedQueue},
		{Name: "cached image delete", Build: cachedDelete},
		{Name: "cached image clear", Build: cachedClear},
	}, metadefCommands()...)
}

func images() noun.Noun { return noun.Image() }

// ref is the argument that names an image.
func ref(verb string) command.Arg {
	return command.Arg{Name: "<image>", Help: "The image to " + verb + ", by name or id", Complete: "image"}
}

func containerFormats() []string {
	return []string{"ami", "ari", "aki", "bare", "compressed", "docker", "ova", "ovf"}
}

func diskFormats() []string {
	return []string{"ami", "ari", "aki", "vhd", "vmdk", "raw", "qcow2", "vhdx", "vdi", "iso", "ploop"}
}

// visibilities are the flags that say who sees an image.
func visibilities() []command.Flag {
	return []command.Flag{
		{Name: "public", Help: "The image is visible to all projects"},
		{Name: "private", Help: "The image is visible to its own project alone"},
		{Name: "community", Help: "The image is usable by all projects, and not in their lists"},
		{Name: "shared", Help: "The image is visible to the projects it is shared with"},
	}
}

// visibility is the one that was given, "" for none.
func visibility(c *command.Call) string {
	for _, name := range []string{"public", "private", "community", "shared", "all"} {
		if c.Declares(name) && c.Is(name) {
			return name
		}
	}
	return ""
}
