package httpd_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/client"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/daemon/executor"
)

const app = "[app#1]\ntype = simple\nstart = /bin/sleep 100\n"

func TestWhatWasWrittenIsReadAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc1 := api.Named(f.create(t, "svc1", app))

	file := do(t, c, api.GetObjectConfigFile, svc1)
	if !strings.Contains(string(file.RawBody), "start = /bin/sleep 100\n") {
		t.Errorf("file: %s", file.RawBody)
	}
	if at, err := file.ModTime(); err != nil || time.Since(at) > time.Minute {
		t.Errorf("OM-Last-Modified %q: %v", file.LastModified, err)
	}
	if items := do(t, c, api.GetObjects, api.ObjectQuery{Path: "svc1"}).Items; len(items) != 1 {
		t.Errorf("objects: %+v", items)
	}

	done := do(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: svc1, ConfigChange: api.ConfigChange{
		Set: []string{"env.list=a,b", "app#1.start@node1=/bin/sleep {env.time}", "env.time=7"}, Wait: "1s",
	}})
	if !done.IsChanged || done.LastModified == "" {
		t.Errorf("committed %+v", done)
	}
	if again := do(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: svc1, ConfigChange: api.ConfigChange{Set: []string{"env.time=7"}}}); again.IsChanged {
		t.Error("the same change twice is a change")
	}
	got := do(t, c, api.GetObjectConfig, api.ObjectConfigQuery{ObjectName: svc1, ConfigQuery: api.ConfigQuery{
		Keywords: []string{"app#1.start", "env.list"}, Evaluate: true,
	}})
	want := []api.KeywordItem{
		{Object: "svc1", Node: node1, Keyword: "app#1.start", Value: "/bin/sleep {env.time}", Evaluated: "/bin/sleep 7", EvaluatedAs: node1},
		{Object: "svc1", Node: node1, Keyword: "env.list", Value: "a,b", Evaluated: "a,b", EvaluatedAs: node1},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Error(diff)
	}
	for key := range f.state.View().Objects {
		if key.Name == "svc1" {
			return
		}
	}
	t.Error("the daemon did not read the configuration")
}

func TestAnObjectWrittenBehindTheDaemonIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := path(t, "svc1")
	if _, err := f.store.Create(t.Context(), p, nil, storeCreate()); err != nil {
		t.Fatal(err)
	}
	if len(f.state.View().Objects) > 0 {
		t.Fatal("the daemon knows already")
	}

	do(t, f.local(t), api.PostObjectActionStart, api.ObjectStart{ObjectName: api.Named(p)})

	if diff := cmp.Diff([]string{"started svc1"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
	if got := do(t, f.local(t), api.GetObjectPaths, api.ObjectPathQuery{Path: "svc1"}); len(got) != 1 {
		t.Errorf("paths %v", got)
	}
}

func TestWrongConfigurationsAreRefusedWithEachReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc1 := api.Named(f.create(t, "svc1", app))
	before := do(t, c, api.GetObjectConfigFile, svc1)
	both := []string{"app#1.starts", "fs#1"}

	patch := func(set ...string) string {
		return refused(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: svc1, ConfigChange: api.ConfigChange{Set: set}}, http.StatusBadRequest)
	}
	put := func(body string) string {
		return refused(t, c, api.PutObjectConfigFile, api.ObjectConfigFile{ObjectName: svc1, RawBody: []byte(body)}, http.StatusBadRequest)
	}
	for name, detail := range map[string]string{
		"patch": patch("app#1.starts=/bin/true", "fs#1.type=nope"),
		"put":   put(app + "starts = /bin/true\n[fs#1]\ntype = nope\n"),
		"post": refused(t, c, api.PostObjectConfigFile, api.ObjectConfigCreate{
			ObjectName: api.ObjectName{Namespace: "root", Kind: "svc", Name: "svc2"}, RawBody: []byte(app + "starts = /bin/true\n[fs#1]\ntype = nope\n"),
		}, http.StatusBadRequest),
	} {
		for _, word := range both {
			if !strings.Contains(detail, word) {
				t.Errorf("%s does not name %s: %s", name, word, detail)
			}
		}
	}
	patch()
	patch("nothing")
	put("[app#1\n")
	refused(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: svc1, ConfigChange: api.ConfigChange{Set: []string{"env.a=1"}, Wait: "soon"}}, http.StatusBadRequest)

	if after := do(t, c, api.GetObjectConfigFile, svc1); !bytes.Equal(before.RawBody, after.RawBody) {
		t.Errorf("the configuration became\n%s", after.RawBody)
	}
}

func TestConfigurationFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc1 := api.Named(f.create(t, "svc1", app))
	missing := api.Named(path(t, "svc9"))

	detail := refused(t, c, api.PostObjectConfigFile, api.ObjectConfigCreate{ObjectName: svc1, RawBody: []byte(app)}, http.StatusConflict)
	if !strings.Contains(detail, "svc1") {
		t.Error(detail)
	}
	refused(t, c, api.PutObjectConfigFile, api.ObjectConfigFile{ObjectName: missing, RawBody: []byte(app)}, http.StatusNotFound)
	refused(t, c, api.GetObjectConfigFile, missing, http.StatusNotFound)
	refused(t, c, api.PatchObjectConfig, api.ObjectConfigChange{ObjectName: missing, ConfigChange: api.ConfigChange{Set: []string{"env.a=1"}}}, http.StatusNotFound)
	written := do(t, c, api.PutObjectConfigFile, api.ObjectConfigFile{ObjectName: svc1, RawBody: []byte(app + "[env]\na = 1\n")})
	if written.LastModified == "" {
		t.Error("no OM-Last-Modified")
	}
	huge := api.ObjectConfigFile{ObjectName: svc1, RawBody: bytes.Repeat([]byte("# x\n"), 5<<20)}
	refused(t, c, api.PutObjectConfigFile, huge, http.StatusRequestEntityTooLarge)

	cluster := do(t, c, api.GetClusterConfigFile, api.None{})
	if !strings.Contains(string(cluster.RawBody), "[cluster]") {
		t.Errorf("cluster: %s", cluster.RawBody)
	}
	do(t, c, api.PatchClusterConfig, api.ConfigChange{Set: []string{"listener.port=1299"}})
	do(t, c, api.PatchNodeConfig, api.NodeConfigChange{ConfigChange: api.ConfigChange{Set: []string{"node.env=PRD"}}})
	if got := do(t, c, api.GetNodeConfig, api.NodeConfigQuery{ConfigQuery: api.ConfigQuery{Keywords: []string{"node.env"}}}).Items; len(got) != 1 || got[0].Value != "PRD" {
		t.Errorf("node.env: %+v", got)
	}
	definitions := do(t, c, api.GetObjectConfigKeywords, api.ObjectKeywordQuery{ObjectName: svc1, KeywordQuery: api.KeywordQuery{Section: "app", Driver: "app.simple", Option: "start"}})
	if len(definitions.Items) != 1 || definitions.Items[0].Text == "" {
		t.Errorf("definitions: %+v", definitions.Items)
	}
}

func TestOnlyTheConfigurationThatWasReadIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc1 := api.Named(f.create(t, "svc1", app))
	first := do(t, c, api.GetObjectConfigFile, svc1)
	put := func(when api.ConfigCondition, value string) api.ObjectConfigFile {
		return api.ObjectConfigFile{ObjectName: svc1, ConfigCondition: when, RawBody: []byte(app + "[env]\na = " + value + "\n")}
	}
	do(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{IfMatch: first.ETag, LastModified: first.LastModified}, "1"))

	refused(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{IfMatch: first.ETag}, "2"), http.StatusPreconditionFailed)
	refused(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{LastModified: first.LastModified}, "2"), http.StatusPreconditionFailed)
	refused(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{LastModified: "yesterday"}, "2"), http.StatusBadRequest)
	refused(t, c, api.PutNodeConfigFile, api.NodeConfigFile{ConfigCondition: api.ConfigCondition{IfMatch: first.ETag}, RawBody: []byte("[node]\n")}, http.StatusPreconditionFailed)
	refused(t, c, api.PutClusterConfigFile, api.ClusterConfigFile{ConfigCondition: api.ConfigCondition{IfMatch: first.ETag}, RawBody: []byte("[cluster]\n")}, http.StatusPreconditionFailed)

	second := do(t, c, api.GetObjectConfigFile, svc1)
	if !strings.Contains(string(second.RawBody), "a = 1\n") || second.ETag == first.ETag {
		t.Errorf("the file is %s\n%s", second.ETag, second.RawBody)
	}
	do(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{IfMatch: `"other", ` + second.ETag}, "3"))
	do(t, c, api.PutObjectConfigFile, put(api.ConfigCondition{IfMatch: "*"}, "4"))
}

func TestAClusterThatCannotLiveIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	detail := refused(t, c, api.PatchClusterConfig, api.ConfigChange{Unset: []string{"cluster.secret"}}, http.StatusBadRequest)
	if !strings.Contains(detail, "cluster.secret") {
		t.Error(detail)
	}
	detail = refused(t, c, api.PutClusterConfigFile, api.ClusterConfigFile{RawBody: []byte("[cluster]\nnodes = node9\n")}, http.StatusBadRequest)
	for _, key := range []string{"cluster.secret", "cluster.id", "cluster.name", "cluster.nodes"} {
		if !strings.Contains(detail, key) {
			t.Errorf("%s is not named: %s", key, detail)
		}
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	svc1 := api.Named(f.create(t, "svc1", app))
	for _, op := range []api.Operation[api.ObjectName, api.OrchestrationQueued]{
		api.PostObjectActionGiveback, api.PostObjectActionStop, api.PostObjectActionFreeze, api.PostObjectActionUnfreeze,
		api.PostObjectActionProvision, api.PostObjectActionUnprovision, api.PostObjectActionPurge, api.PostObjectActionDelete, api.PostObjectActionAbort,
	} {
		if got := do(t, c, op, svc1).OrchestrationID; got != knownID {
			t.Errorf("%s: orchestration %q", op.ID, got)
		}
		refused(t, c, op, api.Named(path(t, "svc9")), http.StatusNotFound)
	}
	do(t, c, api.PostObjectActionRestart, api.ObjectRestart{ObjectName: svc1})
	do(t, c, api.PostObjectActionRestart, api.ObjectRestart{ObjectName: svc1, Body: &api.RestartOptions{Force: true}})
	do(t, c, api.PostObjectActionStart, api.ObjectStart{ObjectName: svc1})
	do(t, c, api.PostObjectActionStart, api.ObjectStart{ObjectName: svc1, Force: true})
	do(t, c, api.PostObjectActionSwitch, api.ObjectSwitch{ObjectName: svc1, Body: api.SwitchOptions{Destination: []string{"n2", "n1"}}})
	want := []string{
		"placed svc1", "stopped svc1", "frozen svc1", "unfrozen svc1", "provisioned svc1", "unprovisioned svc1", "purged svc1",
		"deleted svc1", "abort svc1", "restarted svc1", "restarted svc1 force",
		"started svc1", "started svc1 force", "placed@ svc1 n2 n1",
	}
	if diff := cmp.Diff(want, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
}

func TestFreezingANodeIsACommandOfTheNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)

	if got := do(t, c, api.PostPeerActionUnfreeze, api.NodeAction{SessionID: runningID}); got.SessionID != runningID || got.ExecID == "" {
		t.Errorf("accepted %+v", got)
	}
	refused(t, c, api.PostPeerActionFreeze, api.NodeAction{SessionID: "me"}, http.StatusBadRequest)
	refused(t, c, api.PostPeerActionFreeze, api.NodeAction{NodeName: api.NodeName{Node: "elsewhere"}}, http.StatusNotFound)

	want := []executor.Job{
		{Origin: executor.OriginAPI, Args: []string{"node", "unfreeze"}, SessionID: runningID},
	}
	if diff := cmp.Diff(want, f.deeds.jobs); diff != "" {
		t.Error(diff)
	}
}

