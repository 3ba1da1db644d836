//go:build lab

package ip_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host/hosttest"
	"github.com/holdfast-ops/holdfast/internal/linux/link"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/ip"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// network makes a host beside this one, "peer", on one cable with it. Addresses come
// with NODAD, as the kernel would doubt those of IPv6 for a while.
const network = `mkdir -p /run/netns
mount -t tmpfs none /run/netns
ip link set lo up
ip netns add peer
ip link add v0 type veth peer name v1 netns peer
ip link set v0 up
ip -n peer link set v1 up
ip addr add 192.0.2.1/24 dev v0
ip -n peer addr add 192.0.2.2/24 dev v1
ip addr add 2001:db8::1/64 dev v0 nodad
ip -n peer addr add 2001:db8::2/64 dev v1 nodad
echo '192.0.2.20 web.test' >"$0/hosts"
mount --bind "$0/hosts" /etc/hosts`

// TestHostInANetwork runs itself in a network of two hosts.
func TestHostInANetwork(t *testing.T) { //nolint:paralleltest // one network for all
	if !hosttest.Isolate(t, network) {
		return
	}
	base := "dev = v0\nnetmask = 24\nname = "
	t.Run("the laws", func(t *testing.T) { //nolint:paralleltest // as above
		drivertest.Run(t, drivertest.Case{Spec: ip.Host, Real: true, Alone: true, Config: base + "192.0.2.10\n"})
		drivertest.Run(t, drivertest.Case{Spec: ip.Host, Real: true, Alone: true, Config: "dev = v0\nnetmask = 64\nname = 2001:db8::10\n"})
	})
	for addr, bits := range map[string]string{"192.0.2.11": "24", "2001:db8::11": "64"} { //nolint:paralleltest // as above
		config := "dev = v0\nname = " + addr + "\n" // the netmask is that of the interface
		t.Run("who knew another holder of "+addr+" learns of this one at once", func(t *testing.T) {
			run(t, "ip", "-n", "peer", "neigh", "replace", addr, "lladdr", "02:00:00:00:00:99", "dev", "v1", "nud", "reachable")
			f := fixture(t, config)

			f.Must(instance.Start)

			if got, own := neighbour(t, addr), address(t, "v0"); got != own {
				t.Errorf("the peer sends to %s, want %s", got, own)
			}
			if got := addresses(t); !slices.Contains(got, addr+"/"+bits) {
				t.Errorf("v0 has %v", got)
			}
		})
		t.Run(addr+" of another host is not taken, unless it is forced", func(t *testing.T) {
			held := addr + "/" + bits
			run(t, "sh", "-c", "ip -n peer addr add "+held+" dev v1 $(case $0 in *:*) echo nodad; esac)", held)
			t.Cleanup(func() { run(t, "ip", "-n", "peer", "addr", "del", held, "dev", "v1") })
			f := fixture(t, config)

			err := f.Do(instance.Start)

			if want := addr + " is not added: the host with the hardware address "; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("start: %v, want %q", err, want)
			}
			if s := f.Resource(); s.Status != cluster.Down {
				t.Errorf("status %s %v", s.Status, s.Log)
			}
			if err := f.Run(t.Context(), drivertest.Path(), instance.Request{Action: instance.Start, Force: true}); err != nil {
				t.Error(err)
			}
			if s := f.Resource(); s.Status != cluster.Up {
				t.Errorf("forced: status %s %v", s.Status, s.Log)
			}
			f.Must(instance.Stop)
		})
	}
	t.Run("a stop removes what the start added and nothing else", func(t *testing.T) { //nolint:paralleltest // as above
		f := fixture(t, "dev = v0\nname = 198.51.100.1\nnetmask = 255.255.255.0\ngateway = 198.51.100.254\n")
		before := addresses(t)
		f.Must(instance.Start)
		run(t, "ip", "addr", "add", "198.51.100.2/24", "dev", "v0") // of somebody else, in a network that ours is the first of
		t.Cleanup(func() { run(t, "ip", "addr", "del", "198.51.100.2/24", "dev", "v0") })
		if out := run(t, "ip", "route", "show", "default"); !strings.Contains(out, "via 198.51.100.254 dev v0 src 198.51.100.1 metric 2048") {
			t.Errorf("routes %q", out)
		}
		if out := run(t, "ip", "addr", "show", "dev", "v0"); !strings.Contains(out, "inet 198.51.100.1/24 brd 198.51.100.255 scope global v0:1") {
			t.Errorf("no label: %s", out)
		}

		// Whatever the configuration says by then.
		f.Configure(drivertest.Case{Spec: ip.Host, Config: "dev = v0\nname = 198.51.100.77\nnetmask = 24\n"})
		f.Must(instance.Stop)

		after := addresses(t)
		if want := append(slices.Clone(before), "198.51.100.2/24"); !slices.Equal(sorted(after), sorted(want)) {
			t.Errorf("v0 has %v, want %v", after, want)
		}
		if out := run(t, "ip", "route", "show", "default"); out != "" {
			t.Errorf("routes left: %q", out)
		}
	})
	t.Run("an interface without carrier is down, and what is on it is stopped all the same", func(t *testing.T) { //nolint:paralleltest // as above
		f := fixture(t, base+"192.0.2.12\n")
		f.Must(instance.Start)
		run(t, "ip", "-n", "peer", "link", "set", "v1", "down")
		t.Cleanup(func() {
			run(t, "ip", "-n", "peer", "link", "set", "v1", "up")
			run(t, "ip", "-n", "peer", "addr", "add", "2001:db8::2/64", "dev", "v1", "nodad")
		})

		s := f.Resource()

		if s.Status != cluster.Down || len(s.Log) != 1 || s.Log[0].Message != "v0 has the address, and v0 has no carrier" {
			t.Errorf("status %s %v", s.Status, s.Log)
		}
		f.Must(instance.Stop)
		if got := addresses(t); slices.Contains(got, "192.0.2.12/24") {
			t.Errorf("v0 has %v", got)
		}
		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "192.0.2.12 is not added: v0 has no carrier") {
			t.Errorf("start: %v", err)
		}
	})
	t.Run("a name is what it was last while it cannot be looked up", func(t *testing.T) { //nolint:paralleltest // as above
		f := fixture(t, base+"web.test\n")
		f.Must(instance.Start)
		if got := addresses(t); !slices.Contains(got, "192.0.2.20/24") {
			t.Fatalf("v0 has %v", got)
		}
		f.Must(instance.Stop)
		if err := os.WriteFile("/etc/hosts", nil, 0o600); err != nil {
			t.Fatal(err)
		}

		f.Must(instance.Start)

		if s := f.Resource(); s.Status != cluster.Up || s.Label != "192.0.2.20/24 on v0" {
			t.Errorf("status %s %q %v", s.Status, s.Label, s.Log)
		}
		f.Must(instance.Stop)
	})
	t.Run("an address that is on another interface of the node is not added twice", func(t *testing.T) { //nolint:paralleltest // as above
		f := fixture(t, "dev = lo\nname = 192.0.2.1\nnetmask = 32\n")
		if err := f.Do(instance.Start); err == nil || !strings.Contains(err.Error(), "this node has 192.0.2.1/24 on v0 already") {
			t.Errorf("start: %v", err)
		}
	})
}

func fixture(t *testing.T, config string) *drivertest.Fixture {
	t.Helper()
	return drivertest.New(t, drivertest.Case{Spec: ip.Host, Real: true, Config: config}, nil)
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	return hosttest.Sh(t, argv...)
}

// neighbour is where the peer sends what is for an address.
func neighbour(t *testing.T, addr string) string {
	t.Helper()
	words := strings.Fields(run(t, "ip", "-n", "peer", "neigh", "show", addr, "dev", "v1"))
	if i := slices.Index(words, "lladdr"); i >= 0 {
		return words[i+1]
	}
	return ""
}

func address(t *testing.T, dev string) string {
	t.Helper()
	i, err := link.Find(dev)
	if err != nil {
		t.Fatal(err)
	}
	return i.MAC.String()
}

// addresses are those of v0 that are not of its link alone.
func addresses(t *testing.T) []string {
	t.Helper()
	all, err := link.Addresses()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, a := range all {
		if a.Interface == "v0" && !a.Prefix.Addr().IsLinkLocalUnicast() {
			list = append(list, a.Prefix.String())
		}
	}
	return list
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
