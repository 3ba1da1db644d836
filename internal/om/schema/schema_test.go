package schema_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

func all() []*keyword.Schema {
	out := []*keyword.Schema{schema.Node(), schema.Cluster()}
	for _, k := range object.Kinds() {
		out = append(out, schema.Object(k, nil))
	}
	return out
}

// each calls visit for every keyword declared.
func each(visit func(where string, s keyword.Section, typ string, k *keyword.Keyword)) {
	for _, sch := range all() {
		for _, s := range sch.Sections {
			for typ, build := range s.Types {
				for _, k := range build().Keywords() {
					visit(sch.Name+" "+s.Name+" "+typ+" "+k.Name, s, typ, k)
				}
			}
		}
	}
}

func TestEveryKeywordIsExplainedInSentences(t *testing.T) {
	t.Parallel()
	for _, sch := range all() {
		for _, s := range sch.Sections {
			if !isSentence(s.Doc) {
				t.Errorf("%s: section %s: %q is no sentence", sch.Name, s.Name, s.Doc)
			}
		}
	}
	each(func(where string, _ keyword.Section, _ string, k *keyword.Keyword) {
		if !isSentence(k.Help) {
			t.Errorf("%s: %q is no sentence", where, k.Help)
		}
		if k.DefaultDoc != "" && strings.TrimSpace(k.DefaultDoc) != k.DefaultDoc {
			t.Errorf("%s: %q has blanks around", where, k.DefaultDoc)
		}
	})
}

func isSentence(s string) bool {
	return strings.HasSuffix(s, ".") && !strings.Contains(s, "  ") && strings.IndexFunc(s, unicode.IsSpace) > 0
}

