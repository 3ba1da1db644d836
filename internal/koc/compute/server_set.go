package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serverSet() command.Command {
	return command.Command{
		Short: "Change a server",
		Args:  []command.Arg{serverArg("change")},
		Flags: []command.Flag{
			{Name: "name", Value: "<new-name>", Help: "New name"},
			{Name: "password", Value: "<password>", Help: "New password of the administrator in the guest"},
			{Name: "no-password", Help: "Forget the password of the administrator that the service keeps; the guest keeps its own"},
			{Name: "root-password", Hidden: true, Help: "Ask for the new password of the administrator"},
			{Name: "property", Value: "<key=value>", Type: command.KeyValue, Help: "Set this property; repeat for more"},
			{Name: "state", Value: "<state>", Choices: []string{"active", "error"}, Help: "Record this state, whatever the server does (admin only)"},
			{Name: "description", Value: "<description>", Help: "New description (microversion 2.19)"},
			{Name: "tag", Value: "<tag>", Repeat: true, Help: "Add this tag; repeat for more (microversion 2.26)"},
			{Name: "hostname", Value: "<hostname>", Help: "New hostname in the metadata service (microversion 2.90)"},
			{Name: "availability-zone", Also: []string{"availability_zone"}, Value: "<availability-zone>", Koc: true, Help: "Move the server to this availability zone by name alone (KeyStack)"},
		},
		Exclusive: []string{"password no-password root-password"},
		Run:       setServer,
	}
}

func setServer(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	for _, flag := range []struct{ version, name string }{{"2.19", "description"}, {"2.26", "tag"}, {"2.90", "hostname"}} {
		if err := s.needsGiven(flag.version, flag.name); err != nil {
			return err
		}
	}
	for _, tag := range c.Texts("tag") {
		if tag == "" || strings.ContainsAny(tag, "/,") {
			return command.Reject("tag %q: a tag must not be empty and has no slash and no comma", tag)
		}
	}
	password := c.Text("password")
	if c.Is("root-password") {
		if password, err = newPassword(c); err != nil {
			return err
		}
	}
	id, err := s.id(ctx, c.Text("<server>"))
	if err != nil {
		return err
	}
	update := object("name", givenText(c, "name"), "description", givenText(c, "description"), "hostname", givenText(c, "hostname"))
	if len(update) > 0 {
		if err := s.update(ctx, id, update); err != nil {
			return err
		}
	}
	if c.Given("availability-zone") {
		if err := s.update(ctx, id, object("availability_zone", c.Text("availability-zone"))); err != nil {
			return keystack(err, "per-instance availability_zone")
		}
	}
	if pairs := properties(c, "property"); len(pairs) > 0 {
		if err := s.tell(ctx, "POST", serverPath(id, "metadata"), noun.Object{{Name: "metadata", Value: pairs}}); err != nil {
			return err
		}
	}
	if state := c.Text("state"); state != "" {
		if err := s.act(ctx, id, "os-resetState", object("state", state)); err != nil {
			return err
		}
	}
	switch {
	case password != "":
		err = s.act(ctx, id, "changePassword", object("adminPass", password))
	case c.Is("no-password"):
		err = s.tell(ctx, "DELETE", serverPath(id, "os-server-password"), nil)
	}
	if err != nil {
		return err
	}
	for _, tag := range c.Texts("tag") {
		if err := s.tell(ctx, "PUT", serverPath(id, "tags", tag), nil); err != nil {
			return fmt.Errorf("add tag %q: %w", tag, err)
		}
	}
	return nil
}

func (s *servers) update(ctx context.Context, id string, changes noun.Object) error {
	return s.tell(ctx, "PUT", serverPath(id), noun.Object{{Name: "server", Value: render.Ordered(changes)}})
}

// newPassword asks for a password twice.
func newPassword(c *command.Call) (string, error) {
	first, err := c.Secret("New password: ")
	if err != nil {
		return "", err
	}
	second, err := c.Secret("Retype new password: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("passwords do not match, password unchanged")
	}
	return first, nil
}

func serverUnset() command.Command {
	return command.Command{
		Short: "Take properties, tags or the description off a server",
		Args:  []command.Arg{serverArg("change")},
		Flags: []command.Flag{
			{Name: "property", Value: "<key>", Repeat: true, Help: "Remove this property; repeat for more"},
			{Name: "all-properties", Koc: true, Help: "Remove all properties"},
			{Name: "description", Help: "Remove the description (microversion 2.19)"},
			{Name: "tag", Value: "<tag>", Repeat: true, Help: "Remove this tag; repeat for more (microversion 2.26)"},
			{Name: "all-tags", Koc: true, Help: "Remove all tags (microversion 2.26)"},
		},
		Exclusive: []string{"property all-properties", "tag all-tags"},
		Run:       unsetServer,
	}
}

func unsetServer(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	for _, flag := range []struct{ version, name string }{{"2.19", "description"}, {"2.26", "tag"}, {"2.26", "all-tags"}} {
		if err := s.needsGiven(flag.version, flag.name); err != nil {
			return err
		}
	}
	id, err := s.id(ctx, c.Text("<server>"))
	if err != nil {
		return err
	}
	if c.Is("all-properties") {
		if err := s.tell(ctx, "PUT", serverPath(id, "metadata"), noun.Object{{Name: "metadata", Value: render.Ordered{}}}); err != nil {
			return err
		}
	}
	for _, key := range c.Texts("property") {
		if err := s.tell(ctx, "DELETE", serverPath(id, "metadata", key), nil); err != nil {
			return fmt.Errorf("remove property %q: %w", key, err)
		}
	}
	if c.Is("description") {
		if err := s.update(ctx, id, noun.Object{{Name: "description"}}); err != nil {
			return err
		}
	}
	if c.Is("all-tags") {
		if err := s.tell(ctx, "DELETE", serverPath(id, "tags"), nil); err != nil {
			return err
		}
	}
	for _, tag := range c.Texts("tag") {
		if err := s.tell(ctx, "DELETE", serverPath(id, "tags", tag), nil); err != nil {
			return fmt.Errorf("remove tag %q: %w", tag, err)
		}
	}
	return nil
}
