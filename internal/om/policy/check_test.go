package policy_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/policy"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// texts declares text keywords, inherited and scopable as those of drivers are.
func texts(names string) func() *keyword.Table {
	return func() *keyword.Table {
		t := &keyword.Table{}
		for name := range strings.FieldsSeq(names) {
			t.String(new(string), name, "").Scopable()
		}
		return t
	}
}

// drivers are some of the groups the policy speaks of, and one it does not.
func drivers() []keyword.Section {
	const common = " restart tags pre_start blocking_post_stop provision timeout "
	group := func(name, standard string, types map[string]string) keyword.Section {
		s := keyword.Section{Name: name, Indexed: true, DefaultType: standard, Types: map[string]func() *keyword.Table{}}
		for typ, names := range types {
			s.Types[typ] = texts(names + common)
		}
		return s
	}
	return []keyword.Section{
		group("ip", "host", map[string]string{"host": "name dev", "netns": "network netns expose dev"}),
		group("fs", "", map[string]string{"flag": "force", "xfs": "dev mnt"}),
		group("container", "oci", map[string]string{"oci": "image run_args netns volume_mounts uxgrant privileged", "lxc": "rootfs"}),
		group("app", "forking", map[string]string{"forking": "start", "simple": "start"}),
		group("volume", "", map[string]string{"shm": "name size install"}),
		group("quantum", "", map[string]string{"tunnel": "power"}),
	}
}

const (
	svc1 = "ns1/svc/web1"
	vol1 = "ns1/vol/data1"
)

