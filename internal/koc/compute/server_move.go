package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// serverMoveCommands put servers elsewhere, or something else in their place.
func serverMoveCommands() []command.Entry {
	confirm := func() command.Command { return resizeEnd("Confirm a resize or migration", "confirmResize") }
	revert := func() command.Command { return resizeEnd("Revert a resize or migration", "revertResize") }
	return []command.Entry{
		{Name: "server evacuate", Build: serverEvacuate},
		{Name: "server migrate", Build: serverMigrate},
		{Name: "server migrate confirm", Build: confirm},
		{Name: "server migrate revert", Build: revert},
		{Name: "server rebuild", Build: serverRebuild},
		{Name: "server rescue", Build: serverRescue},
		{Name: "server resize", Build: serverResize},
		{Name: "server resize confirm", Build: confirm},
		{Name: "server resize revert", Build: revert},
	}
}

// moveTimeout is what a move may take: the memory or the disk of a server goes
// through a network.
const moveTimeout = time.Hour

// wait waits when --wait was given.
func (s *servers) wait(ctx context.Context, o noun.Object, timeout time.Duration, statuses ...string) error {
	if !s.c.Is("wait") {
		return nil
	}
	if _, err := s.settled(ctx, o, timeout, statuses...); err != nil {
		return err
	}
	complete(s.c)
	return nil
}

// resizeEnd confirms or reverts.
func resizeEnd(short, action string) command.Command {
	return command.Command{
		Short: short,
		Args:  []command.Arg{serverArg("change")},
		Flags: noun.WaitFlags("the server is ACTIVE or SHUTOFF again", moveTimeout),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			if err := s.act(ctx, o.Text("id"), action, nil); err != nil {
				return err
			}
			return s.wait(ctx, o, moveTimeout, "ACTIVE", "SHUTOFF")
		},
	}
}

