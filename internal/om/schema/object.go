package schema

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// ObjectSettings are the keywords of the DEFAULT section of an object,
// evaluated on one node.
type ObjectSettings struct {
	Kind object.Kind // tells which default values apply; svc when empty

	ID      string
	App     string
	Env     string
	Comment string

	Nodes      []string
	DRPNodes   []string
	EncapNodes []string

	Topology    string
	Orchestrate string
	Placement   string
	Priority    int
	FlexMin     int
	FlexMax     int
	FlexTarget  int
	FlexPrimary []string

	MonitorAction     []string
	PreMonitorAction  string
	Rollback          bool
	Stonith           bool
	StonithBestEffort bool
	Disable           bool
	Shared            bool
	Provision         bool
	Unprovision       bool
	CreatePG          bool

	Parents          []string
	Children         []string
	HardAffinity     []string
	HardAntiAffinity []string
	SoftAffinity     []string
	SoftAntiAffinity []string

	// The timeouts of actions; zero is none.
	Timeout            time.Duration
	StartTimeout       time.Duration
	StopTimeout        time.Duration
	StatTimeout        time.Duration
	StatusTimeout      time.Duration
	ProvisionTimeout   time.Duration
	UnprovisionTimeout time.Duration
	SyncTimeout        time.Duration
	WaitSyncsTimeout   time.Duration

	StatusSchedule  string
	MonitorSchedule string
	InfoSchedule    string
	RunSchedule     string
	SyncSchedule    string
	CompSchedule    string

	Volume      VolumeSettings
	Share       []string
	Certificate CertificateSettings
	Grant       []string // of a user
	UnixUser    string   // of a user: the local account
	Rootless    RootlessSettings
}

// VolumeSettings tell where the storage of a volume comes from.
type VolumeSettings struct {
	Pool        string
	Access      string
	Size        int64
	DevicesFrom []string
}

// CertificateSettings describe the certificate of a sec or of a user.
type CertificateSettings struct {
	CommonName   string
	AltNames     []string
	CA           string
	Country      string
	State        string
	Locality     string
	Organization string
	Unit         string
	Email        string
	Bits         int64
	Validity     time.Duration
}

// ACMESection is the section of a sec that names an ACME directory.
const ACMESection = "acme"

// ACMESettings tell how the certificate of a sec is issued and renewed.
type ACMESettings struct {
	Directory   string
	Webroot     string
	RenewBefore time.Duration
}

// Keywords declares the keywords of the acme section.
func (s *ACMESettings) Keywords(k *keyword.Table) {
	k.String(&s.Directory, "directory", "The directory that issues the certificate: letsencrypt, letsencrypt-staging, or a url.").Check(directory).Eg("letsencrypt")
	k.String(&s.Webroot, "webroot", "The directory where a web server reads the answers to the challenges.").Check(keyword.File).Eg("/srv/www")
	k.Duration(&s.RenewBefore, "renew_before", "How long before its expiry the certificate is renewed.").Default("30d")
}

// RootlessSettings are the accounts the containers of a namespace may run as.
type RootlessSettings struct {
	Users  []string
	Groups []string
}

// SubsetSettings are the keywords of a subset section.
type SubsetSettings struct {
	Parallel bool
}

// Keywords declares the keywords of a subset.
func (s *SubsetSettings) Keywords(k *keyword.Table) {
	k.Bool(&s.Parallel, "parallel", "Act on the resources of the subset all at once instead of one after the other.").
		Scopable()
	caps(k)
}

func head(kind object.Kind) keyword.Section {
	return untyped(config.DefaultSection, "The settings of the object itself. Resources inherit the keywords that both have.",
		func(k *keyword.Table) { (&ObjectSettings{Kind: kind}).Keywords(k) })
}

func subset() keyword.Section {
	return numbered("subset", "How a set of resources is acted upon. The index is the name of the subset, or group:name to designate its resources of one group.",
		func(k *keyword.Table) { (&SubsetSettings{}).Keywords(k) })
}

