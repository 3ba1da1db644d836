package config

import "strings"

// SweepTarget is a cluster whose AWS resources are swept or reported.
type SweepTarget struct {
	Region      string
	Cluster     string
	EKSName     string
	RDSInstance string
	Management  bool
}

// OwnershipTag is the key of the tag that marks what belongs to the cluster.
func (t SweepTarget) OwnershipTag() string {
	return "sigs.k8s.io/cluster-api-provider-aws/cluster/" + t.Cluster
}

// SweepTargets are the workload clusters, then the management cluster when both
// of its names are known.
func (e *Environment) SweepTargets() ([]SweepTarget, error) {
	var targets []SweepTarget
	for _, w := range e.Teardown.AWSWorkloads {
		targets = append(targets, SweepTarget{Region: w.Region, Cluster: w.ClusterName, EKSName: w.EKSClusterName, RDSInstance: w.RDSInstance})
	}
	if t := e.Teardown; t.MgmtEKSClusterName != "" && t.MgmtIAMRolePrefix != "" {
		region, err := e.Region()
		if err != nil {
			return nil, err
		}
		targets = append(targets, SweepTarget{
			Region: region, Cluster: t.MgmtIAMRolePrefix, EKSName: t.MgmtEKSClusterName,
			RDSInstance: "krops-" + t.MgmtIAMRolePrefix + "-db", Management: true,
		})
	}
	return targets, nil
}

// Bucket is the name of the bucket of a cluster, "" when there is no pattern or
// the account is not known.
func (f *File) Bucket(account, cluster string) string {
	if f.Teardown.S3BucketPattern == "" || account == "" {
		return ""
	}
	return strings.NewReplacer("{account_id}", account, "{cluster_name}", cluster).Replace(f.Teardown.S3BucketPattern)
}
