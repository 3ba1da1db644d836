package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

func TestValuesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	svc, node := schema.Object(object.KindSvc, nil), schema.Node()
	usr, sec, nscfg := schema.Object(object.KindUsr, nil), schema.Object(object.KindSec, nil), schema.Object(object.KindNscfg, nil)
	for _, c := range []struct {
		schema       *keyword.Schema
		config, want string // nothing: it is right
	}{
		{svc, "[DEFAULT]\napp = x y\n", `app: value "x y": not one word`},
		{svc, "[DEFAULT]\nparents = BAD/x/y/z\n", `parents: value "BAD/x/y/z": object path "bad/x/y/z" has 4 parts`},
		{svc, "[DEFAULT]\nparents = ok hard/nosuch/x\n", `unknown object kind "nosuch"`},
		{svc, "[DEFAULT]\nhard_affinity = db@\n", `"db@": no node after @`},
		{svc, "[DEFAULT]\nchildren = ./svc/db@n1 web ns1/vol/x\n", ""},
		{svc, "[DEFAULT]\nstatus_schedule = garbage\n", `status_schedule: value "garbage": "garbage" is no time range`},
		{svc, "[DEFAULT]\nstatus_schedule@n1 = ~02:00-04:00@30 mon-fri\n", ""},
		{svc, "[DEFAULT]\ntopology = flex\nflex_min = -1\n", `flex_min: value "-1": too small`},
		{svc, "[DEFAULT]\nplacement = nosuch\n", `placement: "nosuch" is not one of last start, load avg,`},
		{node, "[listener]\nport = 99999\n", `listener.port: value "99999": out of bounds: write a number from 1 to 65535`},
		{node, "[listener]\ntls_port = -1\n", `listener.tls_port: value "-1"`},
		{node, "[listener]\nacme_port = 0\n", ""},
		{node, "[asset]\nschedule = nightly\n", `asset.schedule: value "nightly"`},
		{node, "[compliance]\nschedule = nightly\n", `compliance.schedule: value "nightly"`},
		{node, "[backup#1]\nschedule = nightly\n", `backup#1.schedule: value "nightly"`},
		{node, "[pool#1]\nstatus_schedule = nightly\n", `pool#1.status_schedule: value "nightly"`},
		{node, "[hb#1]\ntype = unicast\nport = 0\n", `hb#1.port: value "0"`},
		{node, "[hb#1]\ntype = multicast\naddr = 10.0.0.1\n", `hb#1.addr: value "10.0.0.1": not a multicast address`},
		{node, "[hb#1]\ntype = unicast\nintf = a-name-that-is-too-long\n", `not the name of an interface`},
		{node, "[hook#1]\nevents = NodeFrozen Zork\ncommand = /bin/true\n", `hook#1.events: value "NodeFrozen Zork": "Zork": no event: use all, or kinds such as NodeFrozen`},
		{node, "[hook#1]\nevents = node_frozen all\ncommand = /bin/true\n", ""},
		{node, "[node]\nprkey = zz\n", `node.prkey: value "zz": not a reservation key: write 0x and at most 16 hexadecimal digits`},
		{node, "[node]\nprkey = 0x12345678901234567\n", `node.prkey: value "0x12345678901234567": not a reservation key`},
		{node, "[node]\nprkey = 0x0123456789abcdef\n", ""},
		{node, "[node]\nallowed_networks = 10.0.0.0/8 10.0.0.0/64\n", `"10.0.0.0/64": not a network`},
		{node, "[node]\nmin_avail_mem_pct = 101\n", `out of bounds: write a number from 0 to 100`},
		{node, "[node]\noci = dockr\n", `not one of docker, podman: did you mean docker?`},
		{node, "[node]\ncollector = ftp://x\n", `not a server`},
		{node, "[node]\ncollector = collector.example.com:8443\n", ""},
		{node, "[listener]\nopenid_issuer = auth.example.com\n", `not a url`},
		{node, "[listener]\nux_owner_group = -5\n", `neither a name nor a number of an account or group`},
		{node, "[listener]\ntls_secs = system/cfg/a\n", `"system/cfg/a": not a sec`},
		{node, "[cluster]\nca = system/sec/..\n", `cluster.ca: value "system/sec/.."`},
		{node, "[cluster]\nname = -x\n", `neither a host name nor an address`},
		{node, "[arbitrator#1]\nuri = dev2n2:22\n", ""},
		{node, "[arbitrator#1]\nuri = [2001:db8::1]:22\n", ""},
		{node, "[arbitrator#1]\nuri = dev2n2:\n", `not a server`},
		{node, "[uxgroup#ops]\ngrant = operater:ns1\n", `unknown role "operater"`},
		{node, "[network#1]\nnetwork = 10.0.0.0\n", `not a network`},
		{node, "[syslog]\nport = 0\n", `syslog.port: value "0": not a port`},
		{node, "[syslog]\nfacility = local9\n", `did you mean local`},
		{node, "[pool#1]\npath = srv\n", `pool#1.path: value "srv": not an absolute path`},
		{svc, "[DEFAULT]\npg_cpus = 2-1\n", `pg_cpus: value "2-1": not a set of numbers`},
		{svc, "[DEFAULT]\npg_cpus = 0-2,5\n", ""},
		{svc, "[DEFAULT]\npg_cpu_quota = fast\n", `not a share of processors`},
		{svc, "[DEFAULT]\npg_cpu_quota = 800%@8\n", ""},
		{svc, "[DEFAULT]\npg_cpu_quota = default\n", ""},
		{svc, "[DEFAULT]\npg_blkio_weight = 5\n", `out of bounds: write a number from 10 to 1000`},
		{svc, "[DEFAULT]\npre_monitor_action = \"x\n", `pre_monitor_action: value "\"x"`},
		{usr, "[DEFAULT]\ngrant = root:ns1\n", `concerns the whole cluster`},
		{usr, "[DEFAULT]\nuxuser = a:b\n", `neither a name nor a number`},
		{sec, "[DEFAULT]\nc = France\n", `not a country`},
		{sec, "[DEFAULT]\nemail = admin\n", `not a mail address`},
		{sec, "[DEFAULT]\nalt_names = a/b\n", `"a/b": neither a host name nor an address`},
		{sec, "[DEFAULT]\nalt_names = *.example.com 192.0.2.1\nshare = prod* staging\n", ""},
		{sec, "[DEFAULT]\nshare = ns1/svc\n", `not a namespace`},
		{sec, "[acme]\ndirectory = letsencryp\n", `no directory: write letsencrypt`},
		{sec, "[acme]\nwebroot = www\n", `acme.webroot: value "www": not an absolute path`},
		{nscfg, "[claim#1]\ntype = cpu\nlimit = 800%\ndefault = 50%\n", ""},
		{nscfg, "[claim#1]\ntype = cpu\nlimit = 800%@all\n", `not an amount`},
		{nscfg, "[DEFAULT]\nrootless_users = webapp 4294967296\n", `"4294967296": neither a name nor a number`},
	} {
		t.Run(c.config, func(t *testing.T) {
			t.Parallel()
			doc, err := config.Parse([]byte(c.config))
			if err != nil {
				t.Fatal(err)
			}

			alerts := c.schema.Validate(&config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1"}, Options: c.schema.Options(doc)}, keyword.Context{})

			alerts = slices.DeleteFunc(alerts, func(a keyword.Alert) bool { return a.Level != keyword.LevelError })
			switch {
			case c.want == "" && len(alerts) > 0:
				t.Error(alerts)
			case c.want != "" && (len(alerts) != 1 || !strings.Contains(alerts[0].Comment, c.want)):
				t.Errorf("got %v, want %q", alerts, c.want)
			}
		})
	}
}
