package config_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

func TestAddressPlans(t *testing.T) {
	t.Parallel()
	workload := func(region, name string) *config.AWSWorkload {
		return &config.AWSWorkload{Region: region, ClusterName: name}
	}
	aws := func(mgmt string, workloads ...*config.AWSWorkload) *config.Environment {
		return &config.Environment{Name: "aws", Archetype: config.AWS, MgmtCluster: mgmt, Teardown: config.Teardown{AWSWorkloads: workloads}}
	}
	north, west := workload("eu-north-1", "eu-north-1-workload"), workload("eu-west-1", "eu-west-1-workload")
	for name, c := range map[string]struct {
		e    *config.Environment
		want []config.AddressPlan
	}{
		"E1 two regions": {aws("eu-north-1-management", north, west), []config.AddressPlan{
			{Region: "eu-north-1", Clusters: []string{"eu-north-1-workload", "eu-north-1-management"}, Required: 6},
			{Region: "eu-west-1", Clusters: []string{"eu-west-1-workload"}, Required: 3},
		}},
		"E2 one region": {aws("eu-north-1-management", north), []config.AddressPlan{
			{Region: "eu-north-1", Clusters: []string{"eu-north-1-workload", "eu-north-1-management"}, Required: 6},
		}},
		"E3 elsewhere": {aws("us-east-1-management", west), []config.AddressPlan{
			{Region: "eu-west-1", Clusters: []string{"eu-west-1-workload"}, Required: 3},
			{Region: "us-east-1", Clusters: []string{"us-east-1-management"}, Required: 3},
		}},
		"E5 no workloads":   {aws("eu-north-1-management"), []config.AddressPlan{{Region: "eu-north-1", Clusters: []string{"eu-north-1-management"}, Required: 3}}},
		"E6 no AWS at all":  {&config.Environment{Name: "gcp", Archetype: config.GCP, MgmtCluster: "x"}, nil},
		"Q18 us-gov-west-1": {aws("us-gov-west-1-management"), []config.AddressPlan{{Region: "us-gov-west-1", Clusters: []string{"us-gov-west-1-management"}, Required: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plans, err := c.e.AddressPlans()
			same(t, plans, c.want, err, nil)
		})
	}
	_, err := aws("eu-north-1-mgmt").AddressPlans() // E4
	refused(t, err, "does not end with '-management'")
	plans, err := aws("eu-north-1-management", north).AddressPlans() // E7
	same(t, err, nil, plans[0].OwnershipTags(), []string{
		"sigs.k8s.io/cluster-api-provider-aws/cluster/eu-north-1-workload", "sigs.k8s.io/cluster-api-provider-aws/cluster/eu-north-1-management",
	})
}

func TestE8E10TheShortfallOfAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range [][5]int{ // limit, allocated, owned, required, missing
		{5, 0, 0, 6, 1},
		{5, 0, 0, 3, 0},
		{8, 6, 6, 6, 0},
		{8, 3, 3, 6, 0},
		{8, 5, 0, 6, 3},
		{8, 7, 3, 6, 2},
		{8, 3, 0, 6, 1},
		{5, 7, 0, 3, 3},
		{5, 0, 2, 3, 0},
	} {
		missing, _ := config.AddressPlan{Required: c[3]}.Shortfall(c[0], c[1], c[2])
		if missing != c[4] {
			t.Errorf("%v: %d", c, missing)
		}
	}
	_, desired := config.AddressPlan{Required: 3}.Shortfall(5, 7, 0)
	same(t, desired, 10)
}

func TestSubstitute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text    string
		values  map[string]string
		want    string
		missing []string
	}{
		"V1":                      {"${A} ${B} ${C}", map[string]string{"A": "1", "B": "2"}, "1 2 ${C}", []string{"C"}},
		"V2 the default":          {"${X:=mgmt}", nil, "mgmt", nil},
		"V2 a value":              {"${X:=mgmt}", map[string]string{"X": "kind"}, "kind", nil},
		"V3":                      {"${X}", nil, "${X}", []string{"X"}},
		"each once, in order":     {"${B}${A}${B}", nil, "${B}${A}${B}", []string{"B", "A"}},
		"never closed":            {"a ${B", map[string]string{"B": "1"}, "a ${B", nil},
		"a value is not expanded": {"${A}", map[string]string{"A": "${B}"}, "${B}", nil},
		"an empty value":          {"[${A}]", map[string]string{"A": ""}, "[]", nil},
		"nothing":                 {"$A {B} $", nil, "$A {B} $", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filled, missing := config.Substitute(c.text, c.values)
			same(t, filled, c.want, missing, c.missing)
		})
	}
}
