//go:build lab_kube

package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/internal/krops/move"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
)

// fleet is an inventory on a real API server, and where it goes.
type fleet struct {
	t              *testing.T
	source, target *lab.Plane
	from, to       *kube.Cluster
	ns             string
}

// capi installs Cluster API on two control planes, its controllers apart.
func capi(t *testing.T) (source, target *lab.Plane) {
	t.Helper()
	planes := lab.Planes(t, 2, func(o *lab.Options) { o.Nodeless = true })
	for _, p := range planes {
		if err := p.Install(t.Context(), lab.CAPICore, lab.CAPIKubeadm, lab.CAPIDev, lab.Clusterctl); err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context(), decoded(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: capd-system}")...); err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(t.Context(), lab.Inventory("InfrastructureProvider", "docker", "capd-system", "v1.14.2")); err != nil {
			t.Fatal(err)
		}
	}
	return planes[0], planes[1]
}

func newFleet(t *testing.T, source, target *lab.Plane, ns string) *fleet {
	t.Helper()
	f := &fleet{t: t, source: source, target: target, ns: ns}
	for _, side := range []struct {
		plane   *lab.Plane
		cluster **kube.Cluster
	}{{source, &f.from}, {target, &f.to}} {
		c, err := kube.Open(side.plane.Kubeconfig, "")
		if err != nil {
			t.Fatal(err)
		}
		*side.cluster = c
	}
	f.make(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}})
	return f
}

// make makes an object at the source; status is written after it.
func (f *fleet) make(o map[string]any, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	f.t.Helper()
	ctx := f.t.Context()
	u := &unstructured.Unstructured{Object: o}
	var refs []metav1.OwnerReference
	for _, by := range owners {
		refs = append(refs, metav1.OwnerReference{APIVersion: by.GetAPIVersion(), Kind: by.GetKind(), Name: by.GetName(), UID: by.GetUID()})
	}
	u.SetOwnerReferences(refs)
	status := u.Object["status"]
	delete(u.Object, "status")
	gk := u.GroupVersionKind().GroupKind()
	if err := f.source.Apply(ctx, u); err != nil {
		f.t.Fatal(err)
	}
	if status != nil {
		if err := f.source.Patch(ctx, gk, u.GetNamespace(), u.GetName(), map[string]any{"status": status}, "status"); err != nil {
			f.t.Fatal(err)
		}
	}
	made, err := f.source.Get(ctx, gk, u.GetNamespace(), u.GetName())
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

func (f *fleet) head(version, kind, cluster, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": version, "kind": kind, "spec": spec,
		"metadata": map[string]any{
			"name": name, "namespace": f.ns, "labels": map[string]any{"cluster.x-k8s.io/cluster-name": cluster},
			"finalizers": []any{"lab.holdfast/" + strings.ToLower(kind)},
		},
	}
}

func reference(group, kind, name string) map[string]any {
	return map[string]any{"apiGroup": group, "kind": kind, "name": name}
}

