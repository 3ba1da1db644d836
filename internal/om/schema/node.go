package schema

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// NodeSettings are the keywords of the node section which the agent reads.
type NodeSettings struct {
	Env                    string
	MaintenanceGracePeriod time.Duration
	MaxKeySize             int64
	MaxParallel            int
	MinAvailMemPct         int
	MinAvailSwapPct        int
	ReadyPeriod            time.Duration
	RejoinGracePeriod      time.Duration
	SecureFetch            bool
	SplitAction            string
	SSHKey                 string
	PRKey                  string // of node.conf only
	UUID                   string // of node.conf only

	private bool // declare the keywords of node.conf too
}

// Keywords declares the keywords of the node section that every configuration
// may hold. Those only node.conf may hold are declared by [PrivateKeywords].
func (s *NodeSettings) Keywords(k *keyword.Table) {
	k.String(&s.Env, "env", "The environment the node serves. One of cluster.envs.").Check(keyword.Word).Default("TST").Eg("PRD")
	k.Duration(&s.MaintenanceGracePeriod, "maintenance_grace_period", "How long the objects of a node announced in maintenance are not taken over.").Default("60")
	k.Size(&s.MaxKeySize, "max_key_size", "The largest value a key of a cfg, sec or usr object may have.").Default("1mb")
	k.Int(&s.MaxParallel, "max_parallel", "How many actions the daemon runs at once.").AtLeast(1).Default("10")
	k.Int(&s.MinAvailMemPct, "min_avail_mem_pct", "Under that percentage of available memory the node is overloaded, and starts nothing by itself.").
		Between(0, 100).Alias("min_avail_mem").Default("2")
	k.Int(&s.MinAvailSwapPct, "min_avail_swap_pct", "Under that percentage of available swap the node is overloaded, and starts nothing by itself.").
		Between(0, 100).Alias("min_avail_swap").Default("10")
	k.Duration(&s.ReadyPeriod, "ready_period", "How long an instance about to start by itself leaves others the time to announce themselves.").Default("5s")
	k.Duration(&s.RejoinGracePeriod, "rejoin_grace_period", "How long a starting daemon waits for its peers before it freezes the node.").Default("90s")
	k.Bool(&s.SecureFetch, "secure_fetch", "Verify the certificates of the servers files are fetched from.").Default("true")
	k.String(&s.SplitAction, "split_action", "What a node that lost the quorum does.").
		Scopable().Default("crash").OneOf("crash", "disabled", "reboot")
	k.String(&s.SSHKey, "sshkey", "The name of the ssh key the nodes trust each other by, in the .ssh directory of root.").Check(fileName).Default("opensvc")
	described(k)
	collected(k)
	if s.private {
		s.PrivateKeywords(k)
	}
}

// PrivateKeywords declares the keywords only node.conf may hold.
func (s *NodeSettings) PrivateKeywords(k *keyword.Table) {
	k.String(&s.PRKey, "prkey", "The key of the node in SCSI persistent reservations. The agent writes it on first use.").Check(reservationKey).
		DefaultText("A random key.").Eg("0x8796759710111")
	k.String(&s.UUID, "uuid", "What the collector authenticates the node by. Its registration writes it.").Check(keyword.Word)
	hardware(k)
}

// reservation is a key of 8 bytes.
var reservation = regexp.MustCompile(`^0x[0-9a-fA-F]{1,16}$`)

// reservationKey is the rule of keys of persistent reservations.
func reservationKey(text string) error {
	if text != "" && !reservation.MatchString(text) {
		return errors.New("not a reservation key: write 0x and at most 16 hexadecimal digits, as 0x8796759710111")
	}
	return nil
}

// fileName is the rule of names of files in a known directory.
func fileName(text string) error {
	if text == "." || text == ".." || strings.ContainsAny(text, "/\x00") || len(strings.Fields(text)) > 1 {
		return errors.New("not the name of a file: write it without directory and without blanks")
	}
	return nil
}

func node(private bool) keyword.Section {
	return untyped("node", "The node, and how its agent behaves.",
		func(k *keyword.Table) { (&NodeSettings{private: private}).Keywords(k) })
}

func identity() keyword.Section {
	return untyped(config.DefaultSection, "The identity of the configuration.", func(t *keyword.Table) {
		unread{t}.text("id", "Identifies the configuration. The agent writes it at the first commit.").
			DefaultText("A random uuid.").Recorded()
	})
}