func TestTheFreezeOfTheClusterIsAGoalOfItsNodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)

	for _, op := range []api.Operation[api.None, api.OrchestrationQueued]{api.PostClusterActionFreeze, api.PostClusterActionUnfreeze} {
		if got := do(t, c, op, api.None{}).OrchestrationID; got != nodeID {
			t.Errorf("orchestration %q, want %q", got, nodeID)
		}
	}
	do(t, c, api.PostClusterActionStonith, api.Stonith{Node: "n2", Confirmed: true})

	if diff := cmp.Diff([]string{"ask frozen", "ask unfrozen", "stonith n2 true"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
}

func TestInstanceActionsBecomeCommands(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "svc1", app+"tags = a b\nsubset = s\n[fs#1]\ntype = flag\ntags = a b\nsubset = s\n")

	accepted := do(t, c, api.PostInstanceActionProvision, api.InstanceAction{
		InstanceName: api.InstanceOf("", p), Rid: "app#1,fs", Tag: "a+b", Subset: "s", To: "fs", Force: true, Leader: true,
		StateOnly: true, DisableRollback: true, NoLock: true, WaitLock: "5s", Env: []string{"A=1,2", "B=3"}, SessionID: runningID,
	})
	if accepted.SessionID != runningID || accepted.ExecID != knownID {
		t.Errorf("accepted %+v", accepted)
	}
	do(t, c, api.PostInstanceActionStatus, api.InstanceAction{InstanceName: api.InstanceOf("node1", p)})
	want := []executor.Job{
		{Path: p, RID: "app#1,fs", Origin: executor.OriginAPI, SessionID: runningID, Args: []string{
			"instance", "provision", "--rid=app#1,fs", "--tag=a+b", "--subset=s", "--to=fs", "--force",
			"--no-lock", "--waitlock=5s", "--disable-rollback", "--leader", "--state-only",
		}, Env: []string{`OSVC_ACTION_ENV=["A=1,2","B=3"]`}, Shown: []string{"--env=A=***", "--env=B=***"}},
		{Path: p, Origin: executor.OriginAPI, Args: []string{"instance", "status", "--refresh"}},
	}
	if diff := cmp.Diff(want, f.deeds.jobs); diff != "" {
		t.Error(diff)
	}

	for name, in := range map[string]api.InstanceAction{
		"env": {Env: []string{"A"}}, "query.env": {Env: []string{"A B=1"}}, "zero byte": {Env: []string{"A=\x00"}}, "wait_lock": {WaitLock: "soon"}, "session_id": {SessionID: "me"},
		"query.rid": {Rid: "app#1\n"}, "query.to": {To: "fs\x00"}, "query.tag": {Tag: "a\x1b[0m"}, "query.subset": {Subset: "\r"},
		"app#9": {Rid: "app#9"}, "ip#9": {To: "ip#9"}, "nosuchtag": {Tag: "nosuchtag"}, "nosuchset": {Subset: "nosuchset"},
		"config_updated_at": {ConfigUpdatedAt: "yesterday"},
	} {
		in.InstanceName = api.InstanceOf("", p)
		if detail := refused(t, c, api.PostInstanceActionStart, in, http.StatusBadRequest); !strings.Contains(detail, name) {
			t.Errorf("%s is not named: %s", name, detail)
		}
	}
	refused(t, c, api.PostInstanceActionStart, api.InstanceAction{InstanceName: api.InstanceOf("", path(t, "svc9"))}, http.StatusNotFound)
}

func TestAnActionWaitsForTheConfigurationItsCallerKnows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "svc1", app)
	written := do(t, c, api.GetObjectConfigFile, api.Named(p)).LastModified
	at, err := time.Parse(api.TimeHeader, written)
	if err != nil {
		t.Fatal(err)
	}
	start := func(known string) api.InstanceAction {
		return api.InstanceAction{InstanceName: api.InstanceOf("", p), ConfigUpdatedAt: known}
	}

	detail := refused(t, c, api.PostInstanceActionStart, start(at.Add(time.Nanosecond).Format(api.TimeHeader)), http.StatusConflict)
	do(t, c, api.PostInstanceActionStart, start(written))
	do(t, c, api.PostInstanceActionStart, start(at.Add(-time.Second).Format(api.TimeHeader)))

	if !strings.Contains(detail, "svc1") || !strings.Contains(detail, node1) || len(f.deeds.jobs) != 2 {
		t.Errorf("%d jobs: %s", len(f.deeds.jobs), detail)
	}
}