func parse(t failer, text string) *config.Document {
	t.Helper()
	doc, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// nodes are those of the cluster.
func nodes() []string { return []string{"n1", "n2"} }

func write(t failer, path string, former *string, fresh string) policy.Write {
	t.Helper()
	p, err := object.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	s := schema.Object(p.Kind, drivers())
	w := policy.Write{Path: p, Schema: s, Fresh: parse(t, fresh), Nodes: nodes()}
	if former != nil {
		w.Former = parse(t, *former)
	}
	w.Evaluator = func(doc *config.Document, node string) (*config.Evaluator, error) {
		return &config.Evaluator{Doc: doc, Scope: config.Scope{Node: node, Nodes: nodes()}, Options: s.Options(doc), Lookup: lookup(node)}, nil
	}
	return w
}

// lookup knows the node and what only exists at run time.
func lookup(node string) func(string, string) (string, bool, error) {
	return func(_, name string) (string, bool, error) {
		switch {
		case name == "nodename":
			return node, true, nil
		case strings.HasSuffix(name, ".mnt"):
			return "", false, config.ErrPostponed
		}
		return "", false, nil
	}
}

// denied are the keys a write is refused for.
func denied(t failer, grants string, w policy.Write) []string {
	t.Helper()
	parsed, err := rbac.Parse(grants)
	if err != nil {
		t.Fatal(err)
	}
	err = policy.Check(parsed, w)
	if err == nil {
		return nil
	}
	refusal, ok := errors.AsType[*policy.DeniedError](err)
	if !ok {
		t.Fatalf("refused otherwise: %v", err)
	}
	var keys []string
	for _, d := range refusal.Denials {
		keys = append(keys, d.Key.String()+" "+string(d.Role))
	}
	return keys
}

func TestAnAdminWritesWhatIsOfTheObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		former, fresh string
		want          []string
	}{
		"an empty object":               {"", "[DEFAULT]\nid = 1\nnodes = n1 n2\ncomment = hello\n", nil},
		"free settings":                 {"", "[env]\na = {env.b}\nb = $(1 + 1)\n[labels]\ntier = gold\n", nil},
		"a flag":                        {"", "[fs#1]\ntype = flag\nforce = true\nrestart = 3\n", nil},
		"a filesystem":                  {"", "[fs#1]\ntype = xfs\ndev = /dev/sda\n", []string{"fs#1.dev root", "fs#1.type root"}},
		"an application":                {"", "[app#1]\nstart = /bin/evil\n", []string{"app#1.start root", "app#1.type root"}},
		"an application of nothing":     {"", "[app#1]\n", []string{"app#1.type root"}},
		"a trigger of a flag":           {"", "[fs#1]\ntype = flag\npre_start = /bin/evil\n", []string{"fs#1.pre_start root"}},
		"a trigger to inherit":          {"", "[DEFAULT]\nblocking_post_stop = /bin/evil\n", []string{"blocking_post_stop root"}},
		"a command to inherit":          {"", "[DEFAULT]\nstart = /bin/evil\n", []string{"start root"}},
		"restarts to inherit":           {"", "[DEFAULT]\nrestart = 2\n", nil},
		"what nobody knows":             {"", "[DEFAULT]\nfrobnicate = 2\n", []string{"frobnicate root"}},
		"a priority":                    {"", "[DEFAULT]\npriority = 1\n", []string{"priority prioritizer"}},
		"a reboot":                      {"", "[DEFAULT]\nmonitor_action = freezestop reboot\n", []string{"monitor_action root"}},
		"a switch":                      {"", "[DEFAULT]\nmonitor_action = switch\n", nil},
		"a reboot by reference":         {"", "[DEFAULT]\nmonitor_action = {env.a}\n[env]\na = reboot\n", []string{"monitor_action root"}},
		"a fence":                       {"", "[DEFAULT]\nstonith = true\n", []string{"stonith root"}},
		"out of the caps":               {"", "[DEFAULT]\ncreate_pg = false\n", []string{"create_pg root"}},
		"caps":                          {"", "[DEFAULT]\npg_cpu_quota = 50%\n[fs#1]\ntype = flag\n", nil},
		"a container":                   {"", "[container#1]\ntype = oci\nimage = nginx\nnetns = container#0\nvolume_mounts = volume#1:/srv\n", nil},
		"a container without a type":    {"", "[container#1]\nimage = nginx\n", nil},
		"a container on the node":       {"", "[container#1]\ntype = lxc\nrootfs = /srv\n", []string{"container#1.rootfs root", "container#1.type root"}},
		"the namespaces of the node":    {"", "[container#1]\nimage = nginx\nnetns = host\n", []string{"container#1.netns root"}},
		"the files of the node":         {"", "[container#1]\nimage = nginx\nvolume_mounts = volume#1:/srv /etc:/etc\n", []string{"container#1.volume_mounts root"}},
		"files by reference":            {"", "[container#1]\nimage = nginx\nvolume_mounts = {env.a}\n[env]\na = /:/host\n", []string{"container#1.volume_mounts root"}},
		"arguments of the engine":       {"", "[container#1]\nimage = nginx\nrun_args = --privileged\n", []string{"container#1.run_args root"}},
		"a sidecar that is root":        {"", "[container#1]\nimage = nginx\nuxgrant = root\n", []string{"container#1.uxgrant root"}},
		"an address of the cluster":     {"", "[ip#1]\ntype = netns\nnetwork = default\nnetns = container#1\nexpose = 80/tcp\n", nil},
		"an address of the node":        {"", "[ip#1]\nname = 10.0.0.1\ndev = eth0\n", []string{"ip#1.dev root", "ip#1.name root", "ip#1.type root"}},
		"a driver of tomorrow":          {"", "[quantum#1]\ntype = tunnel\npower = 3\n", []string{"quantum#1.power root", "quantum#1.type root"}},
		"a volume":                      {"", "[volume#1]\ntype = shm\nname = x\nsize = 1m\ninstall = /a from ./cfg/x key a mode 0644 user 99\n", nil},
		"a volume with a set-id":        {"", "[volume#1]\ntype = shm\ninstall = /a from ./cfg/x key a mode 4755\n", []string{"volume#1.install root"}},
		"a volume of a file":            {"", "[volume#1]\ntype = shm\ninstall = /a from ./cfg/x key a source /etc/shadow\n", []string{"volume#1.install root"}},
		"a comment beside a filesystem": {"[fs#1]\ntype = xfs\ndev = /dev/sda\n", "[DEFAULT]\ncomment = x\n[fs#1]\ntype = xfs\ndev = /dev/sda\n", nil},
		"the end of a filesystem":       {"[fs#1]\ntype = xfs\ndev = /dev/sda\n", "", []string{"fs#1.dev root", "fs#1.type root"}},
		"a keyword unset":               {"[fs#1]\ntype = flag\npre_start = /bin/a\n", "[fs#1]\ntype = flag\n", []string{"fs#1.pre_start root"}},
		"a flag made a filesystem":      {"[fs#1]\ntype = flag\n", "[fs#1]\ntype = xfs\n", []string{"fs#1.type root"}},
		"a filesystem made a flag":      {"[fs#1]\ntype = xfs\n", "[fs#1]\ntype = flag\n", []string{"fs#1.type root"}},
		"restarts of a filesystem":      {"[fs#1]\ntype = xfs\n", "[fs#1]\ntype = xfs\nrestart = 3\n", nil},
		"the same value by reference":   {"[env]\na = /bin/a\n[app#1]\nstart = /bin/a\n", "[env]\na = /bin/a\n[app#1]\nstart = {env.a}\n", nil},
		"the trick": {
			"[env]\ncmd = /bin/good\n[app#1]\npre_start = {env.cmd}\n", "[env]\ncmd = /bin/evil\n[app#1]\npre_start = {env.cmd}\n",
			[]string{"app#1.pre_start root"},
		},
		"the trick, deeper": {
			"[env]\na = {env.b}\nb = {env.c}\nc = /bin/good\n[app#1]\nstart = sh {env.a}\n", "[env]\na = {env.b}\nb = {env.c}\nc = /bin/evil\n[app#1]\nstart = sh {env.a}\n",
			[]string{"app#1.start root"},
		},
		"the trick on a peer": {
			"[env]\ncmd = /bin/good\n[app#1]\nstart = {env.cmd}\n", "[env]\ncmd = /bin/good\ncmd@n2 = /bin/evil\n[app#1]\nstart = {env.cmd}\n",
			[]string{"app#1.start root"},
		},
		"the trick on a node to come": {
			"[env]\ncmd = /bin/good\n[app#1]\nstart = {env.cmd}\n", "[env]\ncmd = /bin/good\ncmd@n9 = /bin/evil\n[app#1]\nstart = {env.cmd}\n",
			[]string{"app#1.start root"},
		},
		"the trick on a list of nodes to come": {
			"[env]\ncmd = /bin/good\n[app#1]\nstart = {env.cmd}\n", "[DEFAULT]\ndrpnodes = role=db\n[env]\ncmd = /bin/good\ncmd@drpnodes = /bin/evil\n[app#1]\nstart = {env.cmd}\n",
			[]string{"app#1.start root"},
		},
		"the trick on two lists of nodes": {
			"[env]\na = 1\n[app#1]\nstart = x\nstart@encapnodes = {env.a}\n", "[env]\na = 1\na@drpnodes = 2\n[app#1]\nstart = x\nstart@encapnodes = {env.a}\n",
			[]string{"app#1.start root"},
		},
		"a command of a list of nodes to come": {"[app#1]\nstart = /bin/a\n", "[app#1]\nstart = /bin/a\nstart@encapnodes = /bin/evil\n", []string{"app#1.start root"}},
		"a comment beside a command of a list": {"[app#1]\nstart@drpnodes = /bin/a\n", "[DEFAULT]\ncomment@drpnodes = x\n[app#1]\nstart@drpnodes = /bin/a\n", nil},
		"a command of a node to come":          {"[app#1]\nstart = /bin/a\n", "[app#1]\nstart = /bin/a\nstart@n9 = /bin/evil\n", []string{"app#1.start root"}},
		"the trick through what inherits": {
			"[DEFAULT]\npre_start = {env.cmd}\n[env]\ncmd = /bin/good\n[fs#1]\ntype = flag\n", "[DEFAULT]\npre_start = {env.cmd}\n[env]\ncmd = /bin/evil\n[fs#1]\ntype = flag\n",
			[]string{"pre_start root", "fs#1.pre_start root"},
		},
		"the trick through what runs": {
			"[volume#1]\ntype = shm\nname = good\n[app#1]\nstart = {volume#1.mnt}/run\n", "[volume#1]\ntype = shm\nname = evil\n[app#1]\nstart = {volume#1.mnt}/run\n",
			[]string{"app#1.start root"},
		},
		"a reference nobody knows": {
			"[env]\na = 1\n[app#1]\nstart = {env.nope}\n", "[env]\na = 2\n[app#1]\nstart = {env.nope}\n",
			[]string{"app#1.start root"},
		},
		"what is hidden from the nodes of today": {
			"[env]\na@nodes = x\na = x\n[app#1]\nstart = {env.a}\n", "[env]\na@nodes = x\na = evil\n[app#1]\nstart = {env.a}\n",
			[]string{"app#1.start root"},
		},
		"what inherits from the head": {
			"[DEFAULT]\nprovision = true\n[fs#1]\ntype = xfs\n", "[DEFAULT]\nprovision = false\n[fs#1]\ntype = xfs\n",
			[]string{"fs#1.provision root"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := write(t, svc1, &c.former, c.fresh)
			got := denied(t, "admin:ns1", w)
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got := denied(t, "root", w); got != nil {
				t.Errorf("root is refused %v", got)
			}
		})
	}
}