func environment() keyword.Section {
	return keyword.Section{
		Name: "env", Open: true, OpenScopable: true, Types: single(func(*keyword.Table) {}),
		Doc: "Free settings, for other keywords to refer to as {env.name}.",
	}
}

func labels() keyword.Section {
	return keyword.Section{
		Name: "labels", Open: true, Types: single(func(*keyword.Table) {}),
		Doc: "Free words that describe, for selectors and references.",
	}
}

func data() keyword.Section {
	return keyword.Section{
		Name: "data", Open: true, Types: single(func(*keyword.Table) {}),
		Doc: "The keys of the object, encoded. The key commands write it.",
	}
}

func acme() keyword.Section {
	return untyped(ACMESection, "How the certificate is obtained from an ACME directory.",
		func(k *keyword.Table) { (&ACMESettings{}).Keywords(k) })
}

// directory is the rule of ACME directories.
func directory(text string) error {
	if text == "letsencrypt" || text == "letsencrypt-staging" || strings.HasPrefix(text, "https://") && keyword.URL(text) == nil || text == "" {
		return nil
	}
	return errors.New("no directory: write letsencrypt, letsencrypt-staging, or the https url of one")
}

func claim() keyword.Section {
	return numbered("claim", "What the objects of the namespace may take, all together, of what the cluster shares.", func(t *keyword.Table) {
		k := unread{t}
		k.text("type", "What is claimed.").Required().OneOf("pool", "network", "cpu", "memory")
		k.text("name", "The pool or the network claimed.").Check(keyword.Word).Eg("tank")
		k.text("limit", "How much the objects may take.").Check(keyword.Amount).Required().Eg("250m")
		k.text("default", "What a container that says nothing is capped to.").Check(keyword.Amount).Eg("100m")
	})
}

const (
	svc   = object.KindSvc
	vol   = object.KindVol
	cfg   = object.KindCfg
	sec   = object.KindSec
	usr   = object.KindUsr
	nscfg = object.KindNscfg
)

// Keywords declares the keywords of the DEFAULT section.
func (s *ObjectSettings) Keywords(k *keyword.Table) {
	k.String(&s.ID, "id", "Identifies the object, whatever it is renamed or moved to. The agent writes it at the first commit.").
		DefaultText("A random uuid.").Recorded().Eg("0e745444-6724-48f9-8167-e865b4f9ec94")
	k.String(&s.App, "app", "The application the object belongs to, for the collector to attribute and authorize.").Default("default").Check(keyword.Word)
	k.String(&s.Env, "env", "The environment the object serves. By default that of the node.").Check(keyword.Word).
		Inherit(config.HeadOnly).Alias("service_type").DefaultText("The value of node.env.").Eg("PRD")
	k.String(&s.Comment, "comment", "A remark for the reader. The agent does not use it.")
	s.placement(k)
	s.relations(k)
	s.behaviour(k)
	s.timeouts(k)
	s.schedules(k)
	s.volume(k)
	s.certificate(k)
	s.access(k)
}

