package image

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// retired are options of the first image API: they are refused with a reason.
func retired(names ...string) []command.Flag {
	var flags []command.Flag
	for _, name := range names {
		flags = append(flags, command.Flag{Name: name, Value: "<" + name + ">", Hidden: true, Help: "An option of the first image API, refused"})
	}
	return flags
}

func refuseRetired(c *command.Call, names ...string) error {
	for _, name := range names {
		if c.Given(name) {
			return command.Reject("--%s is an option of the first image API, which is gone", name)
		}
	}
	return nil
}

func imageCreate() command.Command {
	flags := []command.Flag{
		{Name: "id", Value: "<id>", Help: "Id to reserve for the image"},
		{Name: "container-format", Value: "<container-format>", Choices: containerFormats(), Default: "bare", Help: "Format of what the data is wrapped in"},
		{Name: "disk-format", Value: "<disk-format>", Choices: diskFormats(), Default: "raw", Help: "Format of the data"},
		{Name: "min-disk", Value: "<disk-gb>", Type: command.Int, Help: "Smallest disk that can hold the image, in GB"},
		{Name: "min-ram", Value: "<ram-mb>", Type: command.Int, Help: "Least memory that the image needs to run, in MB"},
		{Name: "file", Value: "<file>", Help: "File to upload; without it, the data is standard input when that is redirected; - is standard input"},
		{Name: "volume", Value: "<volume>", Help: "Make the image from this volume, by name or id", Complete: "volume"},
		{Name: "force", Help: "Make the image even when the volume is in use; with --volume"},
		{Name: "progress", Help: "Show how far the upload is"},
		{Name: "sign-key-path", Value: "<sign-key-path>", Help: "Sign the data with the private key in this file"},
		{Name: "sign-cert-id", Value: "<sign-cert-id>", Help: "Id, in the key manager, of the certificate that verifies the signature"},
		{Name: "protected", Help: "The image cannot be deleted"},
		{Name: "unprotected", Help: "The image can be deleted (the default)"},
	}
	flags = append(flags, visibilities()...)
	flags = append(flags,
		command.Flag{Name: "visibility", Value: "<visibility>", Choices: []string{"public", "private", "community", "shared"}, Koc: true, Help: "Who sees the image"},
		command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property of the image; repeatable"},
		command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag of the image; repeatable"},
		command.Flag{Name: "project", Value: "<project>", Help: "Project that owns the image, by name or id", Complete: "project"},
		noun.ProjectDomainFlag(),
		command.Flag{Name: "import", Help: "Upload by staging and importing, so that the service converts and checks the data"},
	)
	return command.Command{
		Short:     "Create an image, and upload its data",
		Args:      []command.Arg{{Name: "<image-name>", Help: "Name of the new image"}},
		Flags:     append(flags, retired("size", "location", "copy-from", "checksum", "store")...),
		Exclusive: []string{"file volume", "protected unprotected", "public private community shared visibility"},
		Output:    command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			if err := refuseRetired(c, "size", "location", "copy-from", "checksum", "store"); err != nil {
				return err
			}
			if c.Given("volume") {
				return createFromVolume(ctx, c)
			}
			return create(ctx, c)
		},
	}
}

