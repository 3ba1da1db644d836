package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

const (
	eksNotFound = "ResourceNotFoundException"
	eksInUse    = "ResourceInUseException"
)

func (c *Cloud) nodeGroups(ctx context.Context, t config.SweepTarget) ([]string, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil {
		return nil, err
	}
	var names []string
	err = pages(func(mark *string) (*string, error) {
		out, err := call(ctx, c, r.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: &t.EKSName, NextToken: mark})
		if err != nil {
			return nil, err
		}
		names = append(names, out.Nodegroups...)
		return out.NextToken, nil
	})
	if coded(err, eksNotFound) {
		return nil, nil // no cluster has no node groups
	}
	return names, err
}

func (c *Cloud) lookNodeGroups(ctx context.Context, t config.SweepTarget) Found {
	names, err := c.nodeGroups(ctx, t)
	var items []Item
	for _, name := range names {
		items = append(items, Item{Kind: "EKS node group", Region: t.Region, ID: t.EKSName + "/" + name})
	}
	return listed(items, "node groups", t, err)
}

func (c *Cloud) sweepNodeGroups(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	names, err := c.nodeGroups(ctx, t)
	if err != nil {
		return fmt.Errorf("[%s] node groups of %s: %w", t.Region, t.EKSName, err)
	}
	if len(names) == 0 {
		return nil
	}
	// They are found by the name of their cluster alone: whose that is, its tags tell.
	there, r, err := c.cluster(ctx, t)
	if err != nil {
		return fmt.Errorf("[%s] node groups of %s: %w", t.Region, t.EKSName, err)
	}
	if there == nil {
		return nil
	}
	if err := c.anothers(there, t, s); err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		v.Detail("[%s] deleting node group %s/%s", t.Region, t.EKSName, name)
		_, err := call(ctx, c, r.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: &t.EKSName, NodegroupName: &name})
		// In use: a deletion or an update is under way. The wait sees what comes of it.
		if err != nil && !coded(err, eksNotFound, eksInUse) {
			wrong = append(wrong, fmt.Errorf("[%s] delete node group %s/%s: %w", t.Region, t.EKSName, name, err))
		}
	}
	if wrong == nil {
		for _, name := range names {
			wrong = append(wrong, c.nodeGroupGone(ctx, r, t, name, v))
		}
	}
	return errors.Join(wrong...)
}

func (c *Cloud) nodeGroupGone(ctx context.Context, r *region, t config.SweepTarget, name string, v Voice) error {
	what := fmt.Sprintf("[%s] node group %s/%s", t.Region, t.EKSName, name)
	return c.until(ctx, v, c.o.Budgets.NodeGroup, what, func(ctx context.Context) (string, error) {
		out, err := call(ctx, c, r.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: &t.EKSName, NodegroupName: &name})
		switch {
		case coded(err, eksNotFound):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("%s: %w", what, err)
		}
		switch out.Nodegroup.Status { //nolint:exhaustive // the others pass
		case ekstypes.NodegroupStatusDeleteFailed:
			return "", fmt.Errorf("%s cannot be deleted: %s", what, health(out.Nodegroup.Health))
		case ekstypes.NodegroupStatusDeleting:
		default:
			// It was busy when it was asked to go.
			_, err = call(ctx, c, r.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: &t.EKSName, NodegroupName: &name})
			if err != nil && !coded(err, eksNotFound, eksInUse) {
				return "", fmt.Errorf("%s: %w", what, err)
			}
		}
		return string(out.Nodegroup.Status), nil
	})
}

func health(h *ekstypes.NodegroupHealth) string {
	var issues []string
	if h != nil {
		for _, i := range h.Issues {
			issues = append(issues, string(i.Code)+" "+aws.ToString(i.Message)+" "+strings.Join(i.ResourceIds, " "))
		}
	}
	if issues == nil {
		return "AWS does not say why"
	}
	return strings.Join(issues, "; ")
}

// cluster returns the EKS cluster, nil when it is confirmed to be absent.
func (c *Cloud) cluster(ctx context.Context, t config.SweepTarget) (*ekstypes.Cluster, *region, error) {
	r, err := c.in(ctx, t.Region)
	if err != nil {
		return nil, nil, err
	}
	out, err := call(ctx, c, r.eks.DescribeCluster, &eks.DescribeClusterInput{Name: &t.EKSName})
	if coded(err, eksNotFound) {
		return nil, r, nil
	}
	if err != nil {
		return nil, r, err
	}
	return out.Cluster, r, nil
}

// anothers fails on an EKS cluster that another one has a claim on.
func (c *Cloud) anothers(cluster *ekstypes.Cluster, t config.SweepTarget, s Scope) error {
	if other := c.rules.foreign(cluster.Tags, s); other != "" {
		return fmt.Errorf("[%s] EKS cluster %s carries the tag of cluster %s, which is none of this environment: left alone", t.Region, t.EKSName, other)
	}
	return nil
}

func (c *Cloud) lookCluster(ctx context.Context, t config.SweepTarget) Found {
	cluster, _, err := c.cluster(ctx, t)
	var items []Item
	if cluster != nil {
		items = []Item{{Kind: "EKS cluster", Region: t.Region, ID: t.EKSName, Note: strings.ToLower(string(cluster.Status))}}
	}
	return listed(items, "EKS cluster", t, err)
}

func (c *Cloud) sweepCluster(ctx context.Context, t config.SweepTarget, s Scope, v Voice) error {
	what := fmt.Sprintf("[%s] EKS cluster %s", t.Region, t.EKSName)
	there, r, err := c.cluster(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if there == nil {
		v.Done("EKS cluster %s not found in %s", t.EKSName, t.Region)
		return nil
	}
	if err := c.anothers(there, t, s); err != nil {
		return err
	}
	v.Detail("[%s] deleting EKS cluster %s", t.Region, t.EKSName)
	err = c.until(ctx, v, c.o.Budgets.Cluster, what, func(ctx context.Context) (string, error) {
		switch now, _, err := c.cluster(ctx, t); {
		case err != nil:
			return "", fmt.Errorf("%s: %w", what, err)
		case now == nil:
			return "", nil
		case now.Status == ekstypes.ClusterStatusDeleting:
			return "DELETING", nil
		}
		_, err := call(ctx, c, r.eks.DeleteCluster, &eks.DeleteClusterInput{Name: &t.EKSName})
		switch {
		case coded(err, eksInUse):
			return err.Error(), nil
		case err != nil && !coded(err, eksNotFound):
			return "", fmt.Errorf("delete %s: %w", what, err)
		}
		return "DELETING", nil
	})
	if err == nil {
		v.Done("EKS cluster %s deleted in %s", t.EKSName, t.Region)
	}
	return err
}
