package ip_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/ip"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func TestKeywordsOfAnAddress(t *testing.T) {
	t.Parallel()
	table := resource.Table(&resource.Common{}, ip.Host.New(resource.Env{}))
	for _, c := range []struct {
		keyword, good, bad string // separated by blanks
	}{
		{"name", "192.0.2.1 2001:db8::1 web.example.com", "192.0.2.1/24 -x a..b"},
		{"dev", "eth0 eth0:web br-prd.12", "eth0: :web eth0:a:b eth0/1 averylonginterface eth012345678:web"},
		{"netmask", "24 /24 255.255.255.0 0 64 128 ffff:ffff::", "129 255.0.255.0 -1 x 255.255.255.0.0"},
		{"gateway", "192.0.2.1 2001:db8::1", "router 192.0.2.1/24"},
	} {
		k := table.Find(c.keyword)
		for text := range strings.FieldsSeq(c.good) {
			if err := k.Convert(text, keyword.Context{}); err != nil {
				t.Errorf("%s = %s: %v", c.keyword, text, err)
			}
		}
		for text := range strings.FieldsSeq(c.bad) {
			if err := k.Convert(text, keyword.Context{}); err == nil {
				t.Errorf("%s = %s is taken", c.keyword, text)
			}
		}
	}
}

func TestAnAddressIsNotStartedWhereItCannotBe(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"name = 192.0.2.1\ndev = nosuch0\nnetmask = 24":                         "this host has no network interface nosuch0",
		"name = 192.0.2.1\ndev = lo":                                            "no address of lo is in the network of 192.0.2.1: set netmask",
		"name = 192.0.2.1\ndev = lo\nnetmask = 64":                              "netmask 64 is too long for 192.0.2.1",
		"name = 192.0.2.1\ndev = lo\nnetmask = 24\ngateway = 2001:db8::1":       "are not of one family",
		"name = 127.0.0.1\ndev = lo:other\nnetmask = 24\ngateway = 2001:db8::1": "are not of one family",
		"name = 192.0.2.1\ndev = lo\nnetmask = 0":                               "would make every address of the world",
		"name = 2001:db8::1\ndev = lo\nnetmask = 0":                             "would make every address of the world",
		"name = 0.0.0.0\ndev = lo\nnetmask = 24":                                "0.0.0.0 is no address of a host",
		"name = 224.0.0.5\ndev = lo\nnetmask = 24":                              "224.0.0.5 is no address of a host",
		"name = ff02::1\ndev = lo\nnetmask = 64":                                "ff02::1 is no address of a host",
		"name = no-such-host.invalid\ndev = lo":                                 "look up the address",
		"dev = lo":                                                              "name",
		"name = 192.0.2.1":                                                      "dev",
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: ip.Host, Config: strings.ReplaceAll(config, "127.0.0.1", "192.0.2.7")}, nil)

			err := f.Do(instance.Start)

			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("start: %v, want %q", err, want)
			}
		})
	}
}

func TestTheStatusOfAnAddressChangesNothingAndSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]struct {
		status cluster.Status
		log    string
	}{
		"name = 192.0.2.1\ndev = nosuch0":       {cluster.Down, "this host has no network interface nosuch0"},
		"name = 192.0.2.1\ndev = lo":            {cluster.Down, ""},
		"name = no-such-host.invalid\ndev = lo": {cluster.Down, "look up the address"},
		"name = 127.0.0.1\ndev = nosuch0":       {cluster.Down, "127.0.0.1 is on lo: the resource wants it on nosuch0"},
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			f := drivertest.New(t, drivertest.Case{Spec: ip.Host, Config: config}, nil)

			s := f.Resource()

			if s.Status != want.status || want.log == "" && len(s.Log) > 0 {
				t.Errorf("status %s %v, want %s", s.Status, s.Log, want.status)
			}
			if want.log != "" && (len(s.Log) == 0 || !strings.Contains(s.Log[0].Message, want.log)) {
				t.Errorf("log %v, want %q", s.Log, want.log)
			}
		})
	}
}

// An instance that cannot be stopped cannot be switched, and its node not be drained.
func TestAnAddressThatNeverWasKnownCanBeStopped(t *testing.T) {
	t.Parallel()
	f := drivertest.New(t, drivertest.Case{Spec: ip.Host, Config: "name = no-such-host.invalid\ndev = lo"}, nil)
	if err := f.Do(instance.Start); err == nil {
		t.Fatal("it is started")
	}
	if err := f.Do(instance.Stop); err != nil {
		t.Errorf("stop: %v", err)
	}
}
