package compute

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// device is a block device of a new server that was described by its parts.
type device struct {
	uuid string // a name or id at first
	body noun.Object
}

// root reports whether the server boots from the device.
func (d *device) root() bool { return noun.Text(d.body.Get("boot_index")) == "0" }

// source is the kind of thing the device is made from, where it is looked up by
// name. Devices of --block-device name it by its id.
func (d *device) source() (noun.Noun, bool) {
	if d.uuid == "" {
		return noun.Noun{}, false
	}
	switch d.body.Text("source_type") {
	case "volume":
		return noun.Volume(), true
	case "snapshot":
		return noun.Snapshot(), true
	case "image":
		return noun.Image(), true
	}
	return noun.Noun{}, false
}

// blockDevices reads --block-device-mapping and --block-device.
func (o *serverOrder) blockDevices() ([]*device, error) {
	var devices []*device
	for _, text := range o.c.Texts("block-device-mapping") {
		d, err := oldDevice(text)
		if err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	for _, text := range o.c.Texts("block-device") {
		body, err := readDevice(text)
		if err == nil {
			err = o.completeDevice(&body)
		}
		if err != nil {
			return nil, err
		}
		devices = append(devices, &device{body: body})
	}
	return devices, nil
}

// oldDevice reads NAME=ID[:TYPE[:SIZE[:DELETE]]].
func oldDevice(text string) (*device, error) {
	name, rest, _ := strings.Cut(text, "=")
	parts := strings.Split(rest, ":")
	if name == "" || rest == "" || len(parts) > 4 {
		return nil, command.Reject("--block-device-mapping %q: expected NAME=ID[:TYPE[:SIZE[:DELETE-ON-TERMINATION]]]", text)
	}
	d := &device{uuid: parts[0], body: object("device_name", name, "uuid", parts[0], "source_type", "volume", "destination_type", "volume")}
	for i, part := range parts {
		switch {
		case part == "":
		case i == 1:
			if !slices.Contains([]string{"volume", "snapshot", "image"}, part) {
				return nil, command.Reject("--block-device-mapping %q: the type is one of volume, snapshot, image", text)
			}
			d.body.Set("source_type", part)
		case i == 2:
			d.body.Set("volume_size", part)
		case i == 3:
			d.body.Set("delete_on_termination", part)
		}
	}
	return d, nil
}

// readDevice reads a device: from the file of JSON that is named, or key=value,...
func readDevice(text string) (noun.Object, error) {
	var body noun.Object
	if data, err := os.ReadFile(text); err == nil {
		if err := body.UnmarshalJSON(data); err != nil {
			return nil, command.Reject("--block-device %s: %v", text, err)
		}
	} else {
		for part := range strings.SplitSeq(text, ",") {
			key, value, ok := strings.Cut(part, "=")
			if !ok || key == "" {
				return nil, command.Reject("--block-device %q: expected key=value,... or the name of a file; %q is neither", text, part)
			}
			body.Set(key, value)
		}
	}
	keys := strings.Fields("uuid source_type destination_type disk_bus device_type device_name volume_size guest_format boot_index delete_on_termination tag volume_type")
	for _, f := range body {
		if !slices.Contains(keys, f.Name) {
			return nil, command.Reject("--block-device: %q is not known; the keys are %s", f.Name, strings.Join(keys, ", "))
		}
	}
	return body, nil
}

// completeDevice checks a device and fills in what follows from the rest.
func (o *serverOrder) completeDevice(body *noun.Object) error {
	if v, has := body.Lookup("boot_index"); has {
		n, err := strconv.Atoi(noun.Text(v))
		if err != nil {
			return command.Reject("--block-device: boot_index %q is no integer", noun.Text(v))
		}
		body.Set("boot_index", n)
	}
	for _, f := range []struct{ version, key string }{{"2.42", "tag"}, {"2.67", "volume_type"}} {
		if _, has := body.Lookup(f.key); has {
			if err := o.needs(f.version, "the "+f.key+" of --block-device"); err != nil {
				return err
			}
		}
	}
	source, destination := body.Text("source_type"), body.Text("destination_type")
	switch {
	case source == "":
		source = "blank"
		body.Set("source_type", source)
	case !slices.Contains([]string{"volume", "image", "snapshot", "blank"}, source):
		return command.Reject("--block-device: source_type %q is none of volume, image, snapshot, blank", source)
	}
	switch {
	case destination == "" && source == "blank":
		destination = "local"
		body.Set("destination_type", destination)
	case destination == "":
		destination = "volume"
		body.Set("destination_type", destination)
	case destination != "local" && destination != "volume":
		return command.Reject("--block-device: destination_type %q is neither local nor volume", destination)
	}
	v, has := body.Lookup("delete_on_termination")
	if !has {
		if destination == "local" {
			body.Set("delete_on_termination", true)
		}
		return nil
	}
	kept := truth(noun.Text(v))
	if kept == unclear {
		return command.Reject("--block-device: delete_on_termination %q is no boolean", noun.Text(v))
	}
	body.Set("delete_on_termination", kept == yes)
	return nil
}

// disks are the block devices as the service takes them; image is what the
// server boots from directly.
func (o *serverOrder) disks(image string) []any {
	c := o.c
	var disks []any
	add := func(pairs ...any) { disks = append(disks, render.Ordered(object(pairs...))) }
	switch {
	case c.Given("volume"):
		add("uuid", o.root, "boot_index", "0", "source_type", "volume", "destination_type", "volume")
	case c.Given("snapshot"):
		add("uuid", o.root, "boot_index", "0", "source_type", "snapshot", "destination_type", "volume", "delete_on_termination", false)
	case c.Given("boot-from-volume"):
		add("uuid", o.image, "boot_index", "0", "source_type", "image", "destination_type", "volume", "volume_size", c.Int("boot-from-volume"),
			"volume_type", givenText(c, "boot-volume-type"))
	}
	if size := c.Int("swap"); size != 0 {
		add("boot_index", -1, "source_type", "blank", "destination_type", "local", "guest_format", "swap", "volume_size", size, "delete_on_termination", true)
	}
	for _, record := range c.Records("ephemeral") {
		var format any
		if f, has := record["format"]; has {
			format = f
		}
		add("boot_index", -1, "source_type", "blank", "destination_type", "local", "delete_on_termination", true, "volume_size", record["size"], "guest_format", format)
	}
	for _, d := range o.devices {
		if d.uuid != "" {
			d.body.Set("uuid", d.uuid)
		}
		disks = append(disks, render.Ordered(d.body))
	}
	if image != "" && len(disks) > 0 {
		disks = append([]any{render.Ordered(object("uuid", image, "source_type", "image", "destination_type", "local", "boot_index", 0, "delete_on_termination", true))}, disks...)
	}
	return disks
}