func TestAPrioritizerSetsPriorities(t *testing.T) {
	t.Parallel()
	former := "[DEFAULT]\n"
	if got := denied(t, "admin:ns1 prioritizer", write(t, svc1, &former, "[DEFAULT]\npriority = 1\n")); got != nil {
		t.Error(got)
	}
}

func TestAVolumeIsOfRootExceptItsSize(t *testing.T) {
	t.Parallel()
	former := "[DEFAULT]\nsize = 1g\n[fs#1]\ntype = flag\n[env]\na = 1\n"
	for fresh, want := range map[string][]string{
		strings.Replace(former, "1g", "2g", 1):                       nil,
		strings.Replace(former, "1g", "1g\npool = fast", 1):          {"pool root"},
		strings.Replace(former, "flag", "flag\nrestart = 1", 1):      {"fs#1.restart root"},
		strings.Replace(former, "a = 1", "a = 2", 1):                 {"env.a root"},
		strings.Replace(former, "size = 1g", "comment = x", 1):       {"comment root"},
		strings.Replace(former, "[fs#1]\ntype = flag\n", "", 1) + "": {"fs#1.type root"},
	} {
		if diff := cmp.Diff(want, denied(t, "admin:ns1", write(t, vol1, &former, fresh))); diff != "" {
			t.Errorf("%s: %s", fresh, diff)
		}
	}
	if got := denied(t, "admin:ns1", write(t, vol1, nil, "[fs#1]\ntype = flag\n")); got == nil {
		t.Error("a volume is made by an admin")
	}
}

