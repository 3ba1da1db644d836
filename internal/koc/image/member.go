package image

import (
	"context"
	"net/http"
	"net/url"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// members are the projects that an image is shared with.
func members(image string) noun.Noun {
	return noun.Noun{Name: "member", Service: "image", Path: "/images/" + url.PathEscape(image) + "/members", Key: "-", Keys: "members", ID: "member_id", Label: "-"}
}

func projectArg(verb string) command.Arg {
	return command.Arg{Name: "<project>", Help: "The project to " + verb + ", by name or id", Complete: "project"}
}

// both resolves the image and the project of a command. A project that looks like
// an id is taken as it is: who shares images may not see the project.
func both(ctx context.Context, c *command.Call, arg string) (image, project string, err error) {
	if image, err = images().Resolve(ctx, c, c.Text("<image>")); err != nil {
		return "", "", err
	}
	project = c.Text(arg)
	if noun.LooksLikeID(project) {
		return image, project, nil
	}
	domain := ""
	if c.Declares("project-domain") {
		domain = c.Text("project-domain")
	}
	project, err = noun.Project().In(ctx, c, project, domain)
	return image, project, err
}

func memberFields() noun.Fields {
	return noun.Fields{Sort: true, Columns: []noun.Column{
		{Title: "created_at", Cell: render.StampCell},
		{Title: "image_id"},
		{Title: "member_id"},
		{Title: "schema"},
		{Title: "status"},
		{Title: "updated_at", Cell: render.StampCell},
	}}
}

func memberAdd() command.Command {
	return command.Command{
		Short:  "Share an image with a project",
		Args:   []command.Arg{ref("share"), projectArg("share it with")},
		Flags:  []command.Flag{noun.ProjectDomainFlag()},
		Output: command.Created,
		Run: func(ctx context.Context, c *command.Call) error {
			image, project, err := both(ctx, c, "<project>")
			if err != nil {
				return err
			}
			n := members(image)
			o, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPost, Path: n.Path, Body: noun.Object{{Name: "member", Value: project}}})
			if err != nil {
				return err
			}
			return c.Show(memberFields().Fields(c, o))
		},
	}
}

func memberRemove() command.Command {
	return command.Command{
		Short: "Share an image with a project no more",
		Args:  []command.Arg{ref("take back"), projectArg("take it back from")},
		Flags: []command.Flag{noun.ProjectDomainFlag()},
		Run: func(ctx context.Context, c *command.Call) error {
			image, project, err := both(ctx, c, "<project>")
			if err != nil {
				return err
			}
			n := members(image)
			_, err = n.Send(ctx, c, cloud.Request{Method: http.MethodDelete, Path: n.Path + "/" + url.PathEscape(project)})
			return err
		},
	}
}

func memberList() command.Command {
	list := noun.Noun{Name: "member", Service: "image", Path: "/images", Key: "-", Keys: "members"}.List(noun.Listing{
		Short: "List the projects that an image is shared with",
		Args:  []command.Arg{ref("ask about")},
		Flags: []command.Flag{noun.ProjectDomainFlag()},
		Path: func(ctx context.Context, c *command.Call) (string, error) {
			id, err := images().Resolve(ctx, c, c.Text("<image>"))
			return "/images/" + id + "/members", err
		},
		Columns: []noun.Column{{Title: "Image ID", Attr: "image_id"}, {Title: "Member ID", Attr: "member_id"}, {Title: "Status", Attr: "status"}},
	})
	return list()
}

func memberGet() command.Command {
	return command.Command{
		Short:  "Show the membership of a project in an image",
		Args:   []command.Arg{ref("ask about"), {Name: "<member>", Help: "The project it is shared with, by name or id", Complete: "project"}},
		Flags:  []command.Flag{noun.ProjectDomainFlag()},
		Output: command.Shown,
		Run: func(ctx context.Context, c *command.Call) error {
			image, project, err := both(ctx, c, "<member>")
			if err != nil {
				return err
			}
			o, err := members(image).Get(ctx, c, project)
			if err != nil {
				return err
			}
			return c.Show(memberFields().Fields(c, o))
		},
	}
}

func memberSet() command.Command {
	return command.Command{
		Short: "Answer the offer of a shared image, for a project",
		Args:  []command.Arg{ref("answer for"), {Name: "<member>", Help: "The project that answers, by name or id", Complete: "project"}},
		Flags: []command.Flag{
			{Name: "accept", Koc: true, Help: "Accept the image"},
			{Name: "reject", Koc: true, Help: "Refuse the image"},
			{Name: "pending", Koc: true, Help: "Take the answer back"},
			noun.ProjectDomainFlag(),
		},
		Exclusive: []string{"!accept reject pending"},
		Run: func(ctx context.Context, c *command.Call) error {
			image, project, err := both(ctx, c, "<member>")
			if err != nil {
				return err
			}
			status := "pending"
			switch {
			case c.Is("accept"):
				status = "accepted"
			case c.Is("reject"):
				status = "rejected"
			}
			return setMember(ctx, c, image, project, status)
		},
	}
}

func setMember(ctx context.Context, c *command.Call, image, project, status string) error {
	n := members(image)
	_, err := n.Send(ctx, c, cloud.Request{Method: http.MethodPut, Path: n.Path + "/" + url.PathEscape(project), Body: noun.Object{{Name: "status", Value: status}}})
	return err
}