// plant makes a cluster with so many machines, provisioned as far as its status says.
func (f *fleet) plant(name string, machines int) {
	f.t.Helper()
	node := map[string]any{"nodeRegistration": map[string]any{"criSocket": "unix:///run/containerd/containerd.sock"}}
	head := f.head(lab.CAPI+"/v1beta2", "Cluster", name, name, map[string]any{
		"clusterNetwork":    map[string]any{"serviceDomain": "cluster.local"},
		"controlPlaneRef":   reference(lab.ControlPlane, "KubeadmControlPlane", name),
		"infrastructureRef": reference(lab.Infra, "DevCluster", name),
	})
	head["status"] = map[string]any{
		"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true},
		"conditions": []any{map[string]any{
			"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	}
	cluster := f.make(head)
	f.make(f.head(lab.Infra+"/v1beta2", "DevCluster", name, name, map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}), cluster)
	f.make(f.head(lab.Infra+"/v1beta2", "DevMachineTemplate", name, name, map[string]any{
		"template": map[string]any{"spec": map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}},
	}), cluster)
	f.make(f.head(lab.Bootstrap+"/v1beta2", "KubeadmConfigTemplate", name, name, map[string]any{
		"template": map[string]any{"spec": map[string]any{"joinConfiguration": node}},
	}), cluster)
	control := f.make(f.head(lab.ControlPlane+"/v1beta2", "KubeadmControlPlane", name, name, map[string]any{
		"replicas": 1, "version": "v1.37.2",
		"machineTemplate":   map[string]any{"spec": map[string]any{"infrastructureRef": reference(lab.Infra, "DevMachineTemplate", name)}},
		"kubeadmConfigSpec": map[string]any{"initConfiguration": node, "joinConfiguration": node},
	}), cluster)
	selector := map[string]any{"cluster.x-k8s.io/cluster-name": name, "cluster.x-k8s.io/deployment-name": name}
	template := map[string]any{"metadata": map[string]any{"labels": selector}, "spec": map[string]any{
		"clusterName": name, "version": "v1.37.2",
		"bootstrap":         map[string]any{"configRef": reference(lab.Bootstrap, "KubeadmConfigTemplate", name)},
		"infrastructureRef": reference(lab.Infra, "DevMachineTemplate", name),
	}}
	workers := map[string]any{"clusterName": name, "replicas": machines - 1, "selector": map[string]any{"matchLabels": selector}, "template": template}
	deployment := f.make(f.head(lab.CAPI+"/v1beta2", "MachineDeployment", name, name, workers), cluster)
	set := f.make(f.head(lab.CAPI+"/v1beta2", "MachineSet", name, name, workers), deployment)
	for i := range machines {
		owner, id := set, fmt.Sprintf("%s-%d", name, i)
		if i == 0 {
			owner = control
		}
		m := f.head(lab.CAPI+"/v1beta2", "Machine", name, id, map[string]any{
			"clusterName": name, "version": "v1.37.2",
			"bootstrap":         map[string]any{"configRef": reference(lab.Bootstrap, "KubeadmConfig", id), "dataSecretName": id},
			"infrastructureRef": reference(lab.Infra, "DevMachine", id),
		})
		m["status"] = map[string]any{"nodeRef": map[string]any{"name": "node-" + id}}
		machine := f.make(m, owner)
		f.make(f.head(lab.Infra+"/v1beta2", "DevMachine", name, id, map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}), machine)
		config := f.make(f.head(lab.Bootstrap+"/v1beta2", "KubeadmConfig", name, id, map[string]any{"joinConfiguration": node}), machine)
		f.make(f.secret(name, id, ""), config)
	}
	for _, what := range []string{"ca", "sa", "kubeconfig"} {
		f.make(f.secret(name, name+"-"+what, ""))
	}
	f.make(f.secret(name, name+"-cloud", "clusterctl.cluster.x-k8s.io/move"))
	f.make(f.secret(name, name+"-stays", ""))
}

func (f *fleet) secret(cluster, name, label string) map[string]any {
	labels := map[string]any{"cluster.x-k8s.io/cluster-name": cluster}
	if label != "" {
		labels[label] = ""
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "data": map[string]any{"value": "c2VjcmV0"},
		"metadata": map[string]any{"name": name, "namespace": f.ns, "labels": labels},
	}
}

func kindsOfFleet() []schema.GroupKind {
	return []schema.GroupKind{
		{Kind: "Secret"},
		lab.Kind(lab.CAPI, "Cluster"), lab.Kind(lab.CAPI, "Machine"), lab.Kind(lab.CAPI, "MachineSet"), lab.Kind(lab.CAPI, "MachineDeployment"),
		lab.Kind(lab.ControlPlane, "KubeadmControlPlane"), lab.Kind(lab.Bootstrap, "KubeadmConfig"), lab.Kind(lab.Bootstrap, "KubeadmConfigTemplate"),
		lab.Kind(lab.Infra, "DevCluster"), lab.Kind(lab.Infra, "DevMachine"), lab.Kind(lab.Infra, "DevMachineTemplate"),
	}
}

// survey lists what a control plane has of the fleet, each with its owners,
// finalizers and content.
func (f *fleet) survey(p *lab.Plane) map[string]string {
	f.t.Helper()
	found := map[string]string{}
	uids := map[string]string{}
	var all []unstructured.Unstructured
	for _, gk := range kindsOfFleet() {
		list, err := p.List(f.t.Context(), gk, f.ns)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, u := range list {
			uids[string(u.GetUID())] = u.GetKind() + "/" + u.GetName()
		}
		all = append(all, list...)
	}
	for _, u := range all {
		var owners []string
		for _, r := range u.GetOwnerReferences() {
			owners = append(owners, uids[string(r.UID)])
		}
		slices.Sort(owners)
		content, err := json.Marshal([]any{owners, u.GetFinalizers(), u.GetAnnotations(), u.GetDeletionTimestamp(), u.Object["spec"], u.Object["data"]})
		if err != nil {
			f.t.Fatal(err)
		}
		found[u.GetKind()+"/"+u.GetName()] = string(content)
	}
	return found
}

// options are those of a test: nobody is waited for.
func (f *fleet) options() move.Options {
	return move.Options{Source: f.from, Target: f.to, Namespace: f.ns, Quiet: 20 * time.Millisecond, IdleBudget: time.Minute}
}