func (s *ObjectSettings) placement(k *keyword.Table) {
	nodes := k.Nodes(&s.Nodes, "nodes", "The nodes that may hold an instance, in order of preference. A node selector.").
		Scopable().Inherit(config.HeadOnly).Eg("n1 n2")
	if s.Kind.Runs() || s.Kind == "" {
		nodes.DefaultText("The node where the object is created.")
	} else {
		nodes.Default("*")
	}
	k.Peers(&s.DRPNodes, "drpnodes", "The disaster recovery nodes. A node selector.").Scopable().Inherit(config.HeadOnly).Eg("n3")
	k.List(&s.EncapNodes, "encapnodes", "The containers and virtual machines, by host name, where an agent runs the encapsulated part of the object.").Check(keyword.Each(keyword.Host)).
		Inherit(config.HeadOnly).For(svc).Eg("vm11 vm12")
	k.String(&s.Topology, "topology", "failover: one instance is up. flex: several are, between flex_min and flex_max.").
		Inherit(config.HeadOnly).Alias("cluster_type").Default("failover").OneOf("failover", "flex").For(svc, vol)
	k.String(&s.Orchestrate, "orchestrate", "no: the agent starts nothing by itself. start: it starts the instance of the best node at boot. ha: it starts another instance when a node or an instance fails.").
		Inherit(config.HeadOnly).Default("no").OneOf("ha", "no", "start").For(svc)
	k.String(&s.Placement, "placement", "How the best nodes are chosen. nodes order: the first of nodes. shift: the same, rotated by the index of the scaler slice. spread: by a hash. load avg: the least loaded. score: the best score. last start: the last one that started. none: no preference.").
		Inherit(config.HeadOnly).Default("nodes order").
		OneOf("", "last start", "load avg", "nodes order", "none", "score", "shift", "spread").For(svc, vol)
	k.Int(&s.Priority, "priority", "The place of the object in queues: the lower go first.").
		Inherit(config.HeadOnly).Default("50").For(svc)
	k.Int(&s.FlexMin, "flex_min", "Under that many instances up, the object is in warning.").
		Inherit(config.HeadOnly).Alias("flex_min_nodes").AtLeast(0).Default("1").For(svc, vol).When("topology=flex")
	k.Int(&s.FlexMax, "flex_max", "Over that many instances up, the object is in warning.").
		Inherit(config.HeadOnly).Alias("flex_max_nodes").AtLeast(0).Default("{#nodes}").DefaultText("The number of nodes.").For(svc, vol).When("topology=flex")
	k.Int(&s.FlexTarget, "flex_target", "The number of instances the agent keeps up, between flex_min and flex_max.").
		Inherit(config.HeadOnly).AtLeast(0).Default("{flex_min}").DefaultText("The value of flex_min.").For(svc, vol).When("topology=flex")
	k.Lower(&s.FlexPrimary, "flex_primary", "The node that leads the provisioning and the synchronizations.").Check(keyword.Each(keyword.Host)).
		Scopable().Inherit(config.HeadOnly).DefaultText("The first of nodes.").For(svc, vol).When("topology=flex")
}

func (s *ObjectSettings) relations(k *keyword.Table) {
	relation := func(p *[]string, name, help, example string) *keyword.Keyword {
		return k.Lower(p, name, help).Inherit(config.HeadOnly).For(svc, vol).Eg(example).Check(objects)
	}
	relation(&s.Parents, "parents", "The objects that must be up before this one starts. path@node designates one instance.", "./svc/db")
	relation(&s.Children, "children", "The objects that must be down before this one stops.", "./svc/web")
	relation(&s.HardAffinity, "hard_affinity", "The objects that must be up on the node where this one starts.", "svc1").Alias("affinity")
	relation(&s.HardAntiAffinity, "hard_anti_affinity", "The objects that must not be up on the node where this one starts.", "svc2").Alias("anti_affinity")
	relation(&s.SoftAffinity, "soft_affinity", "The objects this one prefers the company of, as long as a node allows it.", "svc1")
	relation(&s.SoftAntiAffinity, "soft_anti_affinity", "The objects this one avoids the company of, as long as a node allows it.", "svc2")
}

// objects is the rule of lists of objects, or of instances as path@node.
func objects(text string) error {
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		path, node, scoped := strings.Cut(word, "@")
		if scoped && node == "" {
			return fmt.Errorf("%q: no node after @: write path@node, or path alone for the object", word)
		}
		if _, err := object.ParseRelative(path, object.RootNamespace); err != nil {
			return err
		}
	}
	return nil
}

