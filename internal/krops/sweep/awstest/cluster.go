package awstest

import (
	"fmt"
	"maps"
	"strings"
)

// Cluster says what to make of a cluster.
type Cluster struct {
	Owner  string
	Region string
	Name   string
	EKS    string            // "" is that of the AWS provider: default_<name>-control-plane
	RDS    string            // "" is krops-<name>-db
	Bucket string            // "" is krops-<account>-<name>-data
	Tags   map[string]string // on everything that takes tags
	Bare   bool              // roles carry no tags
	Rich   bool              // with all that holds a network
	Idle   bool              // without EKS and RDS
}

// AddCluster makes all that a cluster has in an account.
func (a *Account) AddCluster(c Cluster) {
	a.mu.Lock()
	defer a.mu.Unlock()
	preset := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	preset(&c.EKS, "default_"+c.Name+"-control-plane")
	preset(&c.RDS, "krops-"+c.Name+"-db")
	preset(&c.Bucket, "krops-"+a.ID+"-"+c.Name+"-data")
	none := map[string]string{}
	labels := map[string]string{"sigs.k8s.io/cluster-api-provider-aws/cluster/" + c.Name: "owned"}
	maps.Copy(labels, c.Tags)
	thing := func(t Thing) *Thing {
		t.Owner = c.Owner
		if t.Tags == nil {
			t.Tags = labels
		}
		if t.Region == "" {
			t.Region = c.Region
		}
		return a.add(t)
	}
	if !c.Idle {
		thing(Thing{Kind: "cluster", ID: c.EKS, State: "ACTIVE"})
		thing(Thing{Kind: "db", ID: c.RDS, State: "available", Tags: none})
	}
	for i := 0; i < 2 && !c.Idle; i++ {
		thing(Thing{Kind: "nodegroup", ID: fmt.Sprintf("%s/pool-%d", c.EKS, i), State: "ACTIVE", Refs: map[string]string{"cluster": c.EKS}})
	}
	vpc := thing(Thing{Kind: "vpc", State: "available"}).ID
	in := func(t Thing) *Thing {
		t.VPC = vpc
		return thing(t)
	}
	interfaceOf := func(holder, subnet, what string) *Thing {
		return in(Thing{Kind: "eni", State: "in-use", Tags: none, Refs: map[string]string{"holder": holder, "subnet": subnet, "what": what}})
	}
	in(Thing{Kind: "acl", Refs: map[string]string{"default": "true"}, Tags: none})
	in(Thing{Kind: "rtb", Refs: map[string]string{"main": "true"}, Tags: none})
	fallback := in(Thing{Kind: "sg", Refs: map[string]string{"name": "default"}, Tags: none})
	in(Thing{Kind: "igw"})
	var subnets []string
	for i := range 6 {
		subnets = append(subnets, in(Thing{Kind: "subnet"}).ID)
		in(Thing{Kind: "rtb", Refs: map[string]string{"subnet": subnets[i]}})
	}
	var groups []*Thing
	for _, name := range []string{"node", "control-plane", "lb"} {
		groups = append(groups, in(Thing{Kind: "sg", Refs: map[string]string{"name": c.Name + "-" + name}}))
	}
	// Groups that name each other, the default one among them.
	for i, g := range groups {
		g.Lists["ingress"] = []string{groups[(i+1)%len(groups)].ID}
		g.Lists["egress"] = []string{"0.0.0.0/0"}
	}
	fallback.Lists["ingress"] = []string{groups[0].ID}
	for i := range 3 {
		eip := thing(Thing{Kind: "eip"})
		nat := in(Thing{Kind: "nat", State: "available", Refs: map[string]string{"subnet": subnets[i], "eip": eip.ID}})
		eip.Refs["eni"] = interfaceOf(nat.ID, subnets[i], "Interface for NAT Gateway "+nat.ID).ID
	}
	if !c.Idle {
		interfaceOf(c.EKS, subnets[0], "Amazon EKS "+c.EKS)
		interfaceOf(c.RDS, subnets[1], "RDSNetworkInterface")
	}
	if c.Rich {
		in(Thing{Kind: "eigw"})
		in(Thing{Kind: "acl", Refs: map[string]string{"default": "false"}, Tags: none})
		in(Thing{Kind: "eni", State: "available", Refs: map[string]string{"subnet": subnets[2], "what": "aws-K8S-i-0"}, Tags: none})
		for _, kind := range []string{"elb", "elbv2"} {
			lb := in(Thing{Kind: kind, Tags: none})
			interfaceOf(lb.ID, subnets[0], "ELB "+lb.ID)
		}
		endpoint := in(Thing{Kind: "vpce", State: "available"})
		interfaceOf(endpoint.ID, subnets[1], "VPC Endpoint Interface "+endpoint.ID)
		in(Thing{Kind: "pcx", State: "active", Tags: none, Refs: map[string]string{"accepter": "vpc-elsewhere"}})
	}
	roleTags := labels
	if c.Bare {
		roleTags = none
	}
	for _, role := range []string{"", "-iam-service-role", "-nodes"} {
		name := c.Name + role
		a.add(Thing{
			Owner: c.Owner, Kind: "role", ID: name, Tags: roleTags,
			Lists: map[string][]string{"attached": {"arn:aws:iam::aws:policy/AmazonEKSClusterPolicy", "arn:aws:iam::aws:policy/AmazonEKSServicePolicy"}, "inline": {"own"}},
		})
		if role == "-nodes" {
			a.add(Thing{Owner: c.Owner, Kind: "profile", ID: name, Refs: map[string]string{"role": name}})
		}
	}
	bucket := a.add(Thing{Owner: c.Owner, Kind: "bucket", ID: c.Bucket, Refs: map[string]string{"region": c.Region}})
	for i := range 5 {
		key := fmt.Sprintf("backup %d/%s<&>", i, strings.Repeat("ä", i))
		bucket.Objects = append(bucket.Objects, Version{Key: key, ID: "v1"}, Version{Key: key, ID: "v2"}, Version{Key: key, ID: "m3", Marker: true})
	}
}

// AddUser makes a user with everything a user may have.
func (a *Account) AddUser(owner, name string) {
	device := "arn:aws:iam::" + a.ID + ":mfa/" + name
	a.Add(Thing{Owner: owner, Kind: "user", ID: name, Lists: map[string][]string{
		"login": {name}, "key": {"AKIA1", "AKIA2"}, "certificate": {"C1"}, "ssh": {"APKA1"}, "service": {"ACCA1"},
		"mfa": {device, "GAHT12345678"}, "group": {"readers"}, "attached": {"arn:aws:iam::aws:policy/ReadOnlyAccess"}, "inline": {"own"},
	}})
	a.Add(Thing{Owner: owner, Kind: "mfa", ID: device, Refs: map[string]string{"user": name}})
}

// AddRole makes a role with policies.
func (a *Account) AddRole(owner, name string, tags map[string]string) {
	a.Add(Thing{Owner: owner, Kind: "role", ID: name, Tags: tags, Lists: map[string][]string{"inline": {"own"}, "attached": {"arn:aws:iam::aws:policy/ReadOnlyAccess"}}})
}

// AddStack makes a stack of CloudFormation. trouble is why it cannot be deleted.
func (a *Account) AddStack(owner, region, name, trouble string) {
	a.Add(Thing{
		Owner: owner, Region: region, Kind: "stack", ID: "arn:aws:cloudformation:" + region + ":" + a.ID + ":stack/" + name + "/1",
		State: "CREATE_COMPLETE", Refs: map[string]string{"name": name, "trouble": trouble},
	})
}