func serverResize() command.Command {
	return command.Command{
		Short: "Give a server another flavor",
		Long: "A resize makes a new server beside the old one and copies the disk. Confirm it, and the old one is released; " +
			"revert it, and the old one starts again.",
		Args: []command.Arg{serverArg("resize")},
		Flags: append([]command.Flag{
			{Name: "flavor", Value: "<flavor>", Help: "The new flavor, by name or id", Complete: "flavor"},
			{Name: "confirm", Help: "Confirm the resize"},
			{Name: "revert", Help: "Revert the resize"},
		}, noun.WaitFlags("the resize can be confirmed", moveTimeout)...),
		Exclusive: []string{"flavor confirm revert"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			if !c.Given("flavor") && !c.Is("confirm") && !c.Is("revert") && !c.Compat() {
				return command.Reject("nothing to do: give one of --flavor, --confirm and --revert")
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			id := o.Text("id")
			switch {
			case c.Is("confirm"):
				return s.act(ctx, id, "confirmResize", nil)
			case c.Is("revert"):
				return s.act(ctx, id, "revertResize", nil)
			case !c.Given("flavor"):
				return nil
			}
			flavor, err := noun.Flavor().Resolve(ctx, c, c.Text("flavor"))
			if err != nil {
				return err
			}
			if err := s.act(ctx, id, "resize", object("flavorRef", flavor)); err != nil {
				return err
			}
			return s.wait(ctx, o, moveTimeout, "ACTIVE", "VERIFY_RESIZE")
		},
	}
}

func serverMigrate() command.Command {
	return command.Command{
		Short: "Move a server to another host",
		Long: "Without --live-migration the server is shut down, as in a resize to its own flavor: the migration waits to be confirmed or reverted. " +
			"With it the server goes on.",
		Args: []command.Arg{serverArg("move")},
		Flags: append([]command.Flag{
			{Name: "live-migration", Help: "Move it while it runs"},
			{Name: "host", Value: "<hostname>", Help: "Move it to this host (microversion 2.30 with --live-migration, else 2.56)"},
			{Name: "shared-migration", Help: "Its disks are on storage that both hosts reach; without this and --block-migration the service finds out (from microversion 2.25)"},
			{Name: "block-migration", Help: "Copy its disks too"},
			{Name: "disk-overcommit", Help: "Promise more disk than the other host has (microversion 2.24 or earlier)"},
			{Name: "no-disk-overcommit", Help: "Do not promise more disk than the other host has, as is the default"},
		}, noun.WaitFlags("the server is there", moveTimeout)...),
		Exclusive: []string{"shared-migration block-migration", "disk-overcommit no-disk-overcommit"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			action, body, err := s.migration()
			if err != nil {
				return err
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			if err := s.act(ctx, o.Text("id"), action, body); err != nil {
				return err
			}
			return s.wait(ctx, o, moveTimeout, "ACTIVE", "VERIFY_RESIZE")
		},
	}
}

// migration is the action of a migration as the flags describe it.
func (s *servers) migration() (action string, body any, err error) {
	c := s.c
	if !c.Is("live-migration") {
		if c.Is("block-migration") || c.Is("shared-migration") && !c.Compat() || c.Is("disk-overcommit") {
			return "", nil, command.Reject("--block-migration, --shared-migration and --disk-overcommit are for live migrations: give --live-migration")
		}
		if !c.Given("host") {
			return "migrate", nil, nil
		}
		if err := s.needs("2.56", "--host without --live-migration"); err != nil {
			return "", nil, err
		}
		return "migrate", object("host", c.Text("host")), nil
	}
	if c.Given("host") {
		if err := s.needs("2.30", "--host"); err != nil {
			return "", nil, err
		}
	}
	live := noun.Object{{Name: "host", Value: givenText(c, "host")}}
	automatic := s.atLeast("2.25")
	switch {
	case c.Is("block-migration"):
		live.Set("block_migration", true)
	case c.Is("shared-migration") || !automatic:
		live.Set("block_migration", false)
	default:
		live.Set("block_migration", "auto")
	}
	if !automatic {
		live.Set("disk_over_commit", c.Is("disk-overcommit"))
	} else if c.Is("disk-overcommit") || c.Is("no-disk-overcommit") {
		c.Notef("--disk-overcommit and --no-disk-overcommit are left out: the service has not known them since microversion 2.25\n")
	}
	return "os-migrateLive", live, nil
}

func serverEvacuate() command.Command {
	return command.Command{
		Short: "Build a server of a host that has failed again elsewhere",
		Long: "The compute service of the host must be down. A root disk on shared storage or on a volume is kept; any other is made from the image again. " +
			"Make sure that the server runs no more on the host that failed.",
		Args:   []command.Arg{serverArg("evacuate")},
		Output: command.Created,
		Flags: append([]command.Flag{
			{Name: "host", Value: "<host>", Help: "Build it on this host (microversion 2.29)"},
			{Name: "password", Value: "<password>", Help: "New password of the administrator in the guest"},
			{Name: "shared-storage", Help: "The disks of the server are on storage that both hosts reach (microversion 2.13 or earlier)"},
			{Name: "preserve-ephemeral", Koc: true, Help: "Keep the ephemeral disks (KeyStack)"},
		}, noun.WaitFlags("the server is ACTIVE or SHUTOFF again", moveTimeout)...),
		Exclusive: []string{"password shared-storage"},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			if c.Is("shared-storage") {
				if err := s.until("2.13", "--shared-storage"); err != nil {
					return err
				}
			}
			if err := s.needsGiven("2.29", "host"); err != nil {
				return err
			}
			if c.Is("shared-storage") && s.atLeast("2.14") {
				return command.Reject("--shared-storage goes with no --host: the service has not known it since microversion 2.14")
			}
			return s.evacuate(ctx)
		},
	}
}

func (s *servers) evacuate(ctx context.Context) error {
	c := s.c
	o, err := s.full(ctx, c.Text("<server>"))
	if err != nil {
		return err
	}
	body := object("host", givenText(c, "host"), "adminPass", givenText(c, "password"))
	if !s.atLeast("2.14") {
		body.Set("onSharedStorage", c.Is("shared-storage"))
	}
	if c.Is("preserve-ephemeral") {
		body.Set("preserve_ephemeral", true)
	}
	err = s.act(ctx, o.Text("id"), "evacuate", body)
	if c.Is("preserve-ephemeral") {
		err = keystack(err, "preserve_ephemeral")
	}
	if err != nil {
		return err
	}
	if err := s.wait(ctx, o, moveTimeout, "ACTIVE", "SHUTOFF"); err != nil {
		return err
	}
	if o, err = s.get(ctx, o.Text("id")); err != nil {
		return err
	}
	return c.Show(s.fields(ctx, o))
}

func serverRescue() command.Command {
	return command.Command{
		Short: "Boot a server from another image, its own disk beside",
		Args:  []command.Arg{serverArg("rescue")},
		Flags: append([]command.Flag{
			{Name: "image", Value: "<image>", Help: "The image to boot from, by name or id; else that of the server", Complete: "image"},
			{Name: "password", Value: "<password>", Help: "Password of the administrator in the rescue system"},
		}, noun.WaitFlags("the server is in rescue mode", 10*time.Minute)...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			image := ""
			if c.Given("image") {
				if image, err = noun.Image().Resolve(ctx, c, c.Text("image")); err != nil {
					return err
				}
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			body := object("adminPass", givenText(c, "password"))
			if image != "" {
				body.Set("rescue_image_ref", image)
			}
			var what any
			if len(body) > 0 {
				what = body
			}
			answer, err := s.actFor(ctx, o.Text("id"), "rescue", what)
			if err != nil {
				return err
			}
			if password := answer.Text("adminPass"); password != "" && !c.Compat() && !c.Given("password") {
				c.Notef("password of the administrator in the rescue system: %s\n", password)
			}
			if c.Is("wait") {
				_, err = s.settled(ctx, o, 10*time.Minute, "RESCUE")
			}
			return err
		},
	}
}

func serverRebuild() command.Command {
	return command.Command{
		Short:  "Make the disk of a server anew from an image",
		Args:   []command.Arg{serverArg("rebuild")},
		Output: command.Created,
		Flags: append([]command.Flag{
			{Name: "image", Value: "<image>", Help: "The image, by name or id; else that of the server", Complete: "image"},
			{Name: "name", Value: "<name>", Help: "New name"},
			{Name: "password", Value: "<password>", Help: "New password of the administrator in the guest"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Have this property and no others but those given; repeat for more"},
			{Name: "description", Value: "<description>", Help: "New description (microversion 2.19)"},
			{Name: "preserve-ephemeral", Help: "Keep the ephemeral disks"},
			{Name: "no-preserve-ephemeral", Help: "Do not keep the ephemeral disks, as is the default"},
			{Name: "key-name", Value: "<key-name>", Help: "New keypair (microversion 2.54)", Complete: "keypair"},
			{Name: "no-key-name", Also: []string{"key-unset"}, Help: "Have no keypair any more (microversion 2.54)"},
			{Name: "user-data", Value: "<user-data>", Help: "File of new user data (microversion 2.57)"},
			{Name: "no-user-data", Help: "Have no user data any more (microversion 2.57)"},
			{Name: "trusted-image-cert", Value: "<trusted-cert-id>", Repeat: true, Help: "Certificate that the signature of the image is checked by; repeat for more (microversion 2.63)"},
			{Name: "no-trusted-image-certs", Help: "Check the image by no certificates any more (microversion 2.63)"},
			{Name: "hostname", Value: "<hostname>", Help: "New hostname in the metadata service (microversion 2.90)"},
			{Name: "reimage-boot-volume", Koc: true, Help: "Make the volume that the server boots from anew (microversion 2.93)"},
			{Name: "no-reimage-boot-volume", Koc: true, Help: "Fail for a server that boots from a volume"},
		}, noun.WaitFlags("the server is ACTIVE or SHUTOFF again", 30*time.Minute)...),
		Exclusive: []string{
			"preserve-ephemeral no-preserve-ephemeral", "key-name no-key-name", "user-data no-user-data",
			"trusted-image-cert no-trusted-image-certs", "reimage-boot-volume no-reimage-boot-volume",
		},
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			return s.rebuild(ctx)
		},
	}
}

func (s *servers) rebuild(ctx context.Context) error {
	c := s.c
	body, err := s.rebuildBody()
	if err != nil {
		return err
	}
	o, err := s.full(ctx, c.Text("<server>"))
	if err != nil {
		return err
	}
	image := o.Text("image.id")
	switch {
	case c.Given("image"):
		if image, err = noun.Image().Resolve(ctx, c, c.Text("image")); err != nil {
			return err
		}
	case image == "":
		return fmt.Errorf("server %q boots from a volume and has no image of its own: give --image", c.Text("<server>"))
	}
	body = append(noun.Object{{Name: "imageRef", Value: image}}, body...)
	rebuilt, err := s.actFor(ctx, o.Text("id"), "rebuild", body)
	if err != nil {
		return err
	}
	if err := s.wait(ctx, o, 30*time.Minute, "ACTIVE", "SHUTOFF"); err != nil {
		return err
	}
	rebuilt = rebuilt.Object("server")
	if c.Is("wait") && !c.Compat() {
		if now, err := s.get(ctx, o.Text("id")); err == nil {
			if password := rebuilt.Get("adminPass"); password != nil {
				now.Set("adminPass", password)
			}
			rebuilt = now
		}
	}
	return c.Show(s.fields(ctx, rebuilt))
}

func (s *servers) rebuildBody() (noun.Object, error) {
	c := s.c
	for _, f := range []struct{ version, flag string }{
		{"2.19", "description"},
		{"2.54", "key-name"},
		{"2.54", "no-key-name"},
		{"2.57", "user-data"},
		{"2.57", "no-user-data"},
		{"2.63", "trusted-image-cert"},
		{"2.63", "no-trusted-image-certs"},
		{"2.90", "hostname"},
		{"2.93", "reimage-boot-volume"},
	} {
		if err := s.needsGiven(f.version, f.flag); err != nil {
			return nil, err
		}
	}
	data, err := userData(c)
	if err != nil {
		return nil, err
	}
	body := object("adminPass", givenText(c, "password"), "name", givenText(c, "name"), "description", givenText(c, "description"), "key_name", givenText(c, "key-name"))
	if c.Is("preserve-ephemeral") {
		body.Set("preserve_ephemeral", true)
	}
	if c.Is("no-key-name") {
		body.Set("key_name", nil)
	}
	if certs := c.Texts("trusted-image-cert"); len(certs) > 0 {
		body.Set("trusted_image_certificates", listOf(certs))
	}
	if c.Is("no-trusted-image-certs") {
		body.Set("trusted_image_certificates", nil)
	}
	if hostname := c.Text("hostname"); hostname != "" {
		body.Set("hostname", hostname)
	}
	if pairs := properties(c, "property"); len(pairs) > 0 {
		body.Set("metadata", pairs)
	}
	switch {
	case data != "":
		body.Set("user_data", data)
	case c.Is("no-user-data"):
		body.Set("user_data", nil)
	}
	return body, nil
}