func (s *ObjectSettings) behaviour(k *keyword.Table) {
	k.List(&s.MonitorAction, "monitor_action", "What to do when a monitored resource stays down once its restarts are spent. A second word is done when the first one fails.").
		Scopable().Inherit(config.HeadOnly).Default("none").OneOf("crash", "freezestop", "none", "reboot", "switch").For(svc, vol)
	k.String(&s.PreMonitorAction, "pre_monitor_action", "A command run before monitor_action, for example to keep evidence.").Check(keyword.Command).
		Scopable().Inherit(config.HeadOnly).For(svc, vol).Eg("/usr/local/bin/keep-logs")
	k.Bool(&s.Rollback, "rollback", "When a start fails, stop what that start brought up.").
		Scopable().Default("true").For(svc, vol)
	k.Bool(&s.Stonith, "stonith", "Fence the node that held the instance, when it is lost, before starting elsewhere.").
		Inherit(config.HeadOnly).Default("false").For(svc, vol).When("topology=failover")
	k.Bool(&s.StonithBestEffort, "stonith_best_effort", "Start elsewhere even though the node that held the instance could not be fenced. The instance may then be active twice.").
		Inherit(config.HeadOnly).Default("false").For(svc, vol).When("topology=failover")
	k.Bool(&s.Disable, "disable", "Ignore every resource of the object.").Scopable().For(svc, vol)
	k.Bool(&s.Shared, "shared", "Provision on one node, the leader, what the other nodes then only see.").
		Scopable().Default("true").For(svc, vol)
	k.Bool(&s.Provision, "provision", "Let the provision action make the resources. When false they must be there already.").
		Scopable().Default("true").For(svc, vol)
	k.Bool(&s.Unprovision, "unprovision", "Let the unprovision action destroy the resources.").
		Scopable().Default("true").For(svc, vol)
	k.Bool(&s.CreatePG, "create_pg", "Run the processes of the object in a process group of its own, that can be capped.").
		Scopable().Default("true").For(svc, vol, nscfg)
	caps(k)
}

// caps declares the limits of a process group.
func caps(t *keyword.Table) {
	k := unread{t}
	limit := func(k *keyword.Keyword, example string) *keyword.Keyword {
		k.Help += " The word default lifts it."
		return k.Scopable().Inherit(config.LeafOnly).For(svc, vol, nscfg).OrWord("default").Eg(example)
	}
	limit(k.text("pg_cpus", "The processors the processes may run on.").Check(keyword.Numbers), "0-2").When("create_pg=true")
	limit(k.text("pg_mems", "The memory nodes the processes may allocate from.").Check(keyword.Numbers), "0,1")
	limit(k.bytes("pg_cpu_shares", "The weight of the processes when processors are scarce."), "512")
	limit(k.text("pg_cpu_quota", "The processor time allowed, on an idle node too: 50% is half a processor, 50%@all half of all, 10%@2 a tenth of two.").Check(keyword.Quota), "50%@all")
	limit(k.text("pg_cpu_burst", "The processor time that may be saved under the quota and spent in a spike, as pg_cpu_quota is written.").Check(keyword.Quota), "20%")
	limit(k.bytes("pg_mem_limit", "The resident memory above which the kernel kills."), "512m")
	limit(k.bytes("pg_mem_high", "The resident memory above which the kernel reclaims and slows down."), "400m")
	limit(k.bytes("pg_vmem_limit", "The memory and swap allowed together."), "1g")
	limit(k.number("pg_pids_max", "The number of processes and threads allowed.").AtLeast(1), "500")
	limit(k.text("pg_mem_oom_control", "0 kills when memory runs out, 1 freezes instead. Without effect on a unified hierarchy.").Between(0, 1), "1")
	limit(k.text("pg_mem_swappiness", "How readily memory is swapped out. Without effect on a unified hierarchy.").Between(0, 200), "40")
	limit(k.text("pg_blkio_weight", "The weight of the processes when disks are busy, from 10 to 1000.").Between(10, 1000), "50")
}

