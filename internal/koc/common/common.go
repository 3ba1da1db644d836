// Package common has the commands of koc that are of no one service: quotas,
// limits, availability zones, extensions, versions, the configuration, and the
// clearing of projects.
package common

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// Commands are the commands of the package.
func Commands() []command.Entry {
	return []command.Entry{
		{Name: "availability zone list", Build: zoneList},
		{Name: "configuration show", Build: configurationShow},
		{Name: "extension list", Build: extensionList},
		{Name: "extension show", Build: extensionShow},
		{Name: "limits show", Build: limitsShow},
		{Name: "project cleanup", Build: projectCleanup},
		{Name: "project purge", Build: projectPurge},
		{Name: "quota list", Build: quotaList},
		{Name: "quota set", Build: quotaSet},
		{Name: "quota show", Build: quotaShow},
		{Name: "versions show", Build: versionsShow},
	}
}

// fetch reads one JSON object of a service.
func fetch(ctx context.Context, c *command.Call, service string, r cloud.Request) (noun.Object, error) {
	s, err := c.Cloud.Service(ctx, service)
	if err != nil {
		return nil, err
	}
	var o noun.Object
	r.Into = &o
	return o, s.Do(ctx, r)
}

// absent reports whether an error says that the cloud has not the service at all.
func absent(err error) bool {
	var missing *cloud.Absent
	return errors.As(err, &missing)
}

// parts gathers what several services tell. The failure of one is a note: the
// others are still shown. One that the user asked for by name fails the command,
// and so do all of them together.
type parts struct {
	what   string // "availability zones"
	rows   [][]any
	read   int
	failed []error
}

// add takes the part of a service.
func (p *parts) add(c *command.Call, service string, rows [][]any, err error) error {
	asked := c.Is(service)
	switch {
	case err == nil:
		p.rows, p.read = append(p.rows, rows...), p.read+1
	case asked && !c.Compat():
		return err
	case !absent(err) || asked:
		c.Notef("%s of the %s service not read: %v\n", p.what, service, err)
		p.failed = append(p.failed, err)
	}
	return nil
}

// print lists what there is.
func (p *parts) print(c *command.Call, columns []render.Column) error {
	if p.read == 0 && len(p.failed) > 0 && !c.Compat() {
		return fmt.Errorf("no service tells its %s: %w", p.what, errors.Join(p.failed...))
	}
	for i := range p.rows {
		p.rows[i] = p.rows[i][:len(columns)]
	}
	return c.List(columns, render.Rows(p.rows))
}

func asFault(err error, into **cloud.Fault) bool { return errors.As(err, into) }
