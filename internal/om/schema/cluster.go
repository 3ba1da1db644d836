package schema

import (
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ClusterSettings are the keywords of the cluster section, without the secret:
// the store reveals it to those who derive keys from it, to nobody else.
type ClusterSettings struct {
	ID       string
	Name     string
	Nodes    []string
	DRPNodes []string
	DNS      []string
	Envs     []string
	CA       []string
	Cert     string
	CRL      string
	Quorum   bool
}

// Keywords declares the keywords of the cluster section.
func (s *ClusterSettings) Keywords(k *keyword.Table) {
	k.String(&s.ID, "id", "Identifies the cluster. The first start of the daemon writes it.").Scopable().DefaultText("A random uuid.").Check(keyword.Word)
	k.String(&s.Name, "name", "The name of the cluster, and the zone of its DNS names.").DefaultText("Two random words.").Eg("cluster1").Check(keyword.Host)
	k.String(new(string), "secret", "What the nodes share, and their keys are derived from. The first start of the daemon writes it.").
		Scopable().DefaultText("Random.")
	k.List(new([]string), "former_secrets", "The former values of the secret that keys of sec and usr objects may still be sealed with, each in base64. "+
		"A change of the secret writes it, and the daemon removes it once it has sealed every key anew.")
	k.List(&s.Nodes, "nodes", "The nodes of the cluster. Joining and leaving write it.").Eg("n1 n2").Check(keyword.Each(keyword.Host))
	k.List(&s.DRPNodes, "drpnodes", "The disaster recovery nodes of the cluster.").Eg("n3").Check(keyword.Each(keyword.Host))
	k.List(&s.DNS, "dns", "The addresses of the name servers of the cluster zone.").Scopable().Eg("192.0.2.11 192.0.2.14").Check(keyword.Each(keyword.Host))
	k.List(&s.Envs, "envs", "The values node.env and DEFAULT.env may have.").
		Default("CERT DEV DRP FOR INT PRA PRD PRJ PPRD QUAL REC STG TMP TST UAT").Check(keyword.Each(keyword.Word))
	k.List(&s.CA, "ca", "The sec objects of the authorities that sign the certificates of users.").
		DefaultText("system/sec/ca").Eg("system/sec/ca").Check(keyword.Each(keyword.Sec))
	k.String(&s.Cert, "cert", "The sec object of the certificate of the listeners.").DefaultText("system/sec/cert").Eg("system/sec/cert").Check(keyword.Sec)
	k.String(&s.CRL, "crl", "Where the list of revoked certificates is fetched from.").Eg("http://crl.example.com").Check(keyword.URLOrFile)
	k.Bool(&s.Quorum, "quorum", "Apply node.split_action to the nodes that see half of the votes, or less.").Default("false")
}

func cluster() keyword.Section {
	return untyped("cluster", "The cluster the node belongs to.",
		func(k *keyword.Table) { (&ClusterSettings{}).Keywords(k) })
}

// ArbitratorSettings are the keywords of an arbitrator section.
type ArbitratorSettings struct {
	Name      string // the index of the section
	URI       string
	Insecure  bool
	Weight    int
	Exclusive bool
	Username  string
	Password  string // the sec object that holds it
}

// Keywords declares the keywords of an arbitrator section.
func (s *ArbitratorSettings) Keywords(k *keyword.Table) {
	k.String(&s.URI, "uri", "The server: a url that must answer with success, or host:port that must accept a connection. The port is that of the listener by default.").
		Required().Alias("name").Eg("https://arbitrator.example.com/vote").Check(keyword.Server)
	k.Bool(&s.Insecure, "insecure", "Do not verify the certificate of the server.").Default("false")
	k.Int(&s.Weight, "weight", "The number of votes of the server.").AtLeast(0).Default("1")
	k.Bool(&s.Exclusive, "exclusive", "Ask for a vote that one part of a split cluster gets, the first to ask. The server is a daemon of another site, and has a user with the heartbeat role.").
		Default("false")
	k.String(&s.Username, "username", "The user of the server, for an exclusive vote.").Default("relay")
	k.String(&s.Password, "password", "The sec object whose key password holds that of the user, for an exclusive vote.").
		Check(keyword.Secret).Default("system/sec/relay")
}

func arbitrator() keyword.Section {
	return numbered("arbitrator", "A server whose vote decides which half of a split cluster survives.",
		func(k *keyword.Table) { (&ArbitratorSettings{}).Keywords(k) })
}

// StonithSettings are the keywords of a stonith section.
type StonithSettings struct {
	Command []string
}

// Keywords declares the keywords of a stonith section.
func (s *StonithSettings) Keywords(k *keyword.Table) {
	k.Shlex(&s.Command, "command", "The command that fences the node. It succeeds only once the node is surely stopped.").
		Required().Scopable().Alias("cmd").Eg("/usr/sbin/fence_ipmilan -a n2-ipmi -o off")
}

func stonith() keyword.Section {
	return numbered("stonith", "How to fence the node the index names.", func(k *keyword.Table) { (&StonithSettings{}).Keywords(k) })
}

func unixGroup() keyword.Section {
	return numbered("uxgroup", "What the local accounts of the unix group the index names may do.", func(t *keyword.Table) {
		unread{t}.t.Lower(new([]string), "grant", "Roles, each with the namespaces it holds for.").Eg("operator:ns1").Check(grants)
	})
}

// grants is the rule of what users are given.
func grants(text string) error {
	_, err := rbac.Parse(strings.ToLower(text))
	return err
}