func (s *ObjectSettings) timeouts(k *keyword.Table) {
	timeout := func(p *time.Duration, name, help string) *keyword.Keyword {
		return k.Duration(p, name, help).Scopable().For(svc, vol).Eg("1m30s")
	}
	timeout(&s.Timeout, "timeout", "How long an action may take, when it has no timeout of its own.").Default("1h")
	timeout(&s.StartTimeout, "start_timeout", "How long a start may take.")
	timeout(&s.StopTimeout, "stop_timeout", "How long a stop may take.")
	timeout(&s.StatTimeout, "stat_timeout", "How long one look at a file system may take.")
	timeout(&s.StatusTimeout, "status_timeout", "How long a status evaluation may take.").Default("1m")
	timeout(&s.ProvisionTimeout, "provision_timeout", "How long a provision may take.")
	timeout(&s.UnprovisionTimeout, "unprovision_timeout", "How long an unprovision may take.")
	timeout(&s.SyncTimeout, "sync_timeout", "How long a synchronization may take.")
	timeout(&s.WaitSyncsTimeout, "wait_syncs_timeout", "How long a stop waits for the running synchronizations to end, before it fails.").Default("10m")
}

func (s *ObjectSettings) schedules(k *keyword.Table) {
	schedule := func(p *string, name, help, when string) *keyword.Keyword {
		return k.String(p, name, help).Scopable().Default(when).For(svc, vol).Check(schedule.Check)
	}
	schedule(&s.StatusSchedule, "status_schedule", "When the status is evaluated.", "@10m")
	schedule(&s.MonitorSchedule, "monitor_schedule", "When the status of the monitored resources is evaluated.", "@1m")
	schedule(&s.InfoSchedule, "info_schedule", "When the key-values of the resources are collected.", "@60m").Alias("resinfo_schedule")
	schedule(&s.RunSchedule, "run_schedule", "When the tasks run, those that have no schedule of their own.", "")
	schedule(&s.SyncSchedule, "sync_schedule", "When the synchronizations run, those that have no schedule of their own.", "04:00-06:00")
	schedule(&s.CompSchedule, "comp_schedule", "When the compliance modules attached to the object run.", "~00:00-06:00")
}

func (s *ObjectSettings) volume(k *keyword.Table) {
	v := &s.Volume
	k.String(&v.Pool, "pool", "The pool that serves the volume.").Check(keyword.Word).Scopable().Inherit(config.HeadOnly).For(vol).Eg("default")
	k.String(&v.Access, "access", "Who may write: one node or several (o, x), read only or read write (ro, rw).").
		Scopable().Inherit(config.HeadOnly).Default("rwo").OneOf("roo", "rox", "rwo", "rwx").For(vol)
	k.Size(&v.Size, "size", "The size of the volume.").Scopable().Inherit(config.HeadOnly).For(vol).Eg("100mi")
	k.List(&v.DevicesFrom, "devices_from", "The resources whose devices are those of the volume.").Check(keyword.Each(rid)).Sections(strings.Fields).
		Inherit(config.HeadOnly).For(vol).Eg("disk#1")
}

func (s *ObjectSettings) certificate(k *keyword.Table) {
	c := &s.Certificate
	subject := func(p *string, name, help, example string) *keyword.Keyword {
		return k.String(p, name, help).Scopable().For(sec, usr).Eg(example)
	}
	subject(&c.CommonName, "cn", "The common name of the certificate, and the first of its names. A user has its own name when it sets none.", "vip.example.com")
	k.List(&c.AltNames, "alt_names", "The other names of the certificate.").Check(keyword.Each(certified)).Scopable().For(sec, usr).Eg("www.example.com 192.0.2.1")
	subject(&c.CA, "ca", "The sec object whose certificate signs this one: web and ./sec/web are in the same namespace, those of others must share their keys. Without it a sec signs itself, and a user is signed by the authority of the cluster.", "./sec/ca").Check(keyword.Sec)
	subject(&c.Country, "c", "The country in the subject of the certificate.", "FR").Check(country)
	subject(&c.State, "st", "The state in the subject of the certificate.", "Oise")
	subject(&c.Locality, "l", "The town in the subject of the certificate.", "Gouvieux")
	subject(&c.Organization, "o", "The organization in the subject of the certificate.", "Example")
	subject(&c.Unit, "ou", "The unit in the subject of the certificate.", "Lab")
	subject(&c.Email, "email", "The address written in the certificate, and given to the ACME directory.", "admin@example.com").Check(email)
	k.Size(&c.Bits, "bits", "The size of the private key, made with RSA. Without it the key is an ECDSA one on the curve P-256, which is as strong as RSA keys of 3072 bits, and much faster.").
		Scopable().For(sec, usr).DefaultText("an ECDSA key").Check(checkBits).Eg("4096")
	k.Duration(&c.Validity, "validity", "How long the certificate is valid. One signed by another object expires with the certificate of that object at the latest.").Scopable().Default(CertificateValidity).For(sec, usr).Eg("90d")
}

