package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// stack returns the stack of a region, nil when it is confirmed to be absent. It
// is looked for in the listing: for a stack that does not exist AWS has no code of
// its own.
func (c *Cloud) stack(ctx context.Context, r *region, name string) (*cfn.StackSummary, error) {
	var living []cfn.StackStatus
	for _, status := range cfn.StackStatus("").Values() {
		if status != cfn.StackStatusDeleteComplete {
			living = append(living, status)
		}
	}
	var found *cfn.StackSummary
	err := pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, r.stacks.ListStacks, &cloudformation.ListStacksInput{NextToken: mark, StackStatusFilter: living})
		if err != nil {
			return nil, err
		}
		for _, s := range out.StackSummaries {
			if aws.ToString(s.StackName) == name && s.StackStatus != cfn.StackStatusDeleteComplete {
				found = &s
			}
		}
		return out.NextToken, nil
	})
	return found, err
}

func (c *Cloud) lookStacks(ctx context.Context, s Scope) Found {
	var found Found
	if s.Stack == "" {
		return found
	}
	for _, name := range s.Regions() {
		r, err := c.in(ctx, name)
		if err == nil {
			var there *cfn.StackSummary
			if there, err = c.stack(ctx, r, s.Stack); there != nil {
				note := strings.TrimSuffix(string(there.StackStatus)+": "+aws.ToString(there.StackStatusReason), ": ")
				found.Items = append(found.Items, Item{Kind: "CloudFormation stack", Region: name, ID: s.Stack, Note: note})
			}
		}
		if err != nil {
			found.Failures = append(found.Failures, fmt.Errorf("[%s] CloudFormation stack %s: %w", name, s.Stack, err))
		}
	}
	return found
}

func (c *Cloud) sweepStacks(ctx context.Context, s Scope, v Voice) error {
	if s.Stack == "" {
		return nil
	}
	// Each region once: two clusters in one share its stack.
	return each(s.Regions(), func(name string) error {
		return c.sweepStack(ctx, name, s.Stack, v)
	})
}

func (c *Cloud) sweepStack(ctx context.Context, regionName, name string, v Voice) error {
	what := fmt.Sprintf("[%s] CloudFormation stack %s", regionName, name)
	r, err := c.in(ctx, regionName)
	var there *cfn.StackSummary
	if err == nil {
		there, err = c.stack(ctx, r, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if there == nil {
		v.Done("CloudFormation stack %s not found in %s", name, regionName)
		return nil
	}
	v.Detail("[%s] deleting CloudFormation stack %s", regionName, name)
	// From here on its id is what is asked for: a deleted stack keeps that.
	asked := false
	err = c.until(ctx, v, c.o.Budgets.Stack, what, func(ctx context.Context) (string, error) {
		out, err := call(ctx, c, r.stacks.DescribeStacks, &cloudformation.DescribeStacksInput{StackName: there.StackId})
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		if len(out.Stacks) == 0 {
			return "", fmt.Errorf("%s: %w", what, &CallError{Kind: Garbled, Operation: "CloudFormation DescribeStacks", Text: "no stack, for the id of one"})
		}
		status := out.Stacks[0].StackStatus
		switch {
		case status == cfn.StackStatusDeleteComplete:
			return "", nil
		case status == cfn.StackStatusDeleteFailed && asked:
			return "", fmt.Errorf("%s: its deletion failed: %s", what, c.stackTrouble(ctx, r, there.StackId, out.Stacks[0]))
		case status == cfn.StackStatusDeleteInProgress:
			asked = true
		case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		case !asked:
			if _, err := call(ctx, c, r.stacks.DeleteStack, &cloudformation.DeleteStackInput{StackName: there.StackId}); err != nil {
				return "", fmt.Errorf("delete %s: %w", what, err)
			}
			asked = true
			return string(cfn.StackStatusDeleteInProgress), nil
		}
		return string(status), nil
	})
	if err == nil {
		v.Done("CloudFormation stack %s deleted in %s", name, regionName)
	}
	return err
}

// stackTrouble says which resources of a stack could not be deleted, and why.
func (c *Cloud) stackTrouble(ctx context.Context, r *region, id *string, s cfn.Stack) string {
	reasons := []string{}
	if text := aws.ToString(s.StackStatusReason); text != "" {
		reasons = append(reasons, text)
	}
	out, err := call(ctx, c, r.stacks.DescribeStackEvents, &cloudformation.DescribeStackEventsInput{StackName: id})
	if err == nil {
		for _, e := range out.StackEvents {
			if e.ResourceStatus == cfn.ResourceStatusDeleteFailed && aws.ToString(e.PhysicalResourceId) != aws.ToString(id) {
				reasons = append(reasons, aws.ToString(e.LogicalResourceId)+": "+c.harmless(aws.ToString(e.ResourceStatusReason)))
			}
		}
	}
	if len(reasons) == 0 {
		reasons = append(reasons, errors.New("AWS does not say why").Error())
	}
	return strings.Join(reasons, "; ")
}
