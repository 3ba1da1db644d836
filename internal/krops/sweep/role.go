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

// identity is a role or a user that goes.
type identity struct {
	name string
	user bool
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
		found = append(found, identity{name: name})
	}
	for _, user := range s.Users {
		_, err := call(ctx, c, client.GetUser, &iam.GetUserInput{UserName: &user})
		switch {
		case err == nil:
			found = append(found, identity{user, true})
		case !coded(err, noEntity):
			failures = append(failures, fmt.Errorf("IAM user %s: %w", user, err))
		}
	}
	return found, failures
}

func (c *Cloud) roles(ctx context.Context, client *iam.Client) ([]string, error) {
	var names []string
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, client.ListRoles, &iam.ListRolesInput{Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, role := range out.Roles {
			// Those of services are made and removed by the services alone.
			if !strings.HasPrefix(aws.ToString(role.Path), "/aws-service-role/") {
				names = append(names, aws.ToString(role.RoleName))
			}
		}
		if !out.IsTruncated {
			return nil, nil
		}
		return out.Marker, nil
	})
	return names, err
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
		if !ok {
			continue
		}
		for _, target := range s.Targets {
			if c.rules.role(role, target.Cluster) && c.ourRole(role, t, target, others, s) && (len(t.owners()) > 0 || len(failed) == 0) {
				names = append(names, role)
				break
			}
		}
	}
	return names, failures
}

func (c *Cloud) ourRole(role string, t tags, target config.SweepTarget, others []string, s Scope) bool {
	if c.rules.foreign(t, s) != "" {
		return false
	}
	return len(t.owners()) > 0 || c.rules.rival(role, target.Cluster, others, s) == ""
}

func (c *Cloud) roleTags(ctx context.Context, client *iam.Client, role string) (tags, error) {
	t := tags{}
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, client.ListRoleTags, &iam.ListRoleTagsInput{RoleName: &role, Marker: mark})
		if err != nil {
			return nil, err
		}
		for _, tag := range out.Tags {
			t[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return more(out.IsTruncated, out.Marker), nil
	})
	return t, err
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

// more is the mark of the next page, nil without one.
func more(truncated bool, mark *string) *string {
	if !truncated {
		return nil
	}
	return mark
}

func (c *Cloud) lookIdentities(ctx context.Context, s Scope) Found {
	list, failures := c.identities(ctx, s)
	found := Found{Failures: failures}
	for _, i := range list {
		kind := "IAM role"
		if i.user {
			kind = "IAM user"
		}
		found.Items = append(found.Items, Item{Kind: kind, ID: i.name})
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
		kind, remove := "role", c.removeRole
		if i.user {
			kind, remove = "user", c.removeUser
		}
		v.Detail("deleting IAM %s %s", kind, i.name)
		if err := c.until(ctx, c.o.Budgets.Identity, "IAM "+kind+" "+i.name, func(ctx context.Context) (string, error) {
			err := remove(ctx, client, i.name)
			if coded(err, deleteConflict, "ConcurrentModification", "EntityTemporarilyUnmodifiable") {
				// IAM is slow to see what was done a moment ago.
				return err.Error(), nil
			}
			return "", err
		}); err != nil {
			wrong = append(wrong, fmt.Errorf("IAM %s %s: %w", kind, i.name, err))
			continue
		}
		v.Done("IAM %s %s deleted", kind, i.name)
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

// all lists, then removes each one that is listed.
func all[T any](list func(mark *string, each func(T)) (*string, error), remove func(T) error) func() error {
	return func() error {
		var found []T
		if err := pages(func(mark *string) (*string, error) {
			return list(mark, func(t T) { found = append(found, t) })
		}); err != nil {
			return err
		}
		for _, t := range found {
			if err := remove(t); err != nil && !coded(err, noEntity) {
				return err
			}
		}
		return nil
	}
}

func (c *Cloud) removeRole(ctx context.Context, client *iam.Client, name string) error {
	return steps(
		all(func(mark *string, each func(string)) (*string, error) {
			out, err := call(ctx, c, client.ListAttachedRolePolicies, &iam.ListAttachedRolePoliciesInput{RoleName: &name, Marker: mark})
			if err != nil {
				return nil, err
			}
			for _, p := range out.AttachedPolicies {
				each(aws.ToString(p.PolicyArn))
			}
			return more(out.IsTruncated, out.Marker), nil
		}, func(arn string) error {
			_, err := call(ctx, c, client.DetachRolePolicy, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: &arn})
			return err
		}),
		all(func(mark *string, each func(string)) (*string, error) {
			out, err := call(ctx, c, client.ListInstanceProfilesForRole, &iam.ListInstanceProfilesForRoleInput{RoleName: &name, Marker: mark})
			if err != nil {
				return nil, err
			}
			for _, p := range out.InstanceProfiles {
				each(aws.ToString(p.InstanceProfileName))
			}
			return more(out.IsTruncated, out.Marker), nil
		}, func(profile string) error {
			_, err := call(ctx, c, client.RemoveRoleFromInstanceProfile, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &profile, RoleName: &name})
			if err != nil && !coded(err, noEntity) {
				return err
			}
			_, err = call(ctx, c, client.DeleteInstanceProfile, &iam.DeleteInstanceProfileInput{InstanceProfileName: &profile})
			return err
		}),
		all(func(mark *string, each func(string)) (*string, error) {
			out, err := call(ctx, c, client.ListRolePolicies, &iam.ListRolePoliciesInput{RoleName: &name, Marker: mark})
			if err != nil {
				return nil, err
			}
			for _, p := range out.PolicyNames {
				each(p)
			}
			return more(out.IsTruncated, out.Marker), nil
		}, func(policy string) error {
			_, err := call(ctx, c, client.DeleteRolePolicy, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &policy})
			return err
		}),
		func() error {
			_, err := call(ctx, c, client.DeleteRole, &iam.DeleteRoleInput{RoleName: &name})
			return err
		},
	)
}
