package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/config"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

const referring = `[DEFAULT]
id = my-id
nodes = n1 n2
nodes@n3 = n3
drpnodes = n3
comment = hello

[app#1]
type = simple
tags = one two three

[disk#1]
type = md

[disk#2]
type = md
uuid = known

[env]
a = {b}
b = {upper:c}
c = deep

[labels]
rack = r1
`

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		object, section, text, want string
	}{
		{"web", "app#1", "{nodename} {short_nodename}", "n1 n1"},
		{"web", "app#1", "{rid} {rindex} {rgroup}", "app#1 1 app"},
		{"web", "env", "{rid} {rindex}", "env env"},
		{"web", "app#1", "{name} {svcname} {path} {svcpath} {kind} {namespace}", "web web web web svc root"},
		{"ns1/svc/web", "app#1", "{path} {namespace} {fqdn} {domain}", "ns1/svc/web ns1 web.ns1.svc.c1 ns1.svc.c1"},
		{"ns1/svc/3.web.x", "app#1", "{short_name} {scaler_name} {scaler_short_name}", "3 web.x web"},
		{"web", "app#1", "{id}", "my-id"},
		{"web", "app#1", "{clusterid} {clustername} {clusternodes} {#clusternodes} {clusternodes[1]}", "c1id c1 n1 n2 n3 3 n2"},
		{"web", "app#1", "{dns} {dns[1]} {dnsnodes}", "192.0.2.1 192.0.2.2 192.0.2.2 n1 n2 n3"},
		{"web", "app#1", "{nodes} {#nodes} {nodes[0]} {drpnodes}", "n1 n2 2 n1 n3"},
		{"web", "app#1", "{DEFAULT.nodes}", "n1 n2"},
		{"web", "app#1", "{svcmgr} {nodemgr}", "/usr/bin/om svc /usr/bin/om node"},
		{"web", "app#1", "{env.a} {upper:env.c}", "DEEP DEEP"},
		{"web", "app#1", "{comment} {DEFAULT.comment}", "hello hello"},
		{"web", "app#1", "{tags[2]} {#tags} {app#1.tags[0]}", "three 3 one"},
		{"web", "app#1", "{labels.rack} {labels.az} {node.labels.az}", "r1 east east"},
		{"web", "app#1", "{node.env} {node.env.color} {node.node.env}", "PRD green PRD"},
		{"web", "app#1", "{node.ready_period}", "2s"},
		{"web", "app#1", "{disk#2.uuid}", "known"},
		{"cluster", "cluster", "{clustername} {fqdn} {name}", "c1 cluster.root.ccfg.c1 cluster"},
	} {
		t.Run(c.object+" "+c.text, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			text := referring
			if c.object == "cluster" {
				text = s.read(t, "cluster.conf")
			}
			ev, err := s.Evaluator(path(t, c.object), parse(t, text), "")
			if err != nil {
				t.Fatal(err)
			}

			got, err := ev.Expand(c.section, c.text)

			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestReferencesToPlacesFollowTheRoot(t *testing.T) {
	t.Parallel()
	s := open(t)
	ev, err := s.Evaluator(path(t, "ns1/svc/web"), parse(t, referring), "")
	if err != nil {
		t.Fatal(err)
	}
	etc, state := s.paths.Etc(), s.paths.Var()
	for text, want := range map[string]string{
		"{etc}":         etc,
		"{var}":         state,
		"{initd}":       filepath.Join(etc, "namespaces/ns1/svc/web.d"),
		"{private_var}": filepath.Join(state, "namespaces/ns1/svc/web"),
		"{dnsuxsock}":   filepath.Join(state, "dns/pdns.sock"),
		"{dnsuxsockd}":  filepath.Join(state, "dns"),
	} {
		got, err := ev.Expand("app#1", text)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestAReferenceToNothingIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	ev, err := s.Evaluator(path(t, "web"), parse(t, referring), "")
	if err != nil {
		t.Fatal(err)
	}
	for text, words := range map[string][]string{
		"{nosuch}":                 {"{nosuch}"},
		"{env.nosuch}":             {"{env.nosuch}"},
		"{node.env.nosuch}":        {"{node.env.nosuch}", "env.nosuch"},
		"{labels.nosuch}":          {"{labels.nosuch}"},
		"{node.cluster.secret}":    {"may not be referred to"},
		"{node.prkey}":             {"may not be referred to"},
		"{node.node.prkey}":        {"may not be referred to"},
		"{node.UUID}":              {"may not be referred to"},
		"{cluster.secret}":         {"{cluster.secret}"},
		"{disk#9.exposed_devs[0]}": {"disk#9"},
		"{tags[7]}":                {"no element 7"},
		"{collector_api}":          {"no collector is configured"},
	} {
		_, err := ev.Expand("app#1", text)
		fails(t, err, words...)
		if errors.Is(err, config.ErrPostponed) {
			t.Errorf("%s is postponed", text)
		}
	}
}

func TestWhatExistsOnlyAtRunTimeIsPostponed(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := parse(t, referring+"\n[volume#1]\n")
	ev, err := s.Evaluator(path(t, "web"), doc, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{disk#1.exposed_devs}", "{disk#1.exposed_devs[0]}", "{disk#1.free}", "{disk#1.capacity}", "{volume#1.mnt}", "{app#1.uid}", "{app#1.gid.1000}"} {
		if _, err := ev.Expand("app#1", text); !errors.Is(err, config.ErrPostponed) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestAnotherNodeReadsItsOwnScopes(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := parse(t, "[DEFAULT]\nid = x\nnodes = n1 n2\nnodes@n3 = n3\ndrpnodes = n3\n\n[env]\na = all\na@n1 = one\na@nodes = some\na@drpnodes = far\n")
	for node, want := range map[string][3]string{
		"":   {"one", "n1 n2", "n1"},
		"n1": {"one", "n1 n2", "n1"},
		"n2": {"some", "n1 n2", "n2"},
		"n3": {"some", "n3", "n3"},
	} {
		ev, err := s.Evaluator(path(t, "web"), doc, node)
		if err != nil {
			t.Fatal(err)
		}

		value, _, err := ev.Value("env", config.Option{Name: "a", Scopable: true})

		got := [3]string{value, strings.Join(ev.Scope.Nodes, " "), ev.Scope.Node}
		if err != nil || got != want {
			t.Errorf("%s reads %v, %v; want %v", node, got, err, want)
		}
	}
}

func TestNodesAreSelectedAmongThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "n1",
		"nodes = *":                 "n1 n2 n3",
		"nodes = n3 n[12]":          "n3 n1 n2",
		"nodes = az=east":           "n1",
		"nodes = {clusternodes}":    "n1 n2 n3",
		"nodes = {clusternodes[1]}": "n2",
		"nodes = {env.where}":       "n2 n3",
		"nodes = {nosuch}":          "n1",
		"nodes = N2 N1":             "n2 n1",
		"nodes = disk=none":         "",
		"nodes = zz*":               "",
		"nodes = disk=ssd":          "n3",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if err := writeInfo(s, `{"n3": {"labels": {"disk": "ssd"}}}`); err != nil {
				t.Fatal(err)
			}
			doc := parse(t, "[DEFAULT]\nid = x\n"+text+"\n\n[env]\nwhere = n2 n3\n")

			ev, err := s.Evaluator(path(t, "web"), doc, "")

			if err != nil || strings.Join(ev.Scope.Nodes, " ") != want {
				t.Errorf("got %v, %v; want %s", ev.Scope.Nodes, err, want)
			}
		})
	}
}

func TestASelectorOfNobodyIsNotTheLocalNode(t *testing.T) {
	t.Parallel()
	s := open(t)

	done, err := s.Create(t.Context(), path(t, "web"), parse(t, "[DEFAULT]\nnodes = zz*\n"), store.CreateOptions{})

	if err != nil || len(done.Warnings) != 1 {
		t.Fatalf("got %+v, %v", done, err)
	}
	if o, err := s.Object(path(t, "web")); err != nil || len(o.Nodes) > 0 {
		t.Errorf("its nodes are %v, %v", o.Nodes, err)
	}
}

func TestObjectSettings(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\nnodes = *\ntopology = flex\nflex_min = 2\norchestrate = ha\nparents = ./svc/DB\nmonitor_action = freezestop switch\nstart_timeout@n1 = 30\nstatus_timeout@n2 = 2m\n")
	s.write(t, "plain.conf", "")
	s.write(t, "cfg/hosts.conf", "")
	s.write(t, "vol/v1.conf", "[DEFAULT]\nsize = 10m\n")

	web, err := s.Object(path(t, "web"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.Object(path(t, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := s.Object(path(t, "cfg/hosts"))
	if err != nil {
		t.Fatal(err)
	}
	volume, err := s.Object(path(t, "vol/v1"))
	if err != nil {
		t.Fatal(err)
	}

	type brief struct {
		Nodes, MonitorAction, Parents, FlexPrimary []string
		Topology, Orchestrate, Placement, Env, App string
		Min, Max, Target, Priority                 int
		Start, Status, Timeout                     time.Duration
		Rollback                                   bool
	}
	of := func(o *schema.ObjectSettings) brief {
		return brief{
			o.Nodes, o.MonitorAction, o.Parents, o.FlexPrimary, o.Topology, o.Orchestrate, o.Placement, o.Env, o.App,
			o.FlexMin, o.FlexMax, o.FlexTarget, o.Priority, o.StartTimeout, o.StatusTimeout, o.Timeout, o.Rollback,
		}
	}
	want := brief{
		[]string{"n1", "n2", "n3"},
		[]string{"freezestop", "switch"},
		[]string{"./svc/db"},
		[]string{"n1"},
		"flex", "ha", "nodes order", "PRD", "default",
		2, 3, 2, 50, 30 * time.Second, time.Minute, time.Hour, true,
	}
	if diff := cmp.Diff(want, of(web)); diff != "" {
		t.Error(diff)
	}
	want = brief{
		[]string{"n1"},
		[]string{"none"},
		nil,
		[]string{"n1"},
		"failover", "no", "nodes order", "PRD", "default",
		0, 0, 0, 50, 0, time.Minute, time.Hour, true,
	}
	if diff := cmp.Diff(want, of(plain)); diff != "" {
		t.Error(diff)
	}
	if strings.Join(hosts.Nodes, " ") != "n1 n2 n3" || strings.Join(hosts.Share, " ") != "root" {
		t.Errorf("a cfg has the settings %+v", hosts)
	}
	if volume.Volume.Size != 10<<20 || volume.Volume.Access != "rwo" {
		t.Errorf("a volume has the settings %+v", volume.Volume)
	}
}

func TestSettingsThatDoNotConvertAreErrorsThatNameTheKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.write(t, "web.conf", "[DEFAULT]\nid = x\npriority = high\nstart_timeout = soon\n")

	_, err := s.Object(path(t, "web"))

	fails(t, err, "web", "priority", "high", "start_timeout", "soon")
}

func TestValidationLooksAtEveryNode(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := parse(t, "[DEFAULT]\nid = x\nnodes = n1 n2\ndrpnodes = n3\n\n[app#1]\ntype = simple\ntimeout@n2 = soon\ntimeout@drpnodes = later\nstart = /bin/true\n\n[app#2]\ntype = simple\ntimeout = never\n")

	var found []string
	for _, a := range s.Validate(path(t, "web"), doc) {
		found = append(found, string(a.Level)+" "+a.Key())
	}

	for _, want := range []string{"error app#1.timeout@n2", "error app#1.timeout@drpnodes", "error app#2.timeout"} {
		if n := strings.Count(strings.Join(found, "\n")+"\n", want+"\n"); n != 1 {
			t.Errorf("%q is said %d times in %q", want, n, found)
		}
	}
}

func TestKeysOfDatastoresReferToNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	doc := parse(t, "[DEFAULT]\nid = x\n\n[data]\nconf = literal:{\"a\": {b}} $(1 + x) {nosuch}\n")

	if alerts := s.Validate(path(t, "cfg/hosts"), doc); len(alerts) > 0 {
		t.Errorf("got %v", alerts)
	}
}

func TestTheNodeConfigurationRefersToTheSystemNamespace(t *testing.T) {
	t.Parallel()
	s := open(t)
	ev, err := s.Evaluator(object.Path{}, parse(t, "[env]\na = {namespace} {clustername}\n"), "")
	if err != nil {
		t.Fatal(err)
	}

	got, _, err := ev.Value("env", config.Option{Name: "a"})

	if err != nil || got != "system c1" {
		t.Errorf("got %q, %v", got, err)
	}
}