func TestANamespaceIsOfTheSquatter(t *testing.T) {
	t.Parallel()
	former := "[DEFAULT]\n"
	w := write(t, "ns1/nscfg/namespace", &former, "[DEFAULT]\npg_cpu_quota = 50%\n[claim#1]\ntype = cpu\nlimit = 500m\n")
	if got := denied(t, "admin", w); !slices.Contains(got, "pg_cpu_quota squatter") || !slices.Contains(got, "claim#1.limit squatter") {
		t.Errorf("an admin is refused %v", got)
	}
	if got := denied(t, "squatter", w); got != nil {
		t.Errorf("a squatter is refused %v", got)
	}
}

func TestASecAsksNoAuthorityOfOthersToSign(t *testing.T) {
	t.Parallel()
	former := "[DEFAULT]\n"
	for ca, want := range map[string][]string{
		"./sec/ca": nil, "ns1/sec/ca": nil, "system/sec/ca": {"ca root"}, "ns2/sec/ca": {"ca root"},
	} {
		if diff := cmp.Diff(want, denied(t, "admin:ns1", write(t, "ns1/sec/cert", &former, "[DEFAULT]\nca = "+ca+"\n"))); diff != "" {
			t.Errorf("%s: %s", ca, diff)
		}
	}
	if got := denied(t, "admin:ns1", write(t, "ns1/sec/cert", &former, "[acme]\ndirectory = letsencrypt\nwebroot = /srv\n")); !slices.Equal(got, []string{"acme.webroot root"}) {
		t.Error(got)
	}
}

func TestARefusalNamesTheKeywordAndTheGrant(t *testing.T) {
	t.Parallel()
	former := "[env]\ncmd = a\n[app#1]\nstart = {env.cmd}\n"
	err := policy.Check(rbac.Grants{{Role: rbac.Admin}}, write(t, svc1, &former, strings.Replace(former, "= a", "= b", 1)))
	const want = "denied: ns1/svc/web1: app#1.start asks for the root grant, and refers to what the write changes on n1"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// checker is what the law below is about. The mutants break it.
type checker func(w policy.Write) (refused bool)

func checked(w policy.Write) bool { return policy.Check(rbac.Grants{{Role: rbac.Admin}}, w) != nil }

// law: a write is refused if and only if a command evaluates to something else on
// some node, including those the configuration alone names, whatever lists of nodes
// it is in: a label puts it there, without a write of the object.
func law(w policy.Write, check checker) error {
	want := false
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		for _, key := range []string{"start", "pre_start"} {
			for _, lists := range [][]string{nil, {"nodes"}, {"drpnodes"}, {"nodes", "drpnodes"}} {
				was, err := command(w, w.Former, node, key, lists...)
				is, freshErr := command(w, w.Fresh, node, key, lists...)
				if err := errors.Join(err, freshErr); err != nil {
					return err
				}
				want = want || was != is
			}
		}
	}
	if got := check(w); got != want {
		return fmt.Errorf("refused %t, want %t:\n%s\n-- becomes --\n%s", got, want, w.Former.Bytes(), w.Fresh.Bytes())
	}
	return nil
}

