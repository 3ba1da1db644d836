package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is a set of packages at one height: they import lower layers freely,
// each other only as [Table.Beside] says.
type Layer struct {
	Name     string
	Packages []string // patterns, the first that matches wins over later layers
	// Pure layers decide and do nothing: they import no package that acts on the
	// machine or shares memory, and no library. They also import each other, but
	// only the ones listed before.
	Pure bool
}

// Edge lets packages import others of their own layer, or a pure package one
// it could not import else, and says why.
type Edge struct{ From, To, Why string }

// Ban keeps packages out of a binary, however deep.
type Ban struct{ Binary, Packages, Except, Why string }

// Table is an architecture.
type Table struct {
	Layers []Layer // from the ground up
	Beside []Edge
	Bans   []Ban
}

// Layers returns the architecture of this module. docs/architecture.md shows it.
func Layers() Table {
	return Table{
		Layers: []Layer{
			{Name: "ground", Packages: []string{"internal/retry", "internal/secret/...", "internal/sse", "internal/host/..."}},
			{Name: "kit", Packages: []string{"internal/cli/...", "internal/linux/...", "internal/archtest", "internal/koc/whole"}},
			{Name: "pure", Pure: true, Packages: []string{
				"internal/om/rbac", "internal/om/object", "internal/om/config", "internal/om/keyword", "internal/om/policy", "internal/om/schedule",
				"internal/om/cluster", "internal/om/heartbeat", "internal/om/replication", "internal/om/event", "internal/om/event/eventtest", "internal/om/schema", "internal/om/certificate", "internal/om/orchestrate", "internal/om/simulate",
				"internal/krops/config", "internal/krops/plan",
			}},
			{Name: "contract", Packages: []string{
				"internal/om/resource/...", "internal/om/api",
				"internal/koc/cloud", "internal/koc/render", "internal/koc/sshkey", "internal/koc/command", "internal/koc/noun", "internal/koc/cloudtest",
				"internal/koc/gauge", "internal/koc/drain", "internal/krops/configtest",
			}},
			{Name: "doers", Packages: []string{
				"internal/om/store", "internal/om/datastore", "internal/om/inventory", "internal/om/logbook", "internal/om/ledger", "internal/om/driver/...",
				"internal/om/instance", "internal/om/auth", "internal/om/client", "internal/om/station", "internal/om/openid", "internal/om/acme/...", "internal/om/renewal/...",
				"internal/koc/compute", "internal/koc/network", "internal/koc/volume", "internal/koc/image",
				"internal/koc/identity", "internal/koc/common", "internal/koc/koctest", "internal/koc/cloudtest",
				"internal/krops/run", "internal/krops/kube", "internal/krops/helm", "internal/krops/engine/...", "internal/krops/kind",
				"internal/krops/artifact/...", "internal/krops/sops", "internal/krops/github", "internal/krops/move", "internal/krops/sweep/...",
			}},
			{Name: "assembly", Packages: []string{"internal/om/daemon/...", "internal/om/command/...", "internal/om/tui", "internal/koc", "internal/krops/site", "internal/krops"}},
			{Name: "main", Packages: []string{"cmd/..."}},
		},
		Beside: []Edge{
			{"internal/host/...", "internal/retry", "the runner polls for the end of a process group"},
			{"internal/host/hosttest", "internal/host", "the doubles of host"},
			{"internal/cli/...", "internal/cli/...", "one kit"},
			{"internal/linux/...", "internal/linux/...", "kernel facilities build on each other"},
			{"internal/om/resource/process", "internal/om/resource", "how drivers run the commands of a resource"},
			{"internal/om/resource/install", "internal/om/resource", "how drivers lay down keys as files"},
			{"internal/om/datastore", "internal/om/store", "the keys of cfg, sec and usr objects are in their configuration"},
			{"internal/om/auth", "internal/om/store", "the grants of a user are in its configuration"},
			{"internal/om/auth", "internal/om/datastore", "the passwords and the authorities are keys"},
			{"internal/om/renewal/stored", "internal/om/renewal", "the objects renewals read and write"},
			{"internal/om/renewal/stored", "internal/om/store", "what describes a certificate is in the configuration"},
			{"internal/om/renewal/stored", "internal/om/datastore", "a certificate is kept in keys"},
			{"internal/om/inventory", "internal/om/store", "keywords of the node win over what is found"},
			{"internal/om/simulate", "math/rand/v2", "seeded: the same seed gives the same run"},
			{"internal/om/instance", "internal/om/store", "the settings of an instance are in its configuration"},
			{"internal/om/driver/all", "internal/om/driver/...", "the one list of every driver"},
			{"internal/om/driver/drivertest", "internal/om/instance", "the conformance suite runs drivers as the engine does"},
			{"internal/om/driver/drivertest", "internal/om/store", "what the engine of the conformance suite reads"},
			{"internal/om/driver/drivertest", "internal/om/logbook", "what the engine of the conformance suite writes"},
			{"internal/om/daemon", "internal/om/daemon/...", "wires the subsystems"},
			{"internal/om/daemon/...", "internal/om/daemon/bus", "subsystems talk through it"},
			{"internal/om/daemon/...", "internal/om/daemon/state", "the one view of the cluster"},
			{"internal/om/daemon/...", "internal/om/daemon/standing", "what lasts is said once"},
			{"internal/om/daemon/monitor", "internal/om/daemon/executor", "carries out what it decides"},
			{"internal/om/daemon/membership", "internal/om/daemon/setup", "a node that leaves is set up as a first start would"},
			{"internal/om/daemon/reinstall", "internal/om/daemon/executor", "an install of changed keys is a job"},
			{"internal/om/daemon/scheduler", "internal/om/daemon/executor", "what comes due is a job"},
			{"internal/om/daemon/nodemon", "internal/om/daemon/arbitrator", "votes are asked for when the cluster is split"},
			{"internal/om/daemon/nodemon", "internal/om/daemon/executor", "an orchestration of the node that is not known is told as a run that is not"},
			{"internal/om/daemon/nodemon", "internal/om/daemon/monitor", "an orchestration of the node is listed among those of objects, and takes the node down as they do"},
			{"internal/om/daemon/httpd", "internal/om/daemon/executor", "an instance action asked through the API is a job"},
			{"internal/om/daemon/httpd", "internal/om/daemon/logs", "the log is turned up, and listened to, through the API"},
			{"internal/om/daemon/httpd", "internal/om/daemon/monitor", "an orchestration asked through the API is a goal"},
			{"internal/om/command/...", "internal/om/command/...", "one command tree"},
			{"internal/om/tui", "internal/om/command/...", "the terminal interface is a command, and draws what others print"},
			{"internal/om/daemon/heartbeat/...", "internal/om/daemon/heartbeat", "what a driver of heartbeats is"},
			{"internal/om/heartbeat", "internal/secret", "frames are sealed with keys of the cluster secret"},
			{"internal/krops/config", "internal/secret", "a token is among the settings"},
			{"internal/krops/config", "github.com/pelletier/go-toml/v2/...", "the configuration is TOML, and reading a text acts on nothing"},
			{"internal/krops/helm", "internal/krops/kube", "a release lives on a cluster"},
			{"internal/krops/kind", "internal/krops/engine", "the nodes of kind are containers"},
			{"internal/krops/move", "internal/krops/kube", "a move is between two clusters"},
			{"internal/krops", "internal/krops/site", "assembles the program"},
			{"internal/koc/command", "internal/koc/cloud", "a call carries its session"},
			{"internal/koc/command", "internal/koc/render", "a call carries how its result is printed"},
			{"internal/koc/noun", "internal/koc/command", "a noun makes commands"},
			{"internal/koc/noun", "internal/koc/cloud", "a noun is read from and written to a service"},
			{"internal/koc/noun", "internal/koc/render", "a noun has columns"},
		},
		Bans: []Ban{
			{"koc", "internal/om/...", "", "the OpenStack client knows nothing of the agent"},
			{"koc", "internal/krops/...", "", "the OpenStack client knows nothing of Cluster API"},
			{"krops-bootstrap", "internal/om/...", "", "a bootstrap knows nothing of the agent"},
			{"krops-bootstrap", "internal/koc/...", "", "a bootstrap knows nothing of OpenStack"},
			{"ox", "internal/om/driver/...", "", "the remote client never acts on its host"},
			{"ox", "internal/om/instance", "", "the remote client never acts on its host"},
			{"ox", "internal/om/store", "", "the remote client reads no local configuration"},
			{"ox", "internal/om/daemon/...", "", "the remote client is no agent"},
			{"ox", "internal/linux/...", "internal/linux/socket", "the remote client runs on other systems too, where sockets exist as well"},
		},
	}
}

