package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const (
	noEntity       = "NoSuchEntity"
	deleteConflict = "DeleteConflict"
)

// iam returns the client for what has no region.
func (c *Cloud) iam(ctx context.Context) (*iam.Client, error) {
	r, err := c.in(ctx, c.home)
	if err != nil {
		return nil, err
	}
	return r.identity, nil
}

// identity is a role, a user, or an instance profile without a role that goes.
type identity struct {
	kind string // role, user, instance profile
	name string
}

// identities are all roles and users of the scope that are there. What cannot be
// told of is in failures.
func (c *Cloud) identities(ctx context.Context, s Scope) (found []identity, failures []error) {
	if len(s.Targets) == 0 {
		return nil, nil
	}
	client, err := c.iam(ctx)
	if err != nil {
		return nil, []error{fmt.Errorf("IAM: %w", err)}
	}
	all, err := c.roles(ctx, client)
	if err != nil {
		return nil, []error{fmt.Errorf("IAM roles: %w", err)}
	}
	candidates := map[string]bool{}
	for _, role := range all {
		for _, t := range s.Targets {
			if c.rules.role(role, t.Cluster) {
				candidates[role] = true
			}
		}
	}
	names, failures := c.claimed(ctx, client, s, all, candidates)
	for _, role := range s.Roles {
		if slices.Contains(all, role) && !slices.Contains(names, role) {
			names = append(names, role)
		}
	}
	for _, name := range names {
		found = append(found, identity{"role", name})
	}
	profiles, failed := c.emptyProfiles(ctx, client, s)
	found = append(found, profiles...)
	failures = append(failures, failed...)
	for _, user := range s.Users {
		_, err := call(ctx, c, client.GetUser, &iam.GetUserInput{UserName: &user})
		switch {
		case err == nil:
			found = append(found, identity{"user", user})
		case !coded(err, noEntity):
			failures = append(failures, fmt.Errorf("IAM user %s: %w", user, err))
		}
	}
	return found, failures
}

func (c *Cloud) roles(ctx context.Context, client *iam.Client) ([]string, error) {
	return listing(ctx, c, client.ListRoles, func(mark *string) *iam.ListRolesInput {
		return &iam.ListRolesInput{Marker: mark}
	}, func(out *iam.ListRolesOutput) (names []string, truncated bool, mark *string) {
		for _, role := range out.Roles {
			// Those of services are made and removed by the services alone.
			if !strings.HasPrefix(aws.ToString(role.Path), "/aws-service-role/") {
				names = append(names, aws.ToString(role.RoleName))
			}
		}
		return names, out.IsTruncated, out.Marker
	})()
}

// claimed returns the candidates that are ours. A name alone is weak: the tags of
// the role decide where it has any, and without them the cluster with the longest
// name that fits, of all whose traces are found.
func (c *Cloud) claimed(ctx context.Context, client *iam.Client, s Scope, all []string, candidates map[string]bool) (names []string, failures []error) {
	labels := map[string]tags{}
	var others []string
	for _, role := range all {
		if !candidates[role] {
			continue
		}
		t, err := c.roleTags(ctx, client, role)
		if coded(err, noEntity) {
			continue
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("IAM role %s: %w", role, err))
			continue
		}
		labels[role] = t
		for name := range t.owners() {
			others = append(others, name)
		}
	}
	if len(labels) == 0 {
		return nil, failures
	}
	seen, failed := c.clustersSeen(ctx, s)
	others = append(others, seen...)
	failures = append(failures, failed...)
	for _, role := range all {
		t, ok := labels[role]
		switch {
		case !ok || c.rules.foreign(t, s) != "":
		case c.rules.owns(t, s):
			names = append(names, role)
		case len(t.owners()) > 0: // it is only shared with ours
		case len(failed) > 0: // who else there is is not known
		default:
			switch whose, doubt := c.untagged(role, others, s); {
			case doubt != "":
				failures = append(failures, fmt.Errorf("IAM role %s carries no tag and could be that of cluster %s: left alone; delete it, or name it in global-iam-roles", role, doubt))
			case whose:
				names = append(names, role)
			}
		}
	}
	return names, failures
}

// untagged tells whether a role without tags is ours by its name. One that fits
// the longer name of another cluster is of that one; doubt is a cluster with a
// shorter name that it fits too.
func (c *Cloud) untagged(role string, others []string, s Scope) (whose bool, doubt string) {
	longest := ""
	for _, t := range s.Targets {
		if c.rules.role(role, t.Cluster) && len(t.Cluster) > len(longest) {
			longest = t.Cluster
		}
	}
	rival := c.rules.rival(role, others, s)
	switch {
	case rival == "":
		return true, ""
	case len(rival) > len(longest):
		return false, ""
	}
	return false, rival
}