func TestDocumentedParametersOfEncapsulatedNodesAreAccepted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.create(t, "svc1", app)
	do(t, f.local(t), api.PostInstanceActionStart, api.InstanceAction{
		InstanceName: api.InstanceOf("", p), Master: true, Slave: []string{"c1"}, Slaves: true,
	})
}

func TestWhatTheAgentLivesByIsNotDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	for _, name := range []string{"system/sec/ca", "system/sec/cert", "system/sec/token", "cluster"} {
		p := path(t, name)
		if err := (discoverer{f}).Refresh(p); err != nil {
			t.Fatal(err)
		}
		for _, op := range []api.Operation[api.ObjectName, api.OrchestrationQueued]{api.PostObjectActionDelete, api.PostObjectActionPurge} {
			if detail := refused(t, c, op, api.Named(p), http.StatusConflict); !strings.Contains(detail, name) {
				t.Errorf("%s is not named: %s", name, detail)
			}
		}
		refused(t, c, api.PostInstanceActionDelete, api.InstanceAction{InstanceName: api.InstanceOf("", p), Force: true}, http.StatusConflict)
	}
	if len(f.deeds.all())+len(f.deeds.jobs) > 0 {
		t.Errorf("done: %v %v", f.deeds.all(), f.deeds.jobs)
	}
	other := api.Named(f.create(t, "system/sec/other", "[DEFAULT]\n"))
	do(t, c, api.PostObjectActionDelete, other)
}

func TestNodesAreAnsweredForByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	for _, name := range []string{"", "localhost", node1} {
		do(t, c, api.GetNodePing, api.NodeName{Node: name})
	}
	if detail := refused(t, c, api.GetNodePing, api.NodeName{Node: "node9"}, http.StatusNotFound); !strings.Contains(detail, "node9") {
		t.Error(detail)
	}
	if items := do(t, c, api.GetNodes, api.NodeQuery{Node: "localhost"}).Items; len(items) != 1 || items[0].Meta.Node != node1 {
		t.Errorf("nodes %+v", items)
	}
	refused(t, c, api.GetNodes, api.NodeQuery{Node: "node9"}, http.StatusBadRequest)
	if info := do(t, c, api.GetNodesInfo, api.None{}); info[node1].Nodename != node1 {
		t.Errorf("info %+v", info)
	}
	if drivers := do(t, c, api.GetNodeDrivers, api.NodeName{}).Items; !slices.ContainsFunc(drivers, func(d api.DriverItem) bool { return d.Data.Name == "app.simple" }) {
		t.Errorf("drivers %+v", drivers)
	}
}

func TestRefusalsCarryTheExitCodeOfTheCommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	elsewhere := svc("svc8")
	f.state.SetInstanceConfig(elsewhere, "node9", cluster.InstanceConfig{Path: elsewhere})
	for want, name := range map[int]api.InstanceName{2: api.InstanceOf("", svc("svc9")), 3: api.InstanceOf("", elsewhere)} {
		_, err := client.Do(t.Context(), f.local(t), api.GetInstance, name)
		coded, ok := err.(interface{ ExitCode() int })
		if !ok || coded.ExitCode() != want {
			t.Errorf("got %v, want exit code %d", err, want)
		}
	}
}