// described declares where the node is, and whose it is.
func described(t *keyword.Table) {
	k := unread{t}
	k.text("asset_env", "The environment of the node, in the words of the asset inventory.").Eg("Production")
	k.text("loc_country", "The country the node is in.").Eg("fr")
	k.text("loc_zip", "The postal code of where the node is.").Eg("60270")
	k.text("loc_city", "The town the node is in.").Eg("Gouvieux")
	k.text("loc_addr", "The street the node is in.").Eg("7 rue blanche")
	k.text("loc_building", "The building the node is in.").Eg("Crystal")
	k.text("loc_floor", "The floor the node is on.").Eg("21")
	k.text("loc_room", "The room the node is in.").Eg("102")
	k.text("loc_rack", "The rack the node is in.").Eg("R42")
	k.text("sec_zone", "The security zone of the node.").Eg("dmz1")
	k.text("team_integ", "The team that integrates the node.").Eg("TINT")
	k.text("team_support", "The team that supports the node.").Eg("TSUP")
	k.list("allowed_networks", "The networks the agent may declare objects in.").Check(keyword.Each(keyword.Network)).Default("10.0.0.0/8 172.16.0.0/24 192.168.0.0/16")
	k.text("ruser", "The login used to reach the other nodes.").Check(keyword.Account).Default("root")
}

// collected declares how the node talks to the collector and to repositories.
func collected(t *keyword.Table) {
	k := unread{t}
	k.text("collector", "The address of the collector.").Check(keyword.Server).Eg("https://collector.example.com")
	k.text("collector_feeder", "The address of the collector that takes data in.").Check(keyword.Server).DefaultText("The value of node.collector.")
	k.text("collector_server", "The address of the collector that answers.").Check(keyword.Server).DefaultText("The value of node.collector.")
	k.span("collector_timeout", "How long a call to the collector may take.").Default("5s")
	k.span("collector_ping_interval", "How often an unchanged state is confirmed to the collector.").Alias("db_min_ping_interval").Default("60s")
	k.span("collector_status_delay", "How long changes are gathered before they are sent to the collector.").Alias("db_min_update_interval").Default("10s")
	k.text("dbopensvc", "The address of the collector, for agents of the second generation.").Check(keyword.Server)
	k.text("dbcompliance", "The address of the compliance service, for agents of the second generation.").Check(keyword.Server).DefaultText("The value of node.dbopensvc.")
	k.flag("dbinsecure", "Do not verify the certificate of the collector.")
	k.flag("dblog", "Send the logs of actions to the collector.").Default("true")
	k.text("repo", "Where packages and compliance modules are fetched from.").Check(keyword.URL).Eg("https://repo.example.com")
	k.text("repopkg", "Where packages are fetched from.").Check(keyword.URL).Eg("https://repo.example.com/packages")
	k.text("repocomp", "Where compliance modules are fetched from.").Check(keyword.URL).Eg("https://repo.example.com/compliance")
	k.text("branch", "The branch packages are fetched from.").Check(keyword.Word).Eg("1.9")
}

// hardware declares what overrides the inventory of the node.
func hardware(t *keyword.Table) {
	k := unread{t}
	k.text("bios_version", "The version of the BIOS, instead of the one detected.")
	k.text("connect_to", "The address the collector reaches the node by, instead of its name.").Check(keyword.Host)
	k.number("cpu_dies", "The number of processor dies, instead of the one detected.").AtLeast(0)
	k.text("cpu_freq", "The frequency of the processors, instead of the one detected.")
	k.text("cpu_model", "The model of the processors, instead of the one detected.")
	k.number("cpu_threads", "The number of processor threads, instead of the one detected.").AtLeast(0)
	k.text("enclosure", "The enclosure of the node, instead of the one detected.")
	k.text("manufacturer", "The maker of the node, instead of the one detected.")
	k.number("mem_banks", "The number of memory banks in use, instead of the one detected.").AtLeast(0)
	k.bytes("mem_bytes", "The amount of memory, instead of the one detected.")
	k.number("mem_slots", "The number of memory slots, instead of the one detected.").AtLeast(0)
	k.text("model", "The model of the node, instead of the one detected.")
	k.text("oci", "The engine of containers of type oci: podman or docker. The first one found by default.").Check(keyword.Among("docker", "podman")).Eg("podman")
	k.text("os_arch", "The processor architecture, instead of the one detected.")
	k.text("os_kernel", "The version of the kernel, instead of the one detected.")
	k.text("os_release", "The release of the operating system, instead of the one detected.")
	k.text("os_vendor", "The vendor of the operating system, instead of the one detected.")
	k.text("serial", "The serial number, instead of the one detected.")
	k.text("sp_version", "The version of the service processor, instead of the one detected.")
	k.text("tz", "The time zone, instead of the one detected.").Check(keyword.Word).Eg("+0200")
}