func (c *Cloud) roleTags(ctx context.Context, client *iam.Client, role string) (tags, error) {
	t := tags{}
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, client.ListRoleTags, &iam.ListRoleTagsInput{RoleName: &role, Marker: mark})
		if err != nil {
			return nil, err
		}
		t.read(out.Tags)
		return more(out.IsTruncated, out.Marker)
	})
	return t, err
}

func (c *Cloud) profileTags(ctx context.Context, client *iam.Client, profile string) (tags, error) {
	t := tags{}
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, client.ListInstanceProfileTags, &iam.ListInstanceProfileTagsInput{InstanceProfileName: &profile, Marker: mark})
		if err != nil {
			return nil, err
		}
		t.read(out.Tags)
		return more(out.IsTruncated, out.Marker)
	})
	return t, err
}

// read adds the tags of an answer of IAM.
func (t tags) read(list []iamtypes.Tag) {
	for _, tag := range list {
		t[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
}

// emptyProfiles are the instance profiles that have lost their role and have a name
// of ours: a sweep that ended between the two halves of their removal leaves them.
func (c *Cloud) emptyProfiles(ctx context.Context, client *iam.Client, s Scope) (found []identity, failures []error) {
	names, err := listing(ctx, c, client.ListInstanceProfiles, func(mark *string) *iam.ListInstanceProfilesInput {
		return &iam.ListInstanceProfilesInput{Marker: mark}
	}, func(out *iam.ListInstanceProfilesOutput) (names []string, truncated bool, mark *string) {
		for _, p := range out.InstanceProfiles {
			if len(p.Roles) == 0 {
				names = append(names, aws.ToString(p.InstanceProfileName))
			}
		}
		return names, out.IsTruncated, out.Marker
	})()
	if err != nil {
		return nil, []error{fmt.Errorf("IAM instance profiles: %w", err)}
	}
	fits := func(name string) bool {
		return slices.ContainsFunc(s.Targets, func(t config.SweepTarget) bool { return c.rules.role(name, t.Cluster) })
	}
	var others []string
	for _, name := range names {
		if fits(name) && others == nil {
			if others, failures = c.clustersSeen(ctx, s); len(failures) > 0 {
				return nil, failures
			}
		}
		whose := slices.Contains(s.Roles, name)
		if !whose && fits(name) {
			t, err := c.profileTags(ctx, client, name)
			switch {
			case coded(err, noEntity):
				continue
			case err != nil:
				failures = append(failures, fmt.Errorf("IAM instance profile %s: %w", name, err))
				continue
			case c.rules.foreign(t, s) != "":
				continue
			case len(t.owners()) > 0:
				whose = c.rules.owns(t, s)
			default:
				whose, _ = c.untagged(name, others, s)
			}
		}
		if whose {
			found = append(found, identity{"instance profile", name})
		}
	}
	return found, failures
}

// clustersSeen are the clusters whose networks are in the regions of the scope.
func (c *Cloud) clustersSeen(ctx context.Context, s Scope) (names []string, failures []error) {
	for _, name := range s.Regions() {
		r, err := c.in(ctx, name)
		if err == nil {
			err = pages(func(mark *string) (*string, error) {
				out, err := call(ctx, c, r.ec2.DescribeVpcs, &ec2.DescribeVpcsInput{Filters: filter("tag-key", clusterTag+"*"), NextToken: mark})
				if err != nil {
					return nil, err
				}
				for _, vpc := range out.Vpcs {
					for owner := range tagsOf(vpc.Tags).owners() {
						names = append(names, owner)
					}
				}
				return out.NextToken, nil
			})
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("[%s] the clusters a role could belong to: %w", name, err))
		}
	}
	return names, failures
}

func (c *Cloud) lookIdentities(ctx context.Context, s Scope) Found {
	list, failures := c.identities(ctx, s)
	found := Found{Failures: failures}
	for _, i := range list {
		found.Items = append(found.Items, Item{Kind: "IAM " + i.kind, ID: i.name})
	}
	return found
}

func (c *Cloud) sweepIdentities(ctx context.Context, s Scope, v Voice) error {
	list, failures := c.identities(ctx, s)
	if len(list) == 0 {
		return errors.Join(failures...)
	}
	client, err := c.iam(ctx)
	if err != nil {
		return err
	}
	wrong := failures
	for _, i := range list {
		remove := map[string]func(context.Context, *iam.Client, string) error{"role": c.removeRole, "user": c.removeUser, "instance profile": c.removeProfile}[i.kind]
		v.Detail("deleting IAM %s %s", i.kind, i.name)
		if err := c.until(ctx, v, c.o.Budgets.Identity, "IAM "+i.kind+" "+i.name, func(ctx context.Context) (string, error) {
			err := remove(ctx, client, i.name)
			if coded(err, deleteConflict, "ConcurrentModification", "EntityTemporarilyUnmodifiable") {
				// IAM is slow to see what was done a moment ago.
				return err.Error(), nil
			}
			return "", err
		}); err != nil {
			wrong = append(wrong, fmt.Errorf("IAM %s %s: %w", i.kind, i.name, err))
			continue
		}
		v.Done("IAM %s %s deleted", i.kind, i.name)
	}
	return errors.Join(wrong...)
}

// steps runs one after the other and stops at the first that fails. What is not
// there any more is no failure.
func steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil && !coded(err, noEntity) {
			return err
		}
	}
	return nil
}