// impure lists what a pure package must not import of the standard library.
var impure = [...]string{
	"os", "os/exec", "os/signal", "os/user", "net", "net/http", "sync", "sync/atomic", "syscall",
	"math/rand", "math/rand/v2", "crypto/rand", "runtime", "log", "log/slog", "path/filepath", "unsafe",
}

// Check returns what breaks the table, one line each.
func (t Table) Check(packages []Package) []string {
	var found []string
	for _, p := range packages {
		at, layer := t.place(p.Dir)
		if layer < 0 {
			found = append(found, p.Dir+": in no layer: add it to Layers")
			continue
		}
		for _, imported := range p.Imports {
			if why := t.refuse(p.Dir, at, layer, imported); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", p.Dir, imported, why))
			}
		}
	}
	return found
}

// place returns the layer of a folder and its position there.
func (t Table) place(dir string) (at, layer int) {
	for i, l := range t.Layers {
		for j, pattern := range l.Packages {
			if within(dir, pattern) {
				return j, i
			}
		}
	}
	return -1, -1
}

// refuse says why a folder may not import a package, "" when it may.
func (t Table) refuse(dir string, at, layer int, imported string) string {
	if t.beside(dir, imported) {
		return ""
	}
	from := t.Layers[layer]
	if !ours(imported) {
		if !from.Pure {
			return ""
		}
		if slices.Contains(impure[:], imported) {
			return "pure packages act on nothing and share nothing"
		}
		if !standard(imported) {
			return "pure packages need no library"
		}
		return ""
	}
	toAt, to := t.place(imported)
	switch {
	case to < 0:
		return "in no layer"
	case to > layer:
		return fmt.Sprintf("layer %s is above %s", t.Layers[to].Name, from.Name)
	case to < layer && !from.Pure:
		return ""
	case to < layer:
		return "pure packages import each other only"
	case !from.Pure:
		return "same layer, and no edge in Beside says why"
	case toAt >= at:
		return "pure packages import only those listed before them"
	}
	return ""
}

func (t Table) beside(dir, imported string) bool {
	return slices.ContainsFunc(t.Beside, func(e Edge) bool {
		return within(dir, e.From) && within(imported, e.To)
	})
}

// CheckBinary returns which packages are linked into a binary against a ban.
func (t Table) CheckBinary(binary string, packages []string) []string {
	var found []string
	for _, ban := range t.Bans {
		if ban.Binary != binary {
			continue
		}
		for _, p := range packages {
			if dir := strings.TrimPrefix(p, Module+"/"); within(dir, ban.Packages) && dir != ban.Except {
				found = append(found, fmt.Sprintf("%s contains %s: %s", binary, p, ban.Why))
			}
		}
	}
	return found
}
