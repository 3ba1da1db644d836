package sweep

import (
	"slices"
	"strings"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/holdfast-ops/holdfast/internal/krops/config"
)

// Scope is what belongs to an environment in AWS.
type Scope struct {
	Targets []config.SweepTarget
	Roles   []string // by their whole names
	Users   []string
	Stack   string // of CloudFormation, "" for none
	// Bucket names the bucket of a cluster, "" for none.
	Bucket func(account, cluster string) string
}

// ScopeOf returns the scope of an environment. One without clusters in AWS has
// nothing there, the roles and users of the whole account included.
func ScopeOf(f *config.File, e *config.Environment) (Scope, error) {
	targets, err := e.SweepTargets()
	if err != nil || len(targets) == 0 {
		return Scope{}, err
	}
	t := f.Teardown
	return Scope{Targets: targets, Roles: t.GlobalIAMRoles, Users: t.GlobalIAMUsers, Stack: t.CFNStackName, Bucket: f.Bucket}, nil
}

// Home is the region that is asked for what has none.
func (s Scope) Home() string {
	if len(s.Targets) == 0 {
		return ""
	}
	return s.Targets[0].Region
}

// Regions are those of the targets, each once, in their order.
func (s Scope) Regions() []string {
	var names []string
	for _, t := range s.Targets {
		if !slices.Contains(names, t.Region) {
			names = append(names, t.Region)
		}
	}
	return names
}

const (
	clusterTag = "sigs.k8s.io/cluster-api-provider-aws/cluster/" // with the name of the Cluster
	cloudTag   = "kubernetes.io/cluster/"                        // with that of the Cluster, or of the EKS cluster
	owned      = "owned"
)

// tags are those of a resource.
type tags map[string]string

// owners are the clusters that the tags speak of, by any key, each with whether one of
// them says that it owns the resource. One that shares it does not.
func (t tags) owners() map[string]bool {
	names := map[string]bool{}
	for key, value := range t {
		for _, prefix := range []string{clusterTag, cloudTag} {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				names[name] = names[name] || value == owned
			}
		}
	}
	return names
}

// ofOurs tells whether a cluster of the scope owns the resource.
func (t tags) ofOurs(s Scope) bool {
	for name, owns := range t.owners() {
		if owns && s.has(name) {
			return true
		}
	}
	return false
}

// rules decide what is ours. Tests replace one to see that they would notice.
type rules struct {
	// tagged tells whether the ownership tag makes a resource that of a target.
	tagged func(t tags, target config.SweepTarget) bool
	// role tells whether the name of a role is that of a cluster.
	role func(name, cluster string) bool
	// owns tells whether the tags make a role or profile that of a target.
	owns func(t tags, s Scope) bool
	// foreign names a cluster outside the scope that has a claim on a resource.
	foreign func(t tags, s Scope) string
	// rival names a cluster outside the scope that the name of a role fits too.
	rival func(name string, clusters []string, s Scope) string
	// unfiltered asks AWS for more than what is ours; it is always off.
	unfiltered bool
}

func ours() rules {
	return rules{
		tagged: func(t tags, target config.SweepTarget) bool { return t[target.OwnershipTag()] == owned },
		role: func(name, cluster string) bool {
			rest, ok := strings.CutPrefix(name, cluster)
			return ok && cluster != "" && (rest == "" || rest[0] == '-')
		},
		owns:    tags.ofOurs,
		foreign: foreign,
		rival:   rival,
	}
}

// filter asks AWS for what carries the ownership tag of a target.
func (r rules) filter(t config.SweepTarget) []ec2types.Filter {
	if r.unfiltered {
		return nil
	}
	return filter("tag:"+t.OwnershipTag(), owned)
}

func (s Scope) has(name string) bool {
	return slices.ContainsFunc(s.Targets, func(t config.SweepTarget) bool { return name == t.Cluster || name == t.EKSName })
}

func foreign(t tags, s Scope) string {
	var names []string
	for name := range t.owners() {
		if !s.has(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// rival is the cluster with the longest name, of those outside the scope.
func rival(name string, clusters []string, s Scope) string {
	longest, fits := "", ours().role
	for _, other := range clusters {
		if len(other) > len(longest) && !s.has(other) && fits(name, other) {
			longest = other
		}
	}
	return longest
}