func create(ctx context.Context, c *command.Call) error {
	sign := c.Given("sign-key-path") || c.Given("sign-cert-id")
	switch {
	case sign && !c.Given("file"):
		return command.Reject("signing an image needs --file: data from standard input cannot be signed")
	case sign && (c.Text("sign-key-path") == "" || c.Text("sign-cert-id") == ""):
		return command.Reject("--sign-key-path and --sign-cert-id go together")
	}
	data, err := open(c)
	if err != nil {
		return err
	}
	if data != nil {
		defer data.Close()
	}
	body := noun.Object{{Name: "name", Value: c.Text("<image-name>")}}
	put := func(name string, v any) { body.Set(name, v) }
	put("container_format", c.Text("container-format"))
	put("disk_format", c.Text("disk-format"))
	for flag, attr := range map[string]string{"min-disk": "min_disk", "min-ram": "min_ram"} {
		if c.Given(flag) {
			put(attr, c.Int(flag))
		}
	}
	if c.Given("id") {
		put("id", c.Text("id"))
	}
	if v := visibility(c); v != "" {
		put("visibility", v)
	} else if c.Given("visibility") {
		put("visibility", c.Text("visibility"))
	}
	if c.Is("protected") || c.Is("unprotected") {
		put("protected", c.Is("protected"))
	}
	if tags := c.Texts("tag"); len(tags) > 0 {
		put("tags", tags)
	}
	if c.Given("project") {
		id, err := noun.ProjectID(ctx, c)
		if err != nil {
			return err
		}
		put("owner", id)
	}
	for _, p := range c.Pairs("property") {
		put(p.Key, p.Value)
	}
	if sign {
		if err := signed(c, data, &body); err != nil {
			return err
		}
	}
	begun := ctx
	if data != nil {
		// What is interrupted here is an image without data: its id must be known.
		var cancel func()
		begun, cancel = outlasting(ctx, 5*time.Second)
		defer cancel()
	}
	o, err := images().Send(begun, c, cloud.Request{Method: http.MethodPost, Path: "/images", Body: body})
	if err != nil {
		return err
	}
	id := o.Text("id")
	if data != nil {
		switch err := data.upload(ctx, c, o); {
		case errors.Is(err, errImporting):
			return err
		case err != nil && ctx.Err() != nil:
			return discard(ctx, c, id)
		case err != nil:
			return fmt.Errorf("the image %s was created, but not its data: %w: upload again with \"image stage\" and \"image import\", or delete it", id, err)
		}
		if o, err = images().Get(ctx, c, id); err != nil {
			return err
		}
	}
	return c.Show(noun.ImageFields(o, false))
}

