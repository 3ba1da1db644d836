//go:build lab_openstack

package lab_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/test/koc/lab"
)

// The servers of this test are smaller than all others, so that --max-servers
// keeps the drains away from those.
const (
	drainProject = "drain-project"
	drainFlavor  = "drain-flavor"
	drainHost    = "cmp3"
)

// row is a line of what a drain prints.
type row struct {
	Name, Status, Result, Detail string

	Target string `json:"Target Host"`
}

// drainer runs koc for the test.
type drainer struct {
	t      *testing.T
	koc    lab.Koc
	oracle *lab.Oracle
}

// run runs a command line that has to end with an exit code.
func (d drainer) run(code int, line string, a ...any) string {
	d.t.Helper()
	args, err := lab.Words(fmt.Sprintf(line, a...))
	if err != nil {
		d.t.Fatal(err)
	}
	r, err := d.koc.Run(d.t.Context(), args...)
	if err != nil {
		d.t.Fatal(err)
	}
	if r.Code != code {
		d.t.Fatalf("koc %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), r.Code, code, r.Out, r.Err)
	}
	return r.Out + r.Err
}

// drain runs a drain and returns what it printed of the servers of the test.
func (d drainer) drain(line string, a ...any) map[string]row {
	d.t.Helper()
	out := d.run(0, "--quiet "+line+" -f json", a...)
	end := strings.LastIndex(out, "\n]")
	if end < 0 {
		d.t.Fatalf("no JSON: %s", out)
	}
	var rows []row
	if err := json.Unmarshal([]byte(out[strings.Index(out, "["):end+2]), &rows); err != nil {
		d.t.Fatalf("%v: %s", err, out)
	}
	found := map[string]row{}
	for _, r := range rows {
		if strings.HasPrefix(r.Name, "drain-") {
			found[r.Name] = r
		}
	}
	return found
}

// host is the host of a server, as the openstack client says.
func (d drainer) host(name string) string {
	d.t.Helper()
	runs, _, err := d.oracle.Ask(d.t.Context(), []string{
		"server", "list", "--all-projects", "--long", "--name", "^" + name + "$", "-f", "value", "-c", "Host",
	}, lab.Alone, false)
	if err != nil || len(runs) == 0 || runs[0].Code != 0 {
		d.t.Fatalf("server list --name %s: %v %+v", name, err, runs)
	}
	words := strings.Fields(runs[0].Out) // it has the column twice
	if len(words) == 0 {
		d.t.Fatalf("no server %s", name)
	}
	return words[0]
}

// inService lets servers be created on the host while do runs.
func (d drainer) inService(do func()) {
	d.run(0, "compute service set --enable %s nova-compute", drainHost)
	defer d.run(0, `compute service set --disable --disable-reason "being repaired" %s nova-compute`, drainHost)
	do()
}

func (d drainer) create(names ...string) {
	d.inService(func() {
		for _, name := range names {
			d.run(0, "--os-project-name %s server create --flavor %s --image cirros --nic none --host %s --wait %s", drainProject, drainFlavor, drainHost, name)
		}
	})
}

// TestHostsAreDrained moves servers off a host in the three ways, for real.
//
//nolint:paralleltest // the steps are about one host
func TestHostsAreDrained(t *testing.T) {
	koc, oracle := start(t)
	d := drainer{t, koc, oracle}
	clean := func() {
		for _, line := range []string{
			"--os-project-name " + drainProject + " server delete --wait drain-live drain-cold drain-off drain-dead",
			"compute service set --up " + drainHost + " nova-compute", // refused while an evacuated server is there
			"flavor delete " + drainFlavor, "project delete " + drainProject,
		} {
			args, _ := lab.Words(line)
			_, _ = d.koc.Run(t.Context(), args...)
		}
	}
	clean()
	defer clean()
	d.run(0, "project create %s", drainProject)
	d.run(0, "role add --user admin --project %s admin", drainProject)
	d.run(0, "flavor create --ram 1 --disk 1 --vcpus 1 %s", drainFlavor)
	d.create("drain-live", "drain-off")
	d.run(0, "--os-project-name %s server stop --wait drain-off", drainProject)

	t.Run("the other verb is refused by name", func(t *testing.T) {
		d := drainer{t, koc, oracle}
		if out := d.run(1, "compute host evacuate %s", drainHost); !strings.Contains(out, "'compute host drain'") {
			t.Error(out)
		}
	})
	t.Run("a plan moves nothing", func(t *testing.T) {
		d := drainer{t, koc, oracle}
		rows := d.drain("compute host drain %s --dry-run --max-servers 1", drainHost)
		if got := rows["drain-live"].Result; got != "would move" {
			t.Errorf("drain-live: %q", got)
		}
		if r := rows["drain-off"]; r.Result != "skipped" || !strings.Contains(r.Detail, "compute host drain --cold") {
			t.Errorf("drain-off: %+v", r)
		}
		if got := d.host("drain-live"); got != drainHost {
			t.Errorf("it is on %s", got)
		}
	})
	t.Run("live", func(t *testing.T) {
		d := drainer{t, koc, oracle}
		d.moved(d.drain("compute host drain %s --max-servers 1 --wait", drainHost), "drain-live", "ACTIVE")
	})
	t.Run("cold", func(t *testing.T) {
		d := drainer{t, koc, oracle}
		d.create("drain-cold")
		rows := d.drain("compute host drain %s --cold --max-servers 2 --parallel 2", drainHost)
		d.moved(rows, "drain-cold", "ACTIVE")
		d.moved(rows, "drain-off", "SHUTOFF")
	})
	t.Run("evacuated", func(t *testing.T) {
		d := drainer{t, koc, oracle}
		d.create("drain-dead")
		d.run(0, "compute service set --down %s nova-compute", drainHost)
		if out := d.run(1, "compute host drain %s", drainHost); !strings.Contains(out, "'compute host evacuate'") {
			t.Error(out)
		}
		d.moved(d.drain("compute host evacuate %s --max-servers 1 --wait --target-host cmp2", drainHost), "drain-dead", "ACTIVE")
		if got := d.host("drain-dead"); got != "cmp2" {
			t.Errorf("it is on %s", got)
		}
	})
}

// moved checks that a drain has moved a server, and that it is elsewhere.
func (d drainer) moved(rows map[string]row, name, status string) {
	d.t.Helper()
	r := rows[name]
	if r.Result != "moved" || r.Status != status || r.Target != "cmp1" && r.Target != "cmp2" {
		d.t.Errorf("%s: %+v", name, r)
	}
	if got := d.host(name); got != r.Target || got == drainHost {
		d.t.Errorf("%s is on %s, drain says %q", name, got, r.Target)
	}
}
