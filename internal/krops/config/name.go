package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A naming is what a system takes for the name of something.
type naming struct {
	pattern *regexp.Regexp
	most    int // characters
	least   int
	rule    string // for people
}

const (
	label     = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?`
	subdomain = label + `(?:\.` + label + `)*`
	// core are the resources that have no group.
	core = `secrets|configmaps|namespaces|serviceaccounts|services|endpoints|pods|nodes|persistentvolumes|persistentvolumeclaims|limitranges|resourcequotas|replicationcontrollers|podtemplates`
)

// namings are what Kubernetes, engines, Git, Helm and AWS take.
type namings struct {
	namespace, object, cluster, container, host, kind, environment, branch, version, resource, any *naming
	region, eks, database, bucket, identity, stack                                                 *naming
}

func taken() namings {
	like := func(pattern string, least, most int, rule string) *naming {
		return &naming{regexp.MustCompile(`^(?:` + pattern + `)$`), most, least, rule}
	}
	const (
		subdomains = "lower-case letters, digits, - and . between letters or digits"
		plain      = "letters, digits, and _ . - after the first"
	)
	return namings{
		namespace: like(label, 1, 63, "lower-case letters, digits, and - between them"),
		object:    like(subdomain, 1, 253, subdomains),
		// Cluster API writes the name of a Cluster on what it makes, as the value of a label.
		cluster: like(subdomain, 1, 63, subdomains),
		// The node is named after the cluster, and that is the name of its host.
		kind:        like(subdomain, 1, 63-len("-control-plane"), subdomains),
		host:        like(subdomain, 1, 63, subdomains),
		container:   like(`[a-zA-Z0-9][a-zA-Z0-9_.-]*`, 1, 200, plain),
		environment: like(`[a-zA-Z0-9][a-zA-Z0-9_.-]*`, 1, 200, plain),
		version:     like(`v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?`, 5, 256, "a whole version like 1.2.3"),
		branch:      like(`[^\x00-\x20\x7f~^:?*\[\\]+`, 1, 250, "no spaces, none of ~ ^ : ? * [ \\"),
		resource:    like(core+`|`+label+`\.`+subdomain, 3, 253, "the plural name, a dot, the group"),
		any:         like(`[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?`, 1, 253, subdomains),

		region:   like(`[a-z]+(?:-[a-z]+)+-[0-9]+`, 1, 63, "like eu-north-1"),
		eks:      like(`[a-zA-Z0-9][a-zA-Z0-9_-]*`, 1, 100, "letters, digits, and _ - after the first"),
		database: like(`[a-zA-Z][a-zA-Z0-9]*(?:-[a-zA-Z0-9]+)*`, 1, 63, "letters, digits, and single - between them, a letter first"),
		bucket:   like(subdomain, 3, 63, subdomains),
		identity: like(`[\w+=,.@-]+`, 1, 64, "letters, digits and _ + = , . @ -"),
		stack:    like(`[a-zA-Z][a-zA-Z0-9-]*`, 1, 128, "letters, digits and -, a letter first"),
	}
}

// wrong says why a text is no such name, "" when it is one.
func (n *naming) wrong(text string) string {
	switch {
	case len(text) > n.most:
		return fmt.Sprintf("has %d characters, %d are the most", len(text), n.most)
	case len(text) < n.least:
		return fmt.Sprintf("has %d characters, %d are the least", len(text), n.least)
	case !n.pattern.MatchString(text):
		return "is none that is taken: " + n.rule
	}
	return ""
}

// name reports a value that whoever makes the thing will refuse. What is empty is
// told by the decoder, or need not be there.
func (l *linter) name(at address, n *naming, what, text string) bool {
	if text == "" {
		return true
	}
	why := n.wrong(text)
	if why != "" {
		l.problem(at, "%s: %s %q %s", at, what, text, why)
	}
	return why == ""
}

// shared checks the names that all environments share.
func (l *linter) shared() {
	n, b, at := l.taken, l.Bootstrap, address{"bootstrap"}
	l.name(at.child("git-branch"), n.branch, "the branch", b.GitBranch)
	if bad := []string{"..", "//", "@{"}; slices.ContainsFunc(bad, func(s string) bool { return strings.Contains(b.GitBranch, s) }) ||
		strings.ContainsAny(b.GitBranch[:min(1, len(b.GitBranch))], "-/.") || strings.HasSuffix(b.GitBranch, "/") || strings.HasSuffix(b.GitBranch, ".") || strings.HasSuffix(b.GitBranch, ".lock") {
		l.problem(at.child("git-branch"), "bootstrap.git-branch: Git takes no branch %q", b.GitBranch)
	}
	l.name(at.child("kind-cluster"), n.kind, "the name of the kind cluster, to which kind adds -control-plane for that of its node,", b.KindCluster)
	if l.name(at.child("registry-name"), n.container, "the name of the container", b.RegistryName) {
		l.name(at.child("registry-name"), n.host, "the name of the host of the registry", b.RegistryName)
	}
	l.name(at.child("flux-namespace"), n.namespace, "the name of the namespace", b.FluxNamespace)
	l.name(at.child("mgmt-namespace"), n.namespace, "the name of the namespace", b.MgmtNamespace)
	// Without Git there are no such Secrets, and anything stands for their names.
	if slices.ContainsFunc(l.Environments, func(e *Environment) bool { return e.Sync == SyncGithub }) {
		l.name(at.child("github-pat-secret"), n.object, "the name of the Secret", b.GithubPATSecret)
		l.name(at.child("sops-age-secret"), n.object, "the name of the Secret", b.SopsAgeSecret)
		if b.GithubPATSecret != "" && b.GithubPATSecret == b.SopsAgeSecret {
			l.problem(at.child("sops-age-secret"), "bootstrap.sops-age-secret is the same Secret as github-pat-secret: one would overwrite the other")
		}
	}
	charts := address{"charts"}
	for _, name := range l.document.order[charts.id()] {
		l.name(charts.child(name), n.version, "the version", l.Charts[name])
	}
	account, t := address{"teardown"}, l.Teardown
	l.name(account.child("cfn-stack-name"), n.stack, "the name of the stack", t.CFNStackName)
	for _, name := range t.GlobalIAMRoles {
		l.name(account.child("global-iam-roles"), n.identity, "the name of the role", name)
	}
	for _, name := range t.GlobalIAMUsers {
		l.name(account.child("global-iam-users"), n.identity, "the name of the user", name)
	}
}

// identities checks the names of an environment, and those that are made of them.
func (l *linter) identities(at address, e *Environment) {
	n := l.taken
	l.name(at, n.environment, "the name of the environment", e.Name)
	if e.MgmtReadyTimeout.Duration <= 0 {
		l.problem(at.child("mgmt-ready-timeout"), "%s: it is 0, so no management cluster would ever be ready in time", at.child("mgmt-ready-timeout"))
	}
	l.cluster(at.child("mgmt-cluster"), e, e.MgmtCluster)
	l.name(at.child("mgmt-region"), n.region, "the name of the region", e.MgmtRegion)
	l.name(at.child("infra-provider-namespace"), n.namespace, "the name of the namespace", e.InfraProviderNamespace)
	l.name(at.child("infra-provider-name"), n.object, "the name of the provider", e.InfraProviderName)
	seen := map[string]bool{}
	for i, m := range e.MoveFallbacks {
		one := at.child("move-fallbacks").child(index(i))
		l.name(one.child("resource"), n.resource, "the resource", m.Resource)
		l.name(one.child("name"), n.any, "the name of the object", m.Name)
		if seen[m.Resource+"/"+m.Name] {
			l.problem(one.child("name"), "%s: %s %s is there twice", one.child("name"), m.Resource, m.Name)
		}
		seen[m.Resource+"/"+m.Name] = true
	}
}

// cluster checks the name of a Cluster.
func (l *linter) cluster(at address, e *Environment, name string) {
	if l.name(at, l.taken.cluster, "the name of the Cluster", name) && e.Archetype == LocalHost {
		if name != "" && name == l.Bootstrap.KindCluster {
			l.problem(at, "%s: %s is kind-cluster too: both mark their containers with it", at, name)
		}
		l.name(at, l.taken.host, "the name of the Cluster makes the host of its load balancer:", name+"-lb")
	}
}

// swept checks what a teardown looks for: a name that is none, or that of another
// thing, is found out when something was deleted already.
func (l *linter) swept(at address, e *Environment) {
	n, t := l.taken, e.Teardown
	seen := map[string]string{e.MgmtCluster: "mgmt-cluster"}
	once := func(at address, name string) {
		if other := seen[name]; other != "" && name != "" {
			l.problem(at, "%s: %s is that of %s too", at, name, other)
		}
		seen[name] = at.String()
	}
	for i, name := range t.CAPIWorkloads {
		one := at.child("capi-workloads").child(index(i))
		// A problem of a list is told at the list.
		l.cluster(at.child("capi-workloads"), e, name)
		if other := seen[name]; other != "" {
			l.problem(at.child("capi-workloads"), "%s: %s is that of %s too", one, name, other)
		}
		seen[name] = one.String()
	}
	if prefix := strings.TrimSuffix(t.MgmtContainerPrefix, "-"); prefix != "" && prefix != e.MgmtCluster {
		l.problem(at.child("mgmt-container-prefix"), "mgmt-container-prefix must be mgmt-cluster, %s, it is %s: containers of others begin with it, or none of this cluster do",
			e.MgmtCluster, t.MgmtContainerPrefix)
	}
	for i, w := range t.AWSWorkloads {
		one := at.child("aws-workloads").child(index(i))
		l.name(one.child("region"), n.region, "the name of the region", w.Region)
		l.cluster(one.child("cluster-name"), e, w.ClusterName)
		once(one.child("cluster-name"), w.ClusterName)
		l.name(one.child("eks-cluster-name"), n.eks, "the name of the EKS cluster", w.EKSClusterName)
		l.name(one.child("rds-instance"), n.database, "the name of the database instance", w.RDSInstance)
		l.bucket(one.child("cluster-name"), w.ClusterName)
	}
	prefix := at.child("mgmt-iam-role-prefix")
	l.name(prefix, n.identity, "what the names of roles begin with,", t.MgmtIAMRolePrefix)
	l.name(at.child("mgmt-eks-cluster-name"), n.eks, "the name of the EKS cluster", t.MgmtEKSClusterName)
	if t.MgmtEKSClusterName == "" || t.MgmtIAMRolePrefix == "" {
		return
	}
	if t.MgmtIAMRolePrefix != e.MgmtCluster {
		l.problem(prefix, "mgmt-iam-role-prefix must be mgmt-cluster, %s, it is %s: the sweep takes what carries the tag of that cluster", e.MgmtCluster, t.MgmtIAMRolePrefix)
	}
	if want := l.Bootstrap.MgmtNamespace + "_" + e.MgmtCluster + "-control-plane"; t.MgmtEKSClusterName != want {
		l.problem(at.child("mgmt-eks-cluster-name"), "mgmt-eks-cluster-name must be %s, it is %s", want, t.MgmtEKSClusterName)
	}
	l.name(prefix, n.database, "the name of the database instance", "krops-"+t.MgmtIAMRolePrefix+"-db")
	l.bucket(prefix, t.MgmtIAMRolePrefix)
}

// bucket checks the bucket that a cluster gets by the pattern.
func (l *linter) bucket(at address, cluster string) {
	const account = "123456789012"
	if name := l.Bucket(account, cluster); name != "" {
		l.name(at, l.taken.bucket, "s3-bucket-pattern makes the name of a bucket that", name)
	}
}

// made checks the names of what a bootstrap makes: what would be refused once there
// is a kind cluster is refused before.
func (s *Settings) made() []error {
	n, b, e := taken(), s.File.Bootstrap, s.Environment
	var wrong []error
	type check struct {
		n          *naming
		what, text string
	}
	checks := []check{
		{n.kind, "the name of the kind cluster", s.KindCluster},
		{n.namespace, "bootstrap.flux-namespace", b.FluxNamespace},
		{n.namespace, "bootstrap.mgmt-namespace", b.MgmtNamespace},
		{n.cluster, "mgmt-cluster", e.MgmtCluster},
		{n.namespace, "infra-provider-namespace", e.InfraProviderNamespace},
		{n.object, "infra-provider-name", e.InfraProviderName},
	}
	if s.NeedsGithub() {
		checks = append(checks, check{n.object, "bootstrap.github-pat-secret", b.GithubPATSecret}, check{n.object, "bootstrap.sops-age-secret", b.SopsAgeSecret})
	}
	for _, c := range checks {
		if why := c.n.wrong(c.text); why != "" {
			wrong = append(wrong, fmt.Errorf("%s %q %s", c.what, c.text, why))
		}
	}
	if s.ReadyTimeout.Duration <= 0 {
		wrong = append(wrong, fmt.Errorf("mgmt-ready-timeout of environment %s is 0: no management cluster would ever be ready in time", e.Name))
	}
	return wrong
}
