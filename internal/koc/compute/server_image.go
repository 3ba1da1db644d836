package compute

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
)

// serverImageCommands make images of servers.
func serverImageCommands() []command.Entry {
	return []command.Entry{
		{Name: "server image create", Build: serverImageCreate},
		{Name: "server backup create", Build: serverBackupCreate},
	}
}

func serverImageCreate() command.Command {
	return command.Command{
		Short:  "Make an image of the disk of a server",
		Args:   []command.Arg{serverArg("take an image of")},
		Output: command.Created,
		Flags: append([]command.Flag{
			{Name: "name", Value: "<image-name>", Help: "Name of the image; else that of the server"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Set this property of the image; repeat for more"},
		}, noun.WaitFlags("the image is active", 30*time.Minute)...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "2.45")
			if err != nil {
				return err
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			name := c.Text("name")
			if name == "" {
				name = o.Text("name")
			}
			body := object("name", name)
			if pairs := properties(c, "property"); len(pairs) > 0 {
				body.Set("metadata", pairs)
			}
			image, err := s.imageMade(ctx, o.Text("id"), "createImage", body)
			if err != nil {
				return err
			}
			return showImage(ctx, c, image)
		},
	}
}

// imageMade asks for an action that makes an image, and returns the id of that:
// from 2.45 on it is in the answer, before in a link.
func (s *servers) imageMade(ctx context.Context, id, action string, body noun.Object) (string, error) {
	answer, err := s.Open(ctx, cloud.Request{Method: http.MethodPost, Path: serverPath(id, "action"), Body: noun.Object{{Name: action, Value: body}}})
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if location := answer.Header.Get("Location"); location != "" {
		return path.Base(location), nil
	}
	var o noun.Object
	if err := o.DecodeFrom(answer.Body); err != nil {
		return "", fmt.Errorf("the image is being made, but the answer does not tell which: %w", err)
	}
	if o.Text("image_id") == "" {
		return "", errors.New("the image is being made, but the answer does not tell which")
	}
	return o.Text("image_id"), nil
}

// showImage shows an image, once it is active with --wait.
func showImage(ctx context.Context, c *command.Call, id string) error {
	n := noun.Image()
	if c.Is("wait") {
		wait := noun.Wait{
			What: fmt.Sprintf("image %q to become active", id), Timeout: 30 * time.Minute,
			Probe: n.Settled(c, id, "status", []string{"active"}, []string{"killed", "deleted", "pending_delete", "error"}),
		}
		if err := wait.Until(ctx, c); err != nil {
			return err
		}
		if c.Compat() {
			c.Printf("\n")
		}
	}
	o, err := n.Get(ctx, c, id)
	if err != nil {
		return err
	}
	return c.Show(noun.ImageFields(o, false))
}

func serverBackupCreate() command.Command {
	return command.Command{
		Short:  "Make an image of the disk of a server as a backup, and let old ones go",
		Args:   []command.Arg{serverArg("back up")},
		Output: command.Created,
		Flags: append([]command.Flag{
			{Name: "name", Value: "<image-name>", Help: "Name of the image; else that of the server"},
			{Name: "type", Value: "<backup-type>", Help: "Kind of the backup, as daily or weekly: those of a kind are counted together"},
			{Name: "rotate", Value: "<count>", Type: command.Natural, Default: "1", Help: "Keep so many backups of the kind (default 1)"},
		}, noun.WaitFlags("the image is active", 30*time.Minute)...),
		Run: func(ctx context.Context, c *command.Call) error {
			s, err := openServers(ctx, c, "")
			if err != nil {
				return err
			}
			o, err := s.find(ctx, c.Text("<server>"))
			if err != nil {
				return err
			}
			name := c.Text("name")
			if name == "" {
				name = o.Text("name")
			}
			body := object("name", name, "backup_type", c.Text("type"), "rotation", c.Int("rotate"))
			if c.Int("rotate") == 0 {
				return s.act(ctx, o.Text("id"), "createBackup", body) // no image is made: the old ones alone go
			}
			image, err := s.imageMade(ctx, o.Text("id"), "createBackup", body)
			if err != nil {
				return err
			}
			return showImage(ctx, c, image)
		},
	}
}
