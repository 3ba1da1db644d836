// Package common has the commands of koc that are of no one service: quotas,
// limits, availability zones, extensions, versions, the configuration, and the
// clearing of projects.
package common

import (
	"context"
	"errors"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
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

// optional turns the failure of one of several services into a note: the others
// are still shown. One that the user asked for by name fails the command.
func optional(c *command.Call, what string, asked bool, err error) error {
	if err == nil || asked && !c.Compat() {
		return err
	}
	if !absent(err) || asked {
		c.Notef("%s not read: %v\n", what, err)
	}
	return nil
}

func asFault(err error, into **cloud.Fault) bool { return errors.As(err, into) }