func command(w policy.Write, doc *config.Document, node, option string, lists ...string) (string, error) {
	ev, err := w.Evaluator(doc, node)
	if err != nil {
		return "", err
	}
	if slices.Contains(lists, "nodes") {
		ev.Scope.Nodes = []string{node}
	}
	if slices.Contains(lists, "drpnodes") {
		ev.Scope.DRPNodes = []string{node}
	}
	text, _, err := ev.Value("app#1", config.Option{Name: option, Scopable: true})
	return text, err
}

func keys() []string {
	return []string{
		"env.a", "env.a@n1", "env.a@n3", "env.b", "env.b@nodes", "env.c", "env.c@n2", "env.c@drpnodes",
		"app#1.start", "app#1.start@n2", "app#1.start@drpnodes", "app#1.pre_start", "app#1.restart", "DEFAULT.comment",
	}
}

// value refers only to what comes later in env, so that no reference is a circle.
func value(t *rapid.T, key string) string {
	after := map[string][]string{"env.a": {"{env.b}", "{env.c}"}, "env.b": {"{env.c}", "{nodename}"}, "env.c": nil}
	base, _, _ := strings.Cut(key, "@")
	refs, isEnv := after[base]
	if !isEnv {
		refs = []string{"{env.a}", "{env.b}", "{env.c}", "{env.a} {env.c}"}
	}
	return rapid.SampledFrom(append([]string{"x", "y"}, refs...)).Draw(t, key)
}

func configuration() *rapid.Generator[map[string]string] {
	return rapid.Custom(func(t *rapid.T) map[string]string {
		m := map[string]string{"env.a": "x", "env.b": "x", "env.c": "x", "app#1.type": "simple"}
		for _, key := range rapid.SliceOfDistinct(rapid.SampledFrom(keys()), rapid.ID).Draw(t, "keys") {
			m[key] = value(t, key)
		}
		return m
	})
}

func edited(t *rapid.T, m map[string]string) map[string]string {
	fresh := maps.Clone(m)
	key := rapid.SampledFrom(keys()).Draw(t, "key")
	_, there := fresh[key]
	if there && strings.Contains(key, "@") && rapid.Bool().Draw(t, "unset") {
		delete(fresh, key)
	} else {
		fresh[key] = value(t, key)
	}
	return fresh
}

func written(m map[string]string) string {
	var b strings.Builder
	for _, section := range []string{"DEFAULT", "env", "app#1"} {
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, key := range append([]string{"app#1.type"}, keys()...) {
			if v, ok := m[key]; ok && strings.HasPrefix(key, section+".") {
				fmt.Fprintf(&b, "%s = %s\n", strings.TrimPrefix(key, section+"."), v)
			}
		}
	}
	return b.String()
}

func TestAWriteAnswersForWhatItChangesAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		former := configuration().Draw(t, "former")
		fresh := former
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			fresh = edited(t, fresh)
		}
		was := written(former)
		if err := law(write(t, svc1, &was, written(fresh)), checked); err != nil {
			t.Fatal(err)
		}
	})
}

// Checkers with one fault each, and a write that shows it.
func TestTheLawBites(t *testing.T) {
	t.Parallel()
	const former = "[env]\na = x\n[app#1]\ntype = simple\nstart = {env.a}\n"
	for name, c := range map[string]struct {
		fresh string
		check checker
	}{
		"comparing what is written": {"[env]\na = y\n[app#1]\ntype = simple\nstart = {env.a}\n", func(w policy.Write) bool {
			key := config.Key{Section: "app#1", Option: "start"}
			was, _ := w.Former.Get(key)
			is, _ := w.Fresh.Get(key)
			return was != is
		}},
		"looking at one node": {"[env]\na = x\na@n2 = y\n[app#1]\ntype = simple\nstart = {env.a}\n", func(w policy.Write) bool {
			was, _ := command(w, w.Former, "n1", "start")
			is, _ := command(w, w.Fresh, "n1", "start")
			return was != is
		}},
		"refusing all":     {former + "restart = 2\n", func(policy.Write) bool { return true }},
		"refusing nothing": {former + "pre_start = x\n", func(policy.Write) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := former
			w := write(t, svc1, &was, c.fresh)
			if err := law(w, c.check); err == nil {
				t.Error("the law is not broken")
			}
			if err := law(w, checked); err != nil {
				t.Error(err)
			}
		})
	}
}