// arrived judges the end of a move: all that was moved is at the target as it was,
// and not at the source.
func (f *fleet) arrived(before map[string]string) error {
	f.t.Helper()
	var wrong []error
	source, target, due := f.survey(f.source), f.survey(f.target), 0
	for id, was := range before {
		stays := strings.HasSuffix(id, "-stays")
		if !stays {
			due++
		}
		if _, left := source[id]; left != stays {
			wrong = append(wrong, fmt.Errorf("%s at the source: %t", id, left))
		}
		switch is, came := target[id]; {
		case came == stays:
			wrong = append(wrong, fmt.Errorf("%s at the target: %t", id, came))
		case came && is != was:
			wrong = append(wrong, fmt.Errorf("%s at the target is\n%s, was\n%s", id, is, was))
		}
	}
	if len(target) != due {
		wrong = append(wrong, fmt.Errorf("%d objects are at the target, %d were to come", len(target), due))
	}
	return errors.Join(wrong...)
}

// Variables of the process that moves and is killed.
const (
	moveEnv  = "HOLDFAST_LAB_MOVE" // source kubeconfig:target kubeconfig:namespace
	writeEnv = "HOLDFAST_LAB_MOVE_WRITE"
)

// TestMoveChild is no test but the process that moves: it kills itself before its
// nth write is sent.
func TestMoveChild(t *testing.T) { //nolint:paralleltest // a process of its own
	what, ok := os.LookupEnv(moveEnv)
	if !ok {
		t.Skip("it is only run by the other tests of moves")
	}
	kube.Quiet()
	parts := strings.Split(what, ":")
	from, err := kube.OpenFile(parts[0], "")
	if err != nil {
		t.Fatal(err)
	}
	to, err := kube.OpenFile(parts[1], "")
	if err != nil {
		t.Fatal(err)
	}
	last, err := strconv.Atoi(os.Getenv(writeEnv))
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, from: from, to: to, ns: parts[2]}
	o, writes := f.options(), 0
	o.Wrote = func() {
		if writes++; writes == last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	result, err := move.Move(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("moved %d objects with %d writes", result.Objects, writes)
}

// moved runs a move in a process of its own, until it dies before a write; 0 lets it live.
func (f *fleet) moved(write int) (*exec.Cmd, string, error) {
	f.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), exe, "-test.run=^TestMoveChild$", "-test.v")
	cmd.Env = append(os.Environ(), moveEnv+"="+f.source.KubeconfigFile+":"+f.target.KubeconfigFile+":"+f.ns, writeEnv+"="+strconv.Itoa(write))
	out, err := cmd.CombinedOutput()
	return cmd, string(out), err
}

func writesOf(t *testing.T, out string) int {
	t.Helper()
	_, rest, _ := strings.Cut(out, "objects with ")
	text, _, _ := strings.Cut(rest, " writes")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("the process says no number of writes:\n%s", out)
	}
	return n
}

func TestAMoveKilledBeforeAnyWriteIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	source, target := capi(t)
	whole := newFleet(t, source, target, "whole")
	whole.plant("mgmt", 2)
	before := whole.survey(source)
	_, out, err := whole.moved(0)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := whole.arrived(before); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	writes := writesOf(t, out)
	t.Logf("%d objects, %d writes", len(before)-1, writes)

	step := 1
	if testing.Short() {
		step = 7
	}
	for at := 1; at <= writes; at += step {
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, source, target, fmt.Sprintf("killed-%d", at))
			f.plant("mgmt", 2)
			before := f.survey(source)
			cmd, out, err := f.moved(at)
			if err == nil || !killed(cmd) {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}

			if _, err := move.Move(t.Context(), f.options()); err != nil {
				t.Fatalf("the rerun: %v", err)
			}
			if err := f.arrived(before); err != nil {
				t.Error(err)
			}
			left, err := move.Look(t.Context(), f.from, f.ns)
			if err != nil || !left.Empty() || left.Unfinished {
				t.Errorf("the source has %+v, %v", left, err)
			}
		})
	}
}

func killed(cmd *exec.Cmd) bool {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func TestAMoveOf500ObjectsIsCheap(t *testing.T) {
	t.Parallel()
	source, target := capi(t)
	f := newFleet(t, source, target, "large")
	f.plant("mgmt", 123) // four objects each, and a dozen
	before := f.survey(source)
	began := time.Now()
	cmd, out, err := f.moved(0)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	took := time.Since(began)
	if err := f.arrived(before); err != nil {
		t.Fatal(err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no usage of the process")
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%d objects in %s, %s of CPU, %d MB at most, %d writes", len(before)-1, took.Round(time.Millisecond), cpu.Round(time.Millisecond), usage.Maxrss>>10, writesOf(t, out))
	if len(before)-1 < 500 {
		t.Errorf("only %d objects", len(before)-1)
	}
}
