package cluster_test

import (
	"testing"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

func hello() object.Path {
	return object.Path{Namespace: "root", Kind: object.KindSvc, Name: "hello"}
}

// instances makes one instance per status, on n1, n2...
func instances(c cluster.InstanceConfig, all ...cluster.Status) map[string]cluster.Instance {
	m := map[string]cluster.Instance{}
	for i, s := range all {
		m["n"+string(rune('1'+i))] = cluster.Instance{Config: &c, Status: &cluster.InstanceStatus{Avail: s, Overall: s, Provisioned: cluster.ProvisionedTrue}}
	}
	return m
}

func TestAvailabilityOfAnObject(t *testing.T) {
	t.Parallel()
	failover := cluster.InstanceConfig{Topology: cluster.TopologyFailover, Scope: []string{"n1", "n2", "n3"}}
	flex := cluster.InstanceConfig{Topology: cluster.TopologyFlex, Flex: &cluster.Flex{Min: 2, Max: 2, Target: 2}, Scope: failover.Scope}
	unlimited := cluster.InstanceConfig{Topology: cluster.TopologyFlex, Flex: &cluster.Flex{Min: 1}, Scope: failover.Scope}
	for _, tt := range []struct {
		what   string
		config cluster.InstanceConfig
		all    []cluster.Status
		want   cluster.Status
	}{
		{"no instance", failover, nil, na},
		{"nothing applies", failover, []cluster.Status{na, na}, na},
		{"down everywhere", failover, []cluster.Status{down, down}, down},
		{"up on one node", failover, []cluster.Status{up, down, na}, up},
		{"standby up is not up", failover, []cluster.Status{sup, sdown}, down},
		{"up on two nodes", failover, []cluster.Status{up, up}, warn},
		{"any warn", failover, []cluster.Status{up, warn}, warn},
		{"flex below its minimum", flex, []cluster.Status{up, down}, warn},
		{"flex as wanted", flex, []cluster.Status{up, up, down}, up},
		{"flex above its maximum", flex, []cluster.Status{up, up, up}, warn},
		{"flex down", flex, []cluster.Status{down, down}, down},
		{"flex without a maximum", unlimited, []cluster.Status{up, up, up}, up},
		{"memory of a merge", failover, []cluster.Status{sPup, sPdn}, up},
	} {
		o := cluster.Aggregate(hello(), instances(tt.config, tt.all...))
		if o.Avail != tt.want || o.Overall != tt.want {
			t.Errorf("%s: avail %v, overall %v, want %v", tt.what, o.Avail, o.Overall, tt.want)
		}
	}
}

func TestAnObjectNotEvaluatedYetIsUndef(t *testing.T) {
	t.Parallel()
	o := cluster.Aggregate(hello(), map[string]cluster.Instance{"n1": {Config: &cluster.InstanceConfig{Orchestrate: "ha", Priority: 3}}})
	if o.Avail != undef || o.Orchestrate != "ha" || o.Priority != 3 || o.Frozen != "n/a" {
		t.Errorf("%+v", o)
	}
}

func TestFreezeOfAnObject(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	for _, tt := range []struct {
		kind   object.Kind
		frozen []time.Time
		want   string
	}{
		{object.KindSvc, []time.Time{at, at}, "frozen"},
		{object.KindSvc, []time.Time{{}, {}}, "unfrozen"},
		{object.KindSvc, []time.Time{at, {}}, "mixed"},
		{object.KindSvc, nil, "n/a"},
		{object.KindCfg, []time.Time{{}}, "n/a"},
	} {
		all := instances(cluster.InstanceConfig{}, make([]cluster.Status, len(tt.frozen))...)
		for i, at := range tt.frozen {
			all["n"+string(rune('1'+i))].Status.FrozenAt = at
		}
		p := hello()
		p.Kind = tt.kind
		if o := cluster.Aggregate(p, all); o.Frozen != tt.want {
			t.Errorf("%s %v: frozen is %s, want %s", tt.kind, tt.frozen, o.Frozen, tt.want)
		}
	}
}

func TestPlacementOfAnObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		kind   object.Kind
		avail  []cluster.Status
		leader []bool
		want   string
	}{
		{"on its leader", object.KindSvc, []cluster.Status{up, down}, []bool{true, false}, "optimal"},
		{"elsewhere", object.KindSvc, []cluster.Status{down, up}, []bool{true, false}, "non-optimal"},
		{"without a leader", object.KindSvc, []cluster.Status{up, down}, []bool{false, false}, "non-optimal"},
		{"down", object.KindSvc, []cluster.Status{down, down}, []bool{true, false}, "n/a"},
		{"a volume", object.KindVol, []cluster.Status{up, down}, []bool{true, false}, "n/a"},
	} {
		all := instances(cluster.InstanceConfig{}, tt.avail...)
		for i, leader := range tt.leader {
			node := "n" + string(rune('1'+i))
			in := all[node]
			in.Monitor = &cluster.InstanceMonitor{IsHALeader: leader}
			all[node] = in
		}
		p := hello()
		p.Kind = tt.kind
		if o := cluster.Aggregate(p, all); o.PlacementState != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, o.PlacementState, tt.want)
		}
	}
}

func TestTheNewestConfigurationSpeaksForTheObject(t *testing.T) {
	t.Parallel()
	older := cluster.InstanceConfig{Priority: 1, UpdatedAt: time.Unix(1, 0)}
	newer := cluster.InstanceConfig{Priority: 2, UpdatedAt: time.Unix(2, 0)}
	o := cluster.Aggregate(hello(), map[string]cluster.Instance{"n1": {Config: &newer}, "n2": {Config: &older}})
	if o.Priority != 2 {
		t.Errorf("priority %d", o.Priority)
	}
}

func TestResourceFlags(t *testing.T) {
	t.Parallel()
	provisioned := func(p cluster.Provisioned) cluster.ProvisionedAt { return cluster.ProvisionedAt{State: p} }
	for want, r := range map[string]cluster.ResourceStatus{
		"...../..": {Provisioned: provisioned(cluster.ProvisionedNotApplicable)},
		"........": {Provisioned: provisioned(cluster.ProvisionedTrue)},
		"RMDOEPS3": {Running: true, Monitor: true, Disable: true, Optional: true, Encap: true, Standby: true, Restart: 3, Provisioned: provisioned(cluster.ProvisionedFalse)},
		".....p.+": {Restart: 10, Provisioned: provisioned(cluster.ProvisionedMixed)},
		".....?.9": {Restart: 9},
	} {
		if got := cluster.ResourceFlags(r); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

func TestStatusWordsReadBack(t *testing.T) {
	t.Parallel()
	for _, s := range statuses() {
		b, _ := s.MarshalText()
		var back cluster.Status
		if err := back.UnmarshalText(b); err != nil || back != s.Plain() {
			t.Errorf("%v reads back as %v, %v", s, back, err)
		}
	}
	if _, err := cluster.ParseStatus("upp"); err == nil {
		t.Error("upp is a status")
	}
	var p cluster.Provisioned
	if err := p.UnmarshalText([]byte("yes")); err == nil {
		t.Error("yes is a provisioned state")
	}
}