// outlasting is a context that ends some time after another one does.
func outlasting(ctx context.Context, d time.Duration) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(d, cancel)
		context.AfterFunc(longer, func() { late.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// discard deletes an image whose upload was interrupted.
func discard(interrupted context.Context, c *command.Call, id string) error {
	if !c.Compat() {
		c.Notef("koc: interrupted: the image %s has no data, and is deleted\n", id) // for who does not wait
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(interrupted), 10*time.Second)
	defer cancel()
	service, err := c.Cloud.Service(ctx, "image")
	if err == nil {
		err = service.Do(ctx, cloud.Request{Method: http.MethodDelete, Path: "/images/" + url.PathEscape(id), Once: true})
	}
	if err != nil && !noun.IsNotFound(err) {
		remedy := "'image delete " + id + "'"
		if c.Is("protected") {
			remedy = "'image set --unprotected " + id + "' and " + remedy
		}
		return command.Undone(fmt.Errorf("upload %w: the image %s was created, has no data and could not be deleted: %w: remove it with %s", interrupted.Err(), id, err, remedy))
	}
	return command.Undone(fmt.Errorf("upload %w: the image %s, which had no data, was deleted", interrupted.Err(), id))
}

// createFromVolume lets the block storage service upload a volume.
func createFromVolume(ctx context.Context, c *command.Call) error {
	for _, flag := range []string{"id", "min-disk", "min-ram", "progress", "sign-key-path", "sign-cert-id", "property", "tag", "project", "import"} {
		if c.Given(flag) {
			c.Notef("--%s has no effect on an image made from a volume\n", flag)
		}
	}
	volume, err := noun.Volume().Resolve(ctx, c, c.Text("volume"))
	if err != nil {
		return err
	}
	s, err := c.Cloud.Service(ctx, "volume")
	if err != nil {
		return err
	}
	in := noun.Object{
		{Name: "force", Value: c.Is("force")},
		{Name: "image_name", Value: c.Text("<image-name>")},
		{Name: "container_format", Value: c.Text("container-format")},
		{Name: "disk_format", Value: c.Text("disk-format")},
	}
	seen := visibility(c)
	if seen == "" {
		seen = c.Text("visibility")
	}
	if seen != "" || c.Is("protected") || c.Is("unprotected") {
		if s.Pinned() && s.Microversion == "3.0" {
			return command.Reject("--public, --private, --community, --shared and --protected need --os-volume-api-version 3.1 or later with --volume")
		}
		if seen == "" {
			seen = "private"
		}
		in.Set("visibility", seen)
		in.Set("protected", c.Is("protected"))
		s = s.Default("3.1")
	}
	var out noun.Object
	r := cloud.Request{
		Method: http.MethodPost, Path: "/volumes/" + url.PathEscape(volume) + "/action",
		Body: noun.Object{{Name: "os-volume_upload_image", Value: render.Ordered(in)}}, Into: &out,
	}
	if err := s.Do(ctx, r); err != nil {
		return err
	}
	info := out.Object("os-volume_upload_image")
	fields := make([]render.Field, 0, len(info))
	for _, f := range info {
		if typ, ok := f.Value.(render.Ordered); ok && f.Name == "volume_type" {
			f.Value = noun.Object(typ).Get("name")
		}
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b render.Field) int { return strings.Compare(a.Name, b.Name) })
	return c.Show(fields)
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// pointer is an attribute as a JSON pointer.
func pointer(attr string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(attr)
}

func patch(ctx context.Context, c *command.Call, id string, steps []any) error {
	if len(steps) == 0 {
		return nil
	}
	_, err := images().Send(ctx, c, cloud.Request{
		Method: http.MethodPatch, Path: "/images/" + id, Body: steps,
		Header: http.Header{"Content-Type": {"application/openstack-images-v2.1-json-patch"}},
	})
	return err
}

func imageSet() command.Command {
	flags := []command.Flag{
		{Name: "name", Value: "<name>", Help: "New name"},
		{Name: "min-disk", Value: "<disk-gb>", Type: command.Int, Help: "Smallest disk that can hold the image, in GB"},
		{Name: "min-ram", Value: "<ram-mb>", Type: command.Int, Help: "Least memory that the image needs to run, in MB"},
		{Name: "container-format", Value: "<container-format>", Choices: containerFormats(), Help: "Format of what the data is wrapped in"},
		{Name: "disk-format", Value: "<disk-format>", Choices: diskFormats(), Help: "Format of the data"},
		{Name: "protected", Help: "The image cannot be deleted"},
		{Name: "unprotected", Help: "The image can be deleted"},
	}
	flags = append(flags, visibilities()...)
	flags = append(flags,
		command.Flag{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Property to set; repeatable"},
		command.Flag{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag to add; repeatable"},
		command.Flag{Name: "architecture", Value: "<architecture>", Help: "Architecture of the operating system"},
		command.Flag{Name: "instance-id", Value: "<instance-id>", Also: []string{"instance-uuid"}, Help: "Server that the image was made from"},
		command.Flag{Name: "kernel-id", Value: "<kernel-id>", Help: "Image of the kernel that boots this one"},
		command.Flag{Name: "os-distro", Value: "<os-distro>", Help: "Name of the distribution of the operating system"},
		command.Flag{Name: "os-version", Value: "<os-version>", Help: "Version of the distribution of the operating system"},
		command.Flag{Name: "ramdisk-id", Value: "<ramdisk-id>", Help: "Image of the initial memory disk that boots this one"},
		command.Flag{Name: "deactivate", Help: "Refuse downloads of the data"},
		command.Flag{Name: "activate", Help: "Allow downloads of the data again"},
		command.Flag{Name: "project", Value: "<project>", Help: "Project that owns the image from now on, by name or id; with --accept, --reject and --pending, the member", Complete: "project"},
		noun.ProjectDomainFlag(),
		command.Flag{Name: "accept", Help: "Accept the membership of the image: it shows in the lists of the project"},
		command.Flag{Name: "reject", Help: "Refuse the membership of the image"},
		command.Flag{Name: "pending", Help: "Take back what was said about the membership"},
		command.Flag{Name: "hidden", Help: "Leave the image out of lists"},
		command.Flag{Name: "unhidden", Help: "Show the image in lists again"},
	)
	return command.Command{
		Short:     "Change an image",
		Args:      []command.Arg{ref("change")},
		Flags:     append(flags, retired("visibility")...),
		Exclusive: []string{"protected unprotected", "public private community shared", "deactivate activate", "accept reject pending", "hidden unhidden"},
		Run:       runSet,
	}
}

func runSet(ctx context.Context, c *command.Call) error {
	if err := refuseRetired(c, "visibility"); err != nil {
		return err
	}
	o, err := images().Find(ctx, c, c.Text("<image>"), nil)
	if err != nil {
		return err
	}
	id := o.Text("id")
	project, err := noun.ProjectID(ctx, c)
	if err != nil {
		return err
	}
	membership := ""
	for flag, status := range map[string]string{"accept": "accepted", "reject": "rejected", "pending": "pending"} {
		if c.Is(flag) {
			membership = status
		}
	}
	steps := changes(c, o)
	if project != "" && membership == "" {
		steps = append(steps, operation{"replace", "/owner", project})
	}
	for flag, action := range map[string]string{"deactivate": "deactivate", "activate": "reactivate"} {
		if c.Is(flag) {
			if _, err := images().Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: "/images/" + id + "/actions/" + action}); err != nil {
				return err
			}
		}
	}
	if membership != "" {
		if project == "" {
			token, err := c.Cloud.Token(ctx)
			if err != nil {
				return err
			}
			project = token.ProjectID
		}
		if err := setMember(ctx, c, id, project, membership); err != nil {
			return err
		}
	}
	return patch(ctx, c, id, steps)
}

// changes are the steps that bring an image to what the flags ask for.
func changes(c *command.Call, o noun.Object) []any {
	var steps []any
	put := func(attr string, v any) {
		op := "add" // which also replaces
		if _, known := o.Lookup(attr); known {
			op = "replace"
		}
		steps = append(steps, operation{op, pointer(attr), v})
	}
	for _, flag := range []string{"name", "container-format", "disk-format", "architecture", "instance-id", "kernel-id", "os-distro", "os-version", "ramdisk-id"} {
		if c.Given(flag) {
			put(strings.ReplaceAll(flag, "-", "_"), c.Text(flag))
		}
	}
	for _, flag := range []string{"min-disk", "min-ram"} {
		if c.Given(flag) {
			put(strings.ReplaceAll(flag, "-", "_"), c.Int(flag))
		}
	}
	if c.Is("protected") || c.Is("unprotected") {
		put("protected", c.Is("protected"))
	}
	if c.Is("hidden") || c.Is("unhidden") {
		put("os_hidden", c.Is("hidden"))
	}
	if v := visibility(c); v != "" {
		put("visibility", v)
	}
	for _, p := range c.Pairs("property") {
		put(p.Key, p.Value)
	}
	if tags := c.Texts("tag"); len(tags) > 0 {
		all := o.Texts("tags")
		for _, tag := range tags {
			if !slices.Contains(all, tag) {
				all = append(all, tag)
			}
		}
		put("tags", all)
	}
	return steps
}

func imageUnset() command.Command {
	return command.Command{
		Short: "Take tags and properties off an image",
		Args:  []command.Arg{ref("change")},
		Flags: []command.Flag{
			{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag to take off; repeatable"},
			{Name: "property", Value: "<property-key>", Repeat: true, Help: "Property to take off; repeatable"},
		},
		Run: func(ctx context.Context, c *command.Call) error {
			o, err := images().Find(ctx, c, c.Text("<image>"), nil)
			if err != nil {
				return err
			}
			id := o.Text("id")
			var failed []string
			tags := 0
			for _, tag := range c.Texts("tag") {
				_, err := images().Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: "/images/" + id + "/tags/" + url.PathEscape(tag)})
				switch {
				case noun.IsNotFound(err):
					failed = append(failed, fmt.Sprintf("the image has no tag %q", tag))
					tags++
				case err != nil:
					return err
				}
			}
			var steps []any
			properties := 0
			for _, name := range c.Texts("property") {
				if _, known := o.Lookup(name); !known {
					failed = append(failed, fmt.Sprintf("the image has no property %q", name))
					properties++
					continue
				}
				steps = append(steps, operation{Op: "remove", Path: pointer(name)})
			}
			if err := patch(ctx, c, id, steps); err != nil {
				return err
			}
			if tags > 0 {
				failed = append(failed, fmt.Sprintf("Failed to unset %d of %d tags.", tags, len(c.Texts("tag"))))
			}
			if properties > 0 {
				failed = append(failed, fmt.Sprintf("Failed to unset %d of %d properties.", properties, len(c.Texts("property"))))
			}
			if len(failed) > 0 {
				return fmt.Errorf("%s", strings.Join(failed, "\n"))
			}
			return nil
		},
	}
}