func TestDefaultsAndExamplesAreValuesTheKeywordAccepts(t *testing.T) {
	t.Parallel()
	each(func(where string, s keyword.Section, typ string, k *keyword.Keyword) {
		for _, value := range []string{k.Option.Default, k.Example} {
			if value == "" || strings.Contains(value, "{") {
				continue
			}
			doc := config.NewDocument()
			section := s.Name
			if s.Indexed {
				section += "#1"
			}
			if err := doc.Set(config.Key{Section: section, Option: k.Name}, value); err != nil {
				t.Fatal(err)
			}
			table := &keyword.Table{}
			*table = *s.Types[typ]()
			err := keyword.Decode(&config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1"}}, section, table, keyword.Context{})
			if err != nil && strings.Contains(err.Error(), "."+k.Name+":") {
				t.Errorf("%s: %q is refused: %v", where, value, err)
			}
			if len(k.Candidates) > 0 && k.Type != keyword.TypeList && !slices.Contains(k.Candidates, value) {
				t.Errorf("%s: %q is not one of %v", where, value, k.Candidates)
			}
		}
	})
}

func TestTheTypeKeywordOffersTheTypesDeclared(t *testing.T) {
	t.Parallel()
	each(func(where string, s keyword.Section, _ string, k *keyword.Keyword) {
		if k.Name != "type" || len(s.Types) == 1 {
			return
		}
		var types []string
		for typ := range s.Types {
			if typ != "" {
				types = append(types, typ)
			}
		}
		slices.Sort(types)
		offered := slices.Sorted(slices.Values(k.Candidates))
		if !slices.Equal(types, offered) {
			t.Errorf("%s: offers %v, declares %v", where, offered, types)
		}
		if (s.DefaultType == "") != k.Option.Required || s.DefaultType != k.Option.Default {
			t.Errorf("%s: the default type is %q, the default of the keyword %q", where, s.DefaultType, k.Option.Default)
		}
	})
}

func TestKeywordsAddedSinceAreDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema *keyword.Schema
		config string
	}{
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\ninfo_schedule = @60m\nresinfo_schedule = @60m\nwait_syncs_timeout = 5m\npg_cpu_burst@n1 = 10%\npg_mem_high = 1g\npg_pids_max = 10\npg_mem_limit = default\npg_vmem_limit = 2g\n[subset#g]\nparallel = true\npg_cpus = 1\n[subset#app:g]\nparallel@n1 = true\n[env]\na@n1 = 1\n[labels]\naz = east\n"},
		{schema.Object(object.KindVol, nil), "[DEFAULT]\nsize = 100mi\npool = default\naccess = rwx\n"},
		{schema.Object(object.KindUsr, nil), "[DEFAULT]\nuxuser = alice\ngrant = guest:prod* admin:test*\n[data]\npassword = crypt:x\n"},
		{schema.Object(object.KindSec, nil), "[DEFAULT]\ncn = www.example.com\n[acme]\ndirectory = letsencrypt\nrenew_before = 20d\nwebroot = /srv\n[data]\na.b-c = crypt:x\n"},
		{schema.Object(object.KindNscfg, nil), "[DEFAULT]\nrootless_users = webapp 1000\nrootless_groups = webapp\npg_cpu_quota = 50%@all\n[claim#1]\ntype = pool\nname = tank\nlimit = 250m\ndefault = 10m\n"},
		{schema.Cluster(), "[cluster]\ncrl = http://x\n[listener]\nux_owner_group = ops\ntls_secs = system/sec/a\nacme_port = 80\nopenid_issuer = https://x\nopenid_client_id = om3\n[uxgroup#ops]\ngrant = operator:ns1\n[collector]\nurl = https://c\nfeeder = https://f\nserver = https://s\n[network#lo]\ntype = lo\n[array#p]\ntype = pure\napi = https://x\nclient_id = x\nkey_id = x\nissuer = x\nsecret = x\nusername = x\n[hb#2]\ntype = unicast\nport = 10002\n[stonith#n2]\ncommand = /bin/true\n[arbitrator#a1]\nuri = https://x\n"},
		{schema.Node(), "[node]\nprkey = 0x1\nuuid = x\nenv = PRD\n[backup#1]\nschedule = @0\n[cni]\nplugins = /x\nconfig = /y\n[switch#s]\ntype = brocade\nusername = x\nschedule = @0\n[patches]\nschedule = @0\n[stats]\nschedule = @0\n"},
	} {
		t.Run(c.schema.Name, func(t *testing.T) {
			t.Parallel()
			doc, err := config.Parse([]byte(c.config))
			if err != nil {
				t.Fatal(err)
			}

			alerts := c.schema.Validate(&config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1", Nodes: []string{"n1"}}, Options: c.schema.Options(doc)}, keyword.Context{})

			for _, a := range alerts {
				if a.Level == keyword.LevelError {
					t.Error(a.Comment)
				}
			}
		})
	}
}

func TestWhatIsNotAKeywordIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		schema *keyword.Schema
		config string
		want   string
	}{
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\norchestrat = ha\n", "orchestrate"},
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\ngrant = root\n", "usr"},
		{schema.Object(object.KindCfg, nil), "[DEFAULT]\norchestrate = ha\n", "svc"},
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\ntopology = foo\n", "failover"},
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\npg_mem_limit = plenty\n", "plenty"},
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\nrollback = yes\n", "rollback"},
		{schema.Object(object.KindSvc, nil), "[DEFAULT]\ntopology@n1 = flex\n", "without @n1"},
		{schema.Object(object.KindSvc, nil), "[data]\nx = 1\n", "data"},
		{schema.Cluster(), "[hb#test]\ntype = unsupported\n", "unicast"},
		{schema.Cluster(), "[hb#test]\ntype = unicast\ndev = /dev/sda\n", "hb.disk"},
		{schema.Cluster(), "[node]\nprkey = 0x1\n", "prkey"},
		{schema.Node(), "[nod]\nenv = PRD\n", "node"},
	} {
		t.Run(c.config, func(t *testing.T) {
			t.Parallel()
			doc, err := config.Parse([]byte(c.config))
			if err != nil {
				t.Fatal(err)
			}

			alerts := c.schema.Validate(&config.Evaluator{Doc: doc, Scope: config.Scope{Node: "n1"}, Options: c.schema.Options(doc)}, keyword.Context{})

			if !slices.ContainsFunc(alerts, func(a keyword.Alert) bool {
				return a.Level == keyword.LevelError && strings.Contains(a.Comment, c.want)
			}) {
				t.Errorf("no error says %q: %v", c.want, alerts)
			}
		})
	}
}