func TestWhatRunsAndWhatRan(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	execs := func(q api.ExecQuery) int { return len(do(t, c, api.GetDaemonExecs, q).Items) }
	for name, got := range map[string][2]int{
		"all":               {2, execs(api.ExecQuery{})},
		"by state":          {1, execs(api.ExecQuery{State: "failed"})},
		"by origin":         {1, execs(api.ExecQuery{Origin: "imon"})},
		"by session":        {2, execs(api.ExecQuery{SessionID: knownID})},
		"by object, gone":   {2, execs(api.ExecQuery{Selector: "svc1"})},
		"by another object": {0, execs(api.ExecQuery{Selector: "svc2"})},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d execs, want %d", name, got[1], got[0])
		}
	}
	if e := do(t, c, api.GetDaemonExec, api.WaitQuery{ID: knownID, Wait: "1m"}); e.State != api.StateFailed || *e.ExitCode != 1 || e.EndedAt == nil {
		t.Errorf("exec %+v", e)
	}
	if e := do(t, c, api.GetDaemonExec, api.WaitQuery{ID: runningID}); e.State != api.StateRunning || e.Pid != 42 || e.EndedAt != nil {
		t.Errorf("exec %+v", e)
	}
	const gone = "00000000-0000-4000-8000-000000000000"
	refused(t, c, api.GetDaemonExec, api.WaitQuery{ID: runningID, Wait: "10ms"}, http.StatusRequestTimeout)
	refused(t, c, api.GetDaemonExec, api.WaitQuery{ID: gone}, http.StatusGone)
	refused(t, c, api.GetDaemonExec, api.WaitQuery{ID: knownID, Wait: "-1s"}, http.StatusBadRequest)

	if list := do(t, c, api.GetDaemonOrchestrations, api.OrchestrationQuery{State: "running"}).Items; len(list) != 1 || list[0].OrchestrationID != runningID {
		t.Errorf("orchestrations %+v", list)
	}
	if o := do(t, c, api.GetDaemonOrchestration, api.WaitQuery{ID: knownID, Wait: "1m"}); o.State != api.StateSucceeded {
		t.Errorf("orchestration %+v", o)
	}
	refused(t, c, api.GetDaemonOrchestration, api.WaitQuery{ID: runningID, Wait: "10ms"}, http.StatusRequestTimeout)
	if detail := refused(t, c, api.GetDaemonOrchestration, api.WaitQuery{ID: gone, Wait: "1m"}, http.StatusGone); !strings.Contains(detail, gone) {
		t.Error(detail)
	}
}

func TestTheAgentTellsItsDaemon(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	p := f.create(t, "svc1", app)

	do(t, c, api.PostInstanceProgress, api.InstanceProgress{ObjectName: api.Named(p), Body: api.Progress{SessionID: runningID, State: "starting"}})
	do(t, c, api.PostInstanceStatus, api.InstanceStatusPost{ObjectName: api.Named(p), Body: cluster.InstanceStatus{
		Avail: cluster.Up, Overall: cluster.Warn, Resources: map[string]cluster.ResourceStatus{"app#1": {Type: "app.simple", Status: cluster.Up}},
	}})
	do(t, c, api.PostInstanceClear, api.InstanceOf("", p))

	if diff := cmp.Diff([]string{"progress svc1 " + runningID + " starting", "clear svc1"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
	if got := do(t, c, api.GetInstance, api.InstanceOf("", p)).Data.Status; got == nil || got.Avail != cluster.Up || got.Overall != cluster.Warn {
		t.Errorf("status %+v", got)
	}
	resources := do(t, c, api.GetResources, api.ResourceQuery{Path: "svc1", Resource: "app"}).Items
	if len(resources) != 1 || resources[0].Meta.Rid != "app#1" || resources[0].Data.Status.Status != cluster.Up {
		t.Errorf("resources %+v", resources)
	}
	if got := do(t, c, api.GetResources, api.ResourceQuery{Resource: "fs#*"}).Items; len(got) != 0 {
		t.Errorf("resources %+v", got)
	}
	if info := do(t, c, api.GetInstanceResourceInfo, api.InstanceOf("", p)).Items; len(info) != 1 || info[0].Key != "driver" {
		t.Errorf("info %+v", info)
	}
	progress := func(session, state string) {
		t.Helper()
		refused(t, c, api.PostInstanceProgress, api.InstanceProgress{ObjectName: api.Named(p), Body: api.Progress{SessionID: session, State: state}}, http.StatusBadRequest)
	}
	progress("", "starting")
	progress("me", "starting")
	progress(runningID, "")
	progress(runningID, "happy")
	refused(t, c, api.PostInstanceStatus, api.InstanceStatusPost{ObjectName: api.Named(p)}, http.StatusBadRequest)
	if got := do(t, c, api.GetInstance, api.InstanceOf("", p)).Data.Status; got == nil || got.Avail != cluster.Up {
		t.Errorf("an empty status became %+v", got)
	}
	refused(t, f.remote(t, "root"), api.PostInstanceStatus, api.InstanceStatusPost{ObjectName: api.Named(p)}, http.StatusForbidden)
}

func TestWhoAskedMayFollow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for grants, sees := range map[string]bool{"guest": true, "guest:root": true, "operator:root": true, "guest:ns1": false, "join": false} {
		c := f.remote(t, grants)
		if got := len(do(t, c, api.GetDaemonExecs, api.ExecQuery{}).Items) > 0; got != sees {
			t.Errorf("%s sees execs: %t", grants, got)
		}
		if got := len(do(t, c, api.GetDaemonOrchestrations, api.OrchestrationQuery{Selector: "svc1,svc2"}).Items) > 0; got != sees {
			t.Errorf("%s sees orchestrations: %t", grants, got)
		}
		if sees {
			do(t, c, api.GetDaemonExec, api.WaitQuery{ID: knownID, Wait: "1m"})
			do(t, c, api.GetDaemonOrchestration, api.WaitQuery{ID: knownID})
			continue
		}
		// As one that never was, and at once.
		refused(t, c, api.GetDaemonExec, api.WaitQuery{ID: runningID, Wait: "1h"}, http.StatusGone)
		refused(t, c, api.GetDaemonOrchestration, api.WaitQuery{ID: runningID, Wait: "1h"}, http.StatusGone)
	}
}

func TestTheDaemonEndsWhenAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.local(t)
	for _, pid := range []api.DaemonPid{
		do(t, c, api.PostDaemonStop, api.NodeName{}), do(t, c, api.PostDaemonRestart, api.NodeName{}).DaemonPid,
		do(t, c, api.PostDaemonShutdown, api.DaemonShutdown{Duration: "1m"}),
	} {
		if pid.Pid == 0 {
			t.Error("no pid")
		}
	}
	if diff := cmp.Diff([]string{"stop", "restart", "shutdown"}, f.deeds.all()); diff != "" {
		t.Error(diff)
	}
}

func TestWrongRequestsAreRefusedWithTheirReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	token := "Bearer " + f.token(t, "root")
	for _, c := range []struct {
		method, target string
		status         int
		word           string
	}{
		{"GET", "/api/object?paht=x", 400, "paht"},
		{"GET", "/api/object?path=%5B", 400, "["},
		{"GET", "/api/object?path=a%2C%5Bb", 400, "[b"},
		{"GET", "/api/resource?resource=%5B", 400, "["},
		{"GET", "/api/node?node=%5B", 400, "["},
		{"GET", "/api/cluster/config?impersonate=node9&evaluate=true", 400, "node9"},
		{"GET", "//api/object", 404, "no such operation"},
		{"GET", "/api//object", 404, "no such operation"},
		{"GET", "/api/object/", 404, "no such operation"},
		{"GET", "/api/object?" + strings.Repeat("x", 70<<10), 431, "headers"},
		{"GET", "/api/object?path=a%2B%2Bb", 400, "a++b"},
		{"GET", "/api/object/path", 400, "path"},
		{"GET", "/api/object/path?path=nope", 404, "nope"},
		{"GET", "/api/object/path/root/job/x", 400, "kind"},
		{"GET", "/api/object/path/root/svc/nope", 404, "nope"},
		{"GET", "/api/node/name/localhost/daemon/exec?state=happy", 400, "state"},
		{"GET", "/api/node/name/localhost/daemon/event?limit=-1", 400, "limit"},
		{"GET", "/api/node/name/localhost/daemon/event?filter=%2C.a", 400, "filter"},
		{"GET", "/api/node/name/localhost/daemon/event?duration=long", 400, "duration"},
		{"POST", "/api/object/path/root/svc/x/action/restart", 400, ""},
		{"GET", "/api/nope", 404, "/api/nope"},
		{"DELETE", "/api/object", 405, "GET"},
	} {
		var got answer
		if c.method == "POST" {
			got = f.plain(t, c.method, c.target, token, strings.NewReader("{"))
		} else {
			got = f.plain(t, c.method, c.target, token, nil)
		}
		if got.Status != c.status || !strings.Contains(got.Body, c.word) {
			t.Errorf("%s %s: status %d, want %d, naming %s: %s", c.method, c.target, got.Status, c.status, c.word, got.Body)
		}
		var p api.Problem
		if c.status >= 400 && (json.Unmarshal([]byte(got.Body), &p) != nil || p.Status != c.status || p.Title == "" || p.Detail == "") {
			t.Errorf("%s %s: %s is no problem document", c.method, c.target, got.Body)
		}
	}
}