// CertificateValidity is how long a certificate is valid that says nothing.
const CertificateValidity = "1y"

// The sizes of RSA keys: fewer bits are broken, more cost seconds for nothing.
const (
	minBits = 2048
	maxBits = 8192
)

// CheckBits refuses a size of RSA keys that is not made; 0 is none asked for.
func CheckBits(bits int64) error {
	if bits != 0 && (bits < minBits || bits > maxBits || bits%8 != 0) {
		return fmt.Errorf("bits = %d: RSA keys have %d to %d bits, 4096 for example; without bits the key is an ECDSA one", bits, minBits, maxBits)
	}
	return nil
}

func checkBits(text string) error {
	bits, err := config.ParseSize(text)
	if err != nil {
		return nil //nolint:nilerr // the type says so
	}
	return CheckBits(bits)
}

// certified is the rule of names of certificates, of which a star is the first part.
func certified(word string) error {
	if rest, ok := strings.CutPrefix(word, "*."); ok {
		word = rest
	}
	return keyword.Host(word)
}

// country is the rule of countries in certificates.
func country(text string) error {
	if len(text) != 0 && (len(text) != 2 || strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz") != "") {
		return errors.New("not a country: write its code of two letters, as FR")
	}
	return nil
}

// email is the rule of mail addresses.
func email(text string) error {
	name, host, ok := strings.Cut(text, "@")
	if text != "" && (!ok || name == "" || host == "" || keyword.Host(host) != nil || len(strings.Fields(text)) != 1) {
		return errors.New("not a mail address: write one as admin@example.com")
	}
	return nil
}

// rid is the rule of names of resources.
func rid(word string) error {
	if group, index, ok := strings.Cut(word, "#"); !ok || group == "" || index == "" {
		return errors.New("not a resource: write its group and its index, as disk#1")
	}
	return nil
}

// namespaces is the rule of names and patterns of namespaces.
func namespaces(word string) error {
	if strings.ContainsAny(word, "/#@:") {
		return errors.New("not a namespace: write its name as prod, or a pattern as prod*")
	}
	if object.HasGlob(word) {
		return object.CheckGlob(word)
	}
	return object.Path{Namespace: word, Kind: object.KindCfg, Name: "any"}.Validate()
}

func (s *ObjectSettings) access(k *keyword.Table) {
	k.List(&s.Share, "share", "The namespaces whose objects may read the keys.").Check(keyword.Each(namespaces)).
		Default("{namespace}").For(cfg, sec).Eg("ns1 ns2")
	k.Lower(&s.Grant, "grant", "What the user may do: roles, each with the namespaces it holds for.").Check(grants).
		Scopable().Inherit(config.HeadOnly).For(usr).Eg("admin:test* guest")
	k.String(&s.UnixUser, "uxuser", "The local account that is this user, by login or uid.").Check(keyword.Account).For(usr).Eg("alice")
	k.List(&s.Rootless.Users, "rootless_users", "The accounts the rootless containers of the namespace may run as, by name or uid.").Check(keyword.Each(keyword.Account)).
		For(nscfg).Eg("webapp")
	k.List(&s.Rootless.Groups, "rootless_groups", "The groups the rootless containers of the namespace may run as, by name or gid.").Check(keyword.Each(keyword.Account)).
		For(nscfg).Eg("webapp")
}
