package config

import (
	"maps"
	"slices"
)

// addressesPerCluster is one NAT gateway in each of three zones.
const addressesPerCluster = 3

// AddressPlan is how many Elastic IPs the clusters of a region will hold.
type AddressPlan struct {
	Region   string
	Clusters []string // the workloads, then the management cluster
	Required int
}

// AddressPlans returns what each region needs, in the order of their names. Only
// AWS environments need any.
func (e *Environment) AddressPlans() ([]AddressPlan, error) {
	if e.Archetype != AWS {
		return nil, nil
	}
	region, err := e.Region()
	if err != nil {
		return nil, err
	}
	clusters := map[string][]string{}
	for _, w := range e.Teardown.AWSWorkloads {
		clusters[w.Region] = append(clusters[w.Region], w.ClusterName)
	}
	clusters[region] = append(clusters[region], e.MgmtCluster)
	plans := make([]AddressPlan, 0, len(clusters))
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		plans = append(plans, AddressPlan{name, clusters[name], addressesPerCluster * len(clusters[name])})
	}
	return plans, nil
}

// OwnershipTags are the tags that mark the addresses of the clusters.
func (p AddressPlan) OwnershipTags() []string {
	tags := make([]string, len(p.Clusters))
	for i, name := range p.Clusters {
		tags[i] = SweepTarget{Cluster: name}.OwnershipTag()
	}
	return tags
}

// Shortfall is how many addresses are missing, and the quota to ask for, when
// allocated ones are in use and owned of them are ours.
func (p AddressPlan) Shortfall(limit, allocated, owned int) (missing, desired int) {
	foreign := max(0, allocated-owned)
	return max(0, p.Required-max(0, limit-foreign)), foreign + p.Required
}
