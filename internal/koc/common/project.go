package common

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func whichProject(verb string) []command.Flag {
	return []command.Flag{
		{Name: "auth-project", Help: verb + " the project of your own credentials"},
		{Name: "project", Value: "<project>", Help: verb + " this project, by name or id", Complete: "project"},
		noun.ProjectDomainFlag(),
	}
}

func chosenProject(ctx context.Context, c *command.Call) (string, error) {
	if c.Is("auth-project") {
		id, _, err := owner(ctx, c, "")
		return id, err
	}
	return noun.ProjectID(ctx, c)
}

func projectCleanup() command.Command {
	return command.Command{
		Short: "Delete the servers, volumes, networks and the like of a project, after a question",
		Long:  "What would be deleted is listed first. The project itself stays.",
		Flags: append([]command.Flag{
			{Name: "dry-run", Help: "List what would be deleted, and delete nothing"},
			{Name: "created-before", Value: "<YYYY-MM-DDTHH24:MI:SS>", Help: "Only what was created before this time, UTC"},
			{Name: "updated-before", Value: "<YYYY-MM-DDTHH24:MI:SS>", Help: "Only what was changed last before this time, UTC"},
			{Name: "yes", Koc: true, Help: "Do not ask"},
		}, whichProject("Clear")...),
		Exclusive: []string{"!auth-project project"},
		Run:       runCleanup,
	}
}

func runCleanup(ctx context.Context, c *command.Call) error {
	var filters []func(thing) bool
	for flag, attrs := range map[string][]string{"created-before": {"created_at", "created"}, "updated-before": {"updated_at", "updated"}} {
		if !c.Given(flag) {
			continue
		}
		moment, err := time.Parse("2006-01-02T15:04:05", c.Text(flag))
		if err != nil {
			return command.Reject("--%s %q: expected a time such as 2026-01-31T18:00:00", flag, c.Text(flag))
		}
		filters = append(filters, func(t thing) bool { return t.before(moment, attrs...) })
	}
	project, err := chosenProject(ctx, c)
	if err != nil {
		return err
	}
	all, err := thingsOf(ctx, c, project, func(k kind) bool { return k.typ != "Image" })
	if err != nil {
		return err
	}
	var things []thing
	var rows [][]any
next:
	for _, t := range all {
		for _, wanted := range filters {
			if !wanted(t) {
				continue next
			}
		}
		things = append(things, t)
		rows = append(rows, []any{t.kind.typ, t.o.Get("id"), t.o.Get("name")})
	}
	if err := c.List([]render.Column{{Title: "Type"}, {Title: "ID"}, {Title: "Name"}}, render.Rows(rows)); err != nil {
		return err
	}
	if c.Is("dry-run") || len(things) == 0 {
		return nil
	}
	if !c.Is("yes") {
		sure, err := ask(c, "These resources will be deleted. Are you sure [y/N]: ")
		if err != nil || !sure {
			return err
		}
	}
	return removeAll(ctx, c, things, nil)
}

// ask asks a question that only y or yes answers positively.
func ask(c *command.Call, question string) (bool, error) {
	_, _ = fmt.Fprint(c.Streams.Err, question)
	line, err := bufio.NewReader(c.Streams.In).ReadString('\n')
	if err != nil && line == "" {
		return false, errors.New("no answer on standard input: nothing was deleted; --yes deletes without a question")
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

func removeAll(ctx context.Context, c *command.Call, things []thing, say func(thing)) error {
	var failed []error
	for _, t := range things {
		if ctx.Err() != nil {
			failed = append(failed, ctx.Err())
			break
		}
		if say != nil {
			say(t)
		}
		if err := t.remove(ctx, c); err != nil {
			failed = append(failed, fmt.Errorf("delete %s %s: %w", t.kind.noun.Name, t.o.Text("id"), err))
		}
	}
	if len(failed) > 0 {
		failed = append(failed, fmt.Errorf("%d of %d resources failed to delete", len(failed), len(things)))
	}
	return errors.Join(failed...)
}

func projectPurge() command.Command {
	return command.Command{
		Short: "Delete the servers, images, volumes, snapshots and backups of a project, then the project",
		Long:  "The project is only deleted when everything in it was.",
		Flags: append([]command.Flag{
			{Name: "dry-run", Help: "Say what would be deleted, and delete nothing"},
			{Name: "keep-project", Help: "Do not delete the project itself"},
		}, whichProject("Purge")...),
		Exclusive: []string{"!auth-project project"},
		Run: func(ctx context.Context, c *command.Call) error {
			project, err := chosenProject(ctx, c)
			if err != nil {
				return err
			}
			things, err := thingsOf(ctx, c, project, func(k kind) bool { return k.named != "" })
			if err != nil {
				return err
			}
			say := func(t thing) { c.Notef("Deleting %s : %s\n", t.kind.named, t.o.Text("id")) }
			if c.Is("dry-run") {
				for _, t := range things {
					say(t)
				}
			} else if err := removeAll(ctx, c, things, say); err != nil {
				return fmt.Errorf("%w\nthe project %s was not deleted", err, project)
			}
			if c.Is("keep-project") {
				return nil
			}
			c.Notef("Deleting project: %s\n", project)
			if c.Is("dry-run") {
				return nil
			}
			_, err = noun.Project().Send(ctx, c, cloud.Request{Method: "DELETE", Path: "/projects/" + project})
			return err
		},
	}
}