// listing reads all pages of a listing of IAM, which says whether there are more.
func listing[I, O, P any](ctx context.Context, c *Cloud, ask func(context.Context, *I, ...func(*P)) (*O, error), in func(mark *string) *I,
	read func(out *O) (names []string, truncated bool, mark *string),
) func() ([]string, error) {
	return func() ([]string, error) {
		var found []string
		err := pages(func(mark *string) (*string, error) {
			out, err := call(ctx, c, ask, in(mark))
			if err != nil {
				return nil, err
			}
			names, truncated, next := read(out)
			found = append(found, names...)
			return more(truncated, next)
		})
		return found, err
	}
}

// more is the mark of the next page, nil without one. A listing that goes on and does
// not say where is none: the rest of it would be taken for absent.
func more(truncated bool, mark *string) (*string, error) {
	switch {
	case !truncated:
		return nil, nil //nolint:nilnil // no page is an answer
	case aws.ToString(mark) == "":
		return nil, &CallError{Kind: Garbled, Text: "a listing that goes on and does not say where"}
	}
	return mark, nil
}

// all lists, then removes each one that is listed.
func all(list func() ([]string, error), remove func(string) error) func() error {
	return func() error {
		found, err := list()
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := remove(name); err != nil && !coded(err, noEntity) {
				return err
			}
		}
		return nil
	}
}

func (c *Cloud) removeProfile(ctx context.Context, client *iam.Client, name string) error {
	_, err := call(ctx, c, client.DeleteInstanceProfile, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name})
	if coded(err, noEntity) {
		return nil
	}
	return err
}

func (c *Cloud) removeRole(ctx context.Context, client *iam.Client, name string) error {
	return steps(
		all(listing(ctx, c, client.ListAttachedRolePolicies, func(mark *string) *iam.ListAttachedRolePoliciesInput {
			return &iam.ListAttachedRolePoliciesInput{RoleName: &name, Marker: mark}
		}, func(out *iam.ListAttachedRolePoliciesOutput) (names []string, truncated bool, mark *string) {
			for _, p := range out.AttachedPolicies {
				names = append(names, aws.ToString(p.PolicyArn))
			}
			return names, out.IsTruncated, out.Marker
		}), func(arn string) error {
			_, err := call(ctx, c, client.DetachRolePolicy, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: &arn})
			return err
		}),
		all(listing(ctx, c, client.ListInstanceProfilesForRole, func(mark *string) *iam.ListInstanceProfilesForRoleInput {
			return &iam.ListInstanceProfilesForRoleInput{RoleName: &name, Marker: mark}
		}, func(out *iam.ListInstanceProfilesForRoleOutput) (names []string, truncated bool, mark *string) {
			for _, p := range out.InstanceProfiles {
				names = append(names, aws.ToString(p.InstanceProfileName))
			}
			return names, out.IsTruncated, out.Marker
		}), func(profile string) error {
			_, err := call(ctx, c, client.RemoveRoleFromInstanceProfile, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &profile, RoleName: &name})
			if err != nil && !coded(err, noEntity) {
				return err
			}
			return c.removeProfile(ctx, client, profile)
		}),
		all(listing(ctx, c, client.ListRolePolicies, func(mark *string) *iam.ListRolePoliciesInput {
			return &iam.ListRolePoliciesInput{RoleName: &name, Marker: mark}
		}, func(out *iam.ListRolePoliciesOutput) (names []string, truncated bool, mark *string) {
			return out.PolicyNames, out.IsTruncated, out.Marker
		}), func(policy string) error {
			_, err := call(ctx, c, client.DeleteRolePolicy, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &policy})
			return err
		}),
		func() error {
			_, err := call(ctx, c, client.DeleteRole, &iam.DeleteRoleInput{RoleName: &name})
			return err
		},
	)
}
