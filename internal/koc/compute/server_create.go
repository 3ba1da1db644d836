package compute

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serverCreate() command.Command {
	flags := []command.Flag{
		{Name: "flavor", Value: "<flavor>", Required: true, Help: "Flavor of the server, by name or id", Complete: "flavor"},
		{Name: "image", Value: "<image>", Help: "Make the boot disk from this image, by name or id", Complete: "image"},
		{Name: "image-property", Value: "<key=value>", Type: command.KeyValue, Help: "Make the boot disk from an image with this property; repeat for more"},
		{Name: "volume", Value: "<volume>", Help: "Boot from this volume, by name or id", Complete: "volume"},
		{Name: "snapshot", Value: "<snapshot>", Help: "Boot from a volume made from this snapshot, by name or id", Complete: "volume snapshot"},
		{Name: "boot-from-volume", Value: "<volume-size>", Type: command.Int, Help: "Boot from a volume of so many GB that is made from the image"},
		{Name: "boot-volume-type", Value: "<volume-type>", Koc: true, Help: "Type of the volume of --boot-from-volume (microversion 2.67)", Complete: "volume type"},
		{Name: "block-device-mapping", Value: "<dev-name=mapping>", Repeat: true, Help: "Attach a block device in the old way: <name>=<id>:<type>:<size in GB>:<delete on termination>; repeat for more"},
		{Name: "block-device", Value: "<block-devices>", Repeat: true, Help: "Attach a block device: a file of JSON, or key=value,... with the keys uuid, source_type, destination_type, disk_bus, device_type, device_name, volume_size, guest_format, boot_index, delete_on_termination, tag and volume_type; repeat for more"},
		{Name: "swap", Value: "<swap>", Type: command.Int, Help: "Attach a swap disk of so many MiB"},
		{Name: "ephemeral", Value: "<size=size[,format=format]>", Type: command.Records, Keys: []string{"!size", "format"}, Help: "Attach an ephemeral disk of so many GiB; repeat for more"},
		{Name: "network", Value: "<network>", Repeat: true, Help: "Connect to this network, by name or id; repeat for more", Complete: "network"},
		{Name: "port", Value: "<port>", Repeat: true, Help: "Connect to this port, by name or id; repeat for more", Complete: "port"},
		{Name: "nic", Value: "<net-id=net-uuid,port-id=port-uuid,v4-fixed-ip=ip-addr,v6-fixed-ip=ip-addr,tag=tag,auto,none>", Repeat: true, Help: "Connect as described, or to a network that the service picks (auto), or to none; repeat for more"},
		{Name: "no-network", Koc: true, Help: "Connect to no network, as --nic none"},
		{Name: "auto-network", Koc: true, Help: "Connect to a network that the service picks, as --nic auto does"},
		{Name: "password", Value: "<password>", Help: "Password of the administrator in the guest"},
		{Name: "security-group", Value: "<security-group>", Repeat: true, Help: "Put the ports of the server into this security group, by name or id; repeat for more", Complete: "security group"},
		{Name: "no-security-group", Koc: true, Help: "Put the ports of the server into no security group"},
		{Name: "key-name", Value: "<key-name>", Help: "Keypair to put into the server", Complete: "keypair"},
		{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Set this property; repeat for more"},
		{Name: "file", Value: "<dest-filename=source-filename>", Repeat: true, Help: "Put this file into the image; repeat for more (microversion 2.56 or earlier)"},
		{Name: "user-data", Value: "<user-data>", Help: "File of user data that the metadata service gives to the server"},
		{Name: "description", Value: "<description>", Help: "Description (microversion 2.19)"},
		{Name: "availability-zone", Value: "<zone-name>", Help: "Availability zone, also as ZONE:HOST or ZONE:HOST:NODE for an administrator"},
		{Name: "host", Value: "<host>", Help: "Create it on this host (admin only, microversion 2.74)"},
		{Name: "hypervisor-hostname", Value: "<hypervisor-hostname>", Help: "Create it on this hypervisor (admin only, microversion 2.74)"},
		{Name: "server-group", Value: "<server-group>", Koc: true, Help: "Make it a member of this server group, by name or id", Complete: "server group"},
		{Name: "hint", Value: "<key=value>", Type: command.KeyList, Help: "Hint for the scheduler; repeat for more"},
		{Name: "use-config-drive", Help: "Give it a config drive"},
		{Name: "no-config-drive", Help: "Give it no config drive"},
		{Name: "config-drive", Value: "<config-drive-volume>|True", Optional: "True", Attached: true, Loose: []string{"True", "False"}, Help: "Give it a config drive, as --use-config-drive"},
		{Name: "min", Value: "<count>", Type: command.Int, Default: "1", Help: "Create at least so many servers (default 1)"},
		{Name: "max", Value: "<count>", Type: command.Int, Default: "1", Help: "Create at most so many servers (default 1)"},
		{Name: "tag", Value: "<tag>", Repeat: true, Help: "Tag it; repeat for more (microversion 2.52)"},
		{Name: "hostname", Value: "<hostname>", Help: "Hostname in the metadata service, instead of the name (microversion 2.90)"},
		{Name: "trusted-image-cert", Value: "<trusted-cert-id>", Repeat: true, Help: "Certificate that the signature of the image is checked by; repeat for more (microversion 2.63)"},
	}
	return command.Command{
		Short:  "Create a server",
		Args:   []command.Arg{{Name: "<server-name>", Help: "Name of the new server"}},
		Output: command.Created,
		Flags:  append(flags, noun.WaitFlags("the server is ACTIVE", 30*time.Minute)...),
		Exclusive: []string{
			"image image-property volume snapshot", "use-config-drive no-config-drive config-drive",
			"security-group no-security-group",
		},
		Run: createServer,
	}
}

// serverOrder is what a command line says of a new server, on the way to the
// body of the request.
type serverOrder struct {
	*servers
	image   string // id; "" for none
	flavor  string
	root    string // id of the volume or snapshot to boot from
	group   string
	secure  []string // ids of security groups
	nics    []nic
	devices []*device
	data    string // user data
	files   []any
}

func createServer(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	order := &serverOrder{servers: s}
	if err := order.read(); err != nil {
		return err
	}
	if err := order.resolve(ctx); err != nil {
		return err
	}
	created, err := s.ask(ctx, cloud.Request{Method: http.MethodPost, Path: "/servers", Body: order.body()})
	if err != nil {
		return err
	}
	return s.showCreated(ctx, created.Object("server"))
}

// showCreated shows a new server: what the creation alone tells, as the password,
// and what it has become since.
func (s *servers) showCreated(ctx context.Context, created noun.Object) error {
	c := s.c
	if c.Is("wait") {
		if _, err := s.settled(ctx, called(created, c.Text("<server-name>")), 30*time.Minute, "ACTIVE"); err != nil {
			if password := created.Text("adminPass"); password != "" {
				c.Notef("server %s, password of the administrator: %s\n", created.Text("id"), password)
			}
			return err
		}
		if c.Compat() {
			c.Printf("\n")
		}
	}
	now, err := s.get(ctx, created.Text("id"))
	if err != nil {
		c.Notef("the server is created, but could not be read: %v\n", err)
		return c.Show([]render.Field{
			{Name: "adminPass", Value: created.Get("adminPass")}, {Name: "id", Value: created.Get("id")}, {Name: "name", Value: c.Text("<server-name>")},
		})
	}
	for _, f := range now {
		created.Set(f.Name, f.Value)
	}
	return c.Show(s.fields(ctx, created))
}

// called is an object with a name.
func called(o noun.Object, name string) noun.Object {
	named := slices.Clone(o)
	named.Set("name", name)
	return named
}

// read checks the command line as far as that needs no cloud, and reads the files.
func (o *serverOrder) read() (err error) {
	c := o.c
	if err := o.checkVersions(); err != nil {
		return err
	}
	least, most := c.Int("min"), c.Int("max")
	if c.Given("min") && !c.Given("max") && !c.Compat() {
		most = max(least, most)
	}
	switch {
	case least < 1:
		return command.Reject("--min %d: must be 1 or more", least)
	case most < 1:
		return command.Reject("--max %d: must be 1 or more", most)
	case least > most:
		return command.Reject("--min %d is more than --max %d", least, most)
	case c.Given("boot-from-volume") && (c.Given("volume") || c.Given("snapshot")):
		return command.Reject("--boot-from-volume makes a volume from an image: it goes with neither --volume nor --snapshot")
	case c.Given("boot-from-volume") && !c.Given("image") && !c.Given("image-property"):
		return command.Reject("--boot-from-volume needs the image to make the volume from: give --image")
	case c.Given("boot-volume-type") && !c.Given("boot-from-volume"):
		return command.Reject("--boot-volume-type is the type of the volume of --boot-from-volume: give that too")
	case c.Given("trusted-image-cert") && (!c.Given("image") && !c.Given("image-property") || c.Given("boot-from-volume")):
		return command.Reject("--trusted-image-cert is for servers that boot from an image directly: give --image alone")
	}
	if o.devices, err = o.blockDevices(); err != nil {
		return err
	}
	if o.nics, err = o.readNICs(); err != nil {
		return err
	}
	if err := o.bootable(); err != nil {
		return err
	}
	for _, f := range c.Texts("file") {
		to, from, ok := strings.Cut(f, "=")
		if !ok || to == "" {
			return command.Reject("--file %q: expected PATH-IN-THE-SERVER=FILE", f)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		o.files = append(o.files, render.Ordered(object("path", to, "contents", base64.StdEncoding.EncodeToString(text))))
	}
	slices.SortStableFunc(o.files, func(a, b any) int { return strings.Compare(pathOf(a), pathOf(b)) })
	o.data, err = userData(c)
	return err
}

func pathOf(file any) string {
	f, _ := file.(render.Ordered)
	return noun.Object(f).Text("path")
}

// userData is the content of the file of --user-data, encoded.
func userData(c *command.Call) (string, error) {
	if c.Text("user-data") == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.Text("user-data"))
	if err != nil {
		return "", fmt.Errorf("--user-data: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}

func (o *serverOrder) checkVersions() error {
	if o.c.Given("file") {
		if err := o.until("2.56", "--file"); err != nil {
			return fmt.Errorf("%w; use --user-data instead", err)
		}
	}
	for _, f := range []struct{ version, flag string }{
		{"2.19", "description"},
		{"2.52", "tag"},
		{"2.63", "trusted-image-cert"},
		{"2.67", "boot-volume-type"},
		{"2.74", "host"},
		{"2.74", "hypervisor-hostname"},
		{"2.90", "hostname"},
	} {
		if !o.c.Given(f.flag) {
			continue
		}
		if o.c.Given("file") && olderVersion("2.56", f.version) {
			return command.Reject("--file goes with no --%s: the service has had no personality files since microversion 2.57", f.flag)
		}
		if err := o.needs(f.version, "--"+f.flag); err != nil {
			return err
		}
	}
	return nil
}

// bootable makes sure that there is something to boot from.
func (o *serverOrder) bootable() error {
	if slices.ContainsFunc([]string{"image", "image-property", "volume", "snapshot"}, o.c.Given) {
		return nil
	}
	if !o.c.Compat() {
		for _, d := range o.devices {
			if d.root() {
				return nil
			}
		}
	}
	return command.Reject("there is nothing to boot from: give one of --image, --image-property, --volume and --snapshot, or a --block-device with boot_index=0")
}

// resolve looks up all that the command line names, at the same time.
func (o *serverOrder) resolve(ctx context.Context) error {
	c := o.c
	group, ctx := errgroup.WithContext(ctx)
	look := func(n noun.Noun, ref string, into *string) {
		if ref == "" {
			return
		}
		group.Go(func() (err error) {
			*into, err = n.Resolve(ctx, c, ref)
			return err
		})
	}
	look(noun.Flavor(), c.Text("flavor"), &o.flavor)
	look(noun.Image(), c.Text("image"), &o.image)
	look(noun.Volume(), c.Text("volume"), &o.root)
	look(noun.Snapshot(), c.Text("snapshot"), &o.root)
	look(serverGroup(), c.Text("server-group"), &o.group)
	if c.Given("image-property") {
		group.Go(func() (err error) {
			o.image, err = imageWith(ctx, c, c.Pairs("image-property"))
			return err
		})
	}
	o.secure = c.Texts("security-group")
	for i, ref := range o.secure {
		look(noun.SecurityGroup(), ref, &o.secure[i])
	}
	for i := range o.nics {
		look(noun.Network(), o.nics[i].network, &o.nics[i].network)
		look(noun.Port(), o.nics[i].port, &o.nics[i].port)
	}
	for _, d := range o.devices {
		if n, known := d.source(); known {
			look(n, d.uuid, &d.uuid)
		}
	}
	return group.Wait()
}

// imageWith finds the first image that has all the properties.
func imageWith(ctx context.Context, c *command.Call, wanted []command.Pair) (string, error) {
	var found []string
	for o, err := range noun.Image().All(ctx, c, nil) {
		if err != nil {
			return "", fmt.Errorf("find an image by its properties: %w", err)
		}
		fits := true
		for _, p := range wanted {
			v, has := o.Lookup(p.Key)
			fits = fits && has && noun.Text(v) == p.Value
		}
		if fits {
			found = append(found, o.Text("id"))
		}
	}
	if len(found) == 0 {
		return "", errors.New("no images match the property expected by --image-property")
	}
	if len(found) > 1 {
		c.Notef("several images match: %s; the first is used\n", strings.Join(found, ", "))
	}
	return found[0], nil
}

// body is the request, in the shape of the older client library, which the
// service has known longest.
func (o *serverOrder) body() noun.Object {
	c := o.c
	image := o.image
	if c.Given("boot-from-volume") {
		image = ""
	}
	server := object("name", c.Text("<server-name>"), "imageRef", image, "flavorRef", o.flavor)
	set := func(name string, v any) {
		if v != nil {
			server.Set(name, v)
		}
	}
	if o.data != "" {
		set("user_data", o.data)
	}
	if pairs := properties(c, "property"); len(pairs) > 0 {
		set("metadata", pairs)
	}
	set("key_name", givenText(c, "key-name"))
	set("config_drive", configDrive(c))
	set("adminPass", givenText(c, "password"))
	least, most := c.Int("min"), c.Int("max")
	set("min_count", least)
	set("max_count", max(least, most))
	switch {
	case c.Is("no-security-group"):
		set("security_groups", []any{})
	case len(o.secure) > 0:
		groups := make([]any, len(o.secure))
		for i, id := range o.secure {
			groups[i] = render.Ordered(object("name", id))
		}
		set("security_groups", groups)
	}
	if len(o.files) > 0 {
		set("personality", o.files)
	}
	set("availability_zone", givenText(c, "availability-zone"))
	if disks := o.disks(image); len(disks) > 0 {
		set("block_device_mapping_v2", disks)
	}
	set("networks", o.networks())
	set("description", givenText(c, "description"))
	if tags := c.Texts("tag"); len(tags) > 0 {
		set("tags", listOf(tags))
	}
	if certs := c.Texts("trusted-image-cert"); len(certs) > 0 {
		set("trusted_image_certificates", listOf(certs))
	}
	for _, flag := range []string{"host", "hypervisor-hostname", "hostname"} {
		set(strings.ReplaceAll(flag, "-", "_"), givenText(c, flag))
	}
	body := object("server", render.Ordered(server))
	if hints := o.hints(); len(hints) > 0 {
		body.Set("os:scheduler_hints", hints)
	}
	return body
}

// hints gather the values of each key: one alone stands for itself.
func (o *serverOrder) hints() render.Ordered {
	var hints noun.Object
	for _, p := range o.c.Pairs("hint") {
		switch had := hints.Get(p.Key).(type) {
		case string:
			hints.Set(p.Key, []any{had, p.Value})
		case []any:
			hints.Set(p.Key, append(had, p.Value))
		default:
			hints.Set(p.Key, p.Value)
		}
	}
	if o.group != "" {
		hints.Set("group", o.group)
	}
	return render.Ordered(hints)
}

// configDrive is true, or the reference to a volume of old; nil is none.
func configDrive(c *command.Call) any {
	if c.Is("use-config-drive") {
		return true
	}
	switch text := c.Text("config-drive"); strings.ToLower(text) {
	case "true", "1":
		return true
	case "", "false", "0", "none":
		return nil
	default:
		return text
	}
}
