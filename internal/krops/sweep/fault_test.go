package sweep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/krops/sweep"
	"github.com/holdfast-ops/holdfast/internal/krops/sweep/awstest"
)

// ready is an account in which a unit can do its work at once.
func ready(u sweep.Unit) (*awstest.Account, sweep.Scope) {
	a := awstest.New()
	a.Looks, a.Page = 1, 20
	a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload", Rich: true, Idle: u == sweep.VPCs})
	a.AddCluster(awstest.Cluster{Owner: other, Region: north, Name: "eu-north-1-workload-2"})
	a.AddUser(me, "krops-reader")
	a.AddStack(me, north, "capa", "")
	scope := scopeOf(target(north, "eu-north-1-workload"))
	for _, kind := range map[sweep.Unit][]string{sweep.Clusters: {"nodegroup"}, sweep.Addresses: {"eni"}}[u] {
		for _, name := range a.Owned(me) {
			if part := strings.Split(name, "|"); part[1] == kind {
				a.Remove(kind, part[2])
			}
		}
	}
	return a, scope
}

// actions are the calls of a unit, found by making them.
func actions(t *testing.T, u sweep.Unit) []string {
	t.Helper()
	a, scope := ready(u)
	c := sweep.Open(options(a.Serve(t)), north)
	if err := c.Sweep(t.Context(), u, scope, &notes{}); err != nil {
		t.Fatal(err)
	}
	if p := c.Look(t.Context(), u, scope).Presence(); !p.Gone() {
		t.Fatalf("%s: %v", u, p)
	}
	calls := a.Calls()
	slices.Sort(calls)
	return slices.Compact(calls)
}

// Every action fails in every way, for good: a sweep never ends well, what was
// asked about is not gone, and nothing of another is touched.
func TestAFailureIsNeverAnAbsence(t *testing.T) {
	t.Parallel()
	count := 0
	for _, u := range sweep.Units() {
		calls := actions(t, u)
		count += len(calls)
		t.Run(string(u), func(t *testing.T) {
			t.Parallel()
			for i, name := range calls {
				_, action, _ := strings.Cut(name, ":")
				for j, how := range awstest.Hows() {
					silent := how == awstest.Empty || how == awstest.Garbage || how == awstest.Cut
					if silent && !answers(action) || testing.Short() && (i+j)%5 != 0 {
						continue
					}
					broken(t, u, name, how)
				}
			}
		})
	}
	if count < 65 {
		t.Errorf("only %d actions", count)
	}
}

// answers tells whether a success of the action has a body that says something.
func answers(action string) bool {
	return action != "HeadBucket" && action != "DeleteBucket"
}

func broken(t *testing.T, u sweep.Unit, name string, how awstest.How) {
	t.Helper()
	a, scope := ready(u)
	a.Fail(awstest.Fault{Call: name, How: how})
	address, closed := a.Listen()
	defer closed()
	c := sweep.Open(impatient(options(address)), north)
	foreign := a.Dump(other)

	err := c.Sweep(t.Context(), u, scope, &notes{})

	if foreign != a.Dump(other) {
		t.Errorf("%s %s %s: another's things are touched", u, name, how)
	}
	if err == nil {
		t.Errorf("%s %s %s: it ends well", u, name, how)
		return
	}
	for _, secret := range []string{secretKey, sessionToken} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s %s %s: a secret in %v", u, name, how, err)
		}
	}
	// A look that had an answer to all is right; one that had not does not say gone.
	before := len(a.Calls())
	look := c.Look(t.Context(), u, scope)
	asked := slices.Contains(a.Calls()[before:], name)
	if look.Presence().Gone() && (asked || len(a.Owned(me)) > 0 && u == sweep.Buckets) {
		t.Errorf("%s %s %s: it reads as gone", u, name, how)
	}
}

// The first calls fail and the later ones do not: what can be tried again is, and
// the sweep ends well.
func TestWhatPassesIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, how := range []awstest.How{awstest.Crash, awstest.Throttle, awstest.Reset} {
		a, scope := full()
		for _, call := range []string{"ec2:DescribeVpcs", "ec2:DeleteSubnet", "s3:DeleteObjects", "eks:DeleteNodegroup", "iam:DeleteRole", "cloudformation:DescribeStacks"} {
			a.Fail(awstest.Fault{Call: call, How: how, Times: 2})
		}
		c := sweep.Open(options(a.Serve(t)), north)

		_, errs := sweepAll(t, c, scope)

		if left := a.Owned(me); len(left) > 0 || len(errs) > 0 {
			t.Errorf("%s: %v, %v", how, errs, left)
		}
	}
}

func TestExpiredCredentialsNeverEndWell(t *testing.T) {
	t.Parallel()
	a, scope := full()
	a.Fail(awstest.Fault{How: awstest.Expire})
	c := sweep.Open(options(a.Serve(t)), north)
	before := a.Dump(me)

	_, err := c.Identity(t.Context())
	if err == nil || !strings.Contains(err.Error(), "renew") {
		t.Errorf("identity: %v", err)
	}
	for _, u := range sweep.Units() {
		found := c.Look(t.Context(), u, scope)
		why, failed := found.Presence().Failed()
		if !failed || !strings.Contains(why, "renew") {
			t.Errorf("%s: %v", u, found.Presence())
		}
		if err := c.Sweep(t.Context(), u, scope, &notes{}); err == nil {
			t.Errorf("%s ends well", u)
		}
	}
	if err := c.Verify(t.Context(), scope); err == nil {
		t.Error("the verification ends well")
	}
	if diff := cmp.Diff(before, a.Dump(me)); diff != "" {
		t.Error(diff)
	}
}

// Half of what is asked fails: what is there is there, and what is not known is told.
func TestARegionThatIsDeniedHidesNothing(t *testing.T) {
	t.Parallel()
	a, scope := full()
	a.Fail(awstest.Fault{Region: west, How: awstest.Deny})
	c := sweep.Open(options(a.Serve(t)), north)

	for _, u := range []sweep.Unit{sweep.NodeGroups, sweep.Clusters, sweep.Databases, sweep.VPCs, sweep.Addresses, sweep.Stacks} {
		if found := c.Look(t.Context(), u, scope); !found.Presence().There() || len(found.Failures) == 0 {
			t.Errorf("%s: %v", u, found)
		}
		if err := c.Sweep(t.Context(), u, scope, &notes{}); err == nil || !strings.Contains(err.Error(), west) {
			t.Errorf("%s: %v", u, err)
		}
		if why, failed := c.Look(t.Context(), u, scope).Presence().Failed(); !failed || !strings.Contains(why, west) {
			t.Errorf("%s: what is left is %q", u, why)
		}
	}
}

// A run that ends after any call, its answer lost, is completed by the next.
func TestACrashAfterAnyCall(t *testing.T) {
	t.Parallel()
	a, scope := ready("")
	if _, errs := sweepAll(t, sweep.Open(options(a.Serve(t)), north), scope); len(errs) > 0 {
		t.Fatal(errs)
	}
	total := len(a.Calls())
	step := 1
	if testing.Short() {
		step = 11
	}
	for at := 1; at <= total; at += step {
		a, scope := ready("")
		foreign := a.Dump(other)
		ctx, crash := context.WithCancel(t.Context())
		a.OnCall(func(n int, _ string) {
			if n >= at {
				crash()
			}
		})
		address, closed := a.Listen()
		first := sweep.Open(options(address), north)
		for _, u := range sweep.Units() {
			_ = first.Sweep(ctx, u, scope, &notes{})
		}
		crash()
		a.OnCall(nil)

		_, errs := sweepAll(t, sweep.Open(options(address), north), scope)

		if left := a.Owned(me); len(errs) > 0 || len(left) > 0 || a.Dump(other) != foreign {
			t.Fatalf("after call %d of %d: %v, left %v", at, total, errs, left)
		}
		closed()
	}
}

// What AWS refuses for a reason is told with the reason, and the rest goes on.
func TestWhatCannotBeDeletedIsToldWithItsReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*awstest.Account)
		want    []string
	}{
		"a node group": {func(a *awstest.Account) {
			a.Thing("nodegroup", "default_eu-north-1-workload-control-plane/pool-0").Refs["trouble"] = "sg-1 is in use"
		}, []string{"default_eu-north-1-workload-control-plane/pool-0 cannot be deleted", "sg-1 is in use"}},
		"a protected database": {func(a *awstest.Account) {
			a.Thing("db", "krops-eu-north-1-workload-db").Refs["protected"] = "true"
		}, []string{"krops-eu-north-1-workload-db is protected against deletion"}},
		"a stack": {func(a *awstest.Account) {
			a.AddStack(me, north, "capa", "Cannot delete entity, must detach all policies first.")
		}, []string{"its deletion failed", "ControllerRole: Cannot delete entity, must detach all policies first."}},
		"locked objects": {func(a *awstest.Account) {
			b := a.Thing("bucket", bucketName(a.ID, "eu-north-1-workload"))
			b.Refs["lock"] = "on"
			b.Objects[0].Refuse, b.Objects[4].Refuse = "AccessDenied", "AccessDenied"
		}, []string{"2 versions cannot be deleted", "Object Lock", "backup 0/<&>: AccessDenied"}},
		"an object that is denied": {func(a *awstest.Account) {
			a.Thing("bucket", bucketName(a.ID, "eu-north-1-workload")).Objects[3].Refuse = "AccessDenied"
		}, []string{"1 version cannot be deleted", "backup 1/ä<&>: AccessDenied"}},
		"the bucket of another account": {func(a *awstest.Account) {
			a.Thing("bucket", bucketName(a.ID, "eu-north-1-workload")).Refs["account"] = "999999999999"
		}, []string{"S3 HeadBucket", "do not allow"}},
		"an endpoint": {func(a *awstest.Account) {
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == "vpce" {
					a.Thing("vpce", part[2]).Refs["refuse"] = "OperationNotPermitted"
				}
			}
		}, []string{"delete endpoint vpce-", "OperationNotPermitted"}},
		"a protected load balancer": {func(a *awstest.Account) {
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == "elbv2" {
					a.Thing("elbv2", part[2]).Refs["protected"] = "true"
				}
			}
		}, []string{"delete load balancer elbv2-", "deletion protection is enabled"}},
		"a VPC that another cluster shares": {func(a *awstest.Account) {
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == "vpc" {
					a.Thing("vpc", part[2]).Tags["sigs.k8s.io/cluster-api-provider-aws/cluster/guest"] = "shared"
				}
			}
		}, []string{"is shared with cluster guest"}},
		"a machine in the VPC": {func(a *awstest.Account) {
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == "vpc" {
					a.Add(awstest.Thing{Kind: "eni", Region: north, VPC: part[2], State: "in-use", Refs: map[string]string{"what": "Primary interface of i-1"}})
				}
			}
		}, []string{"is not gone within 5s", "in-use by Primary interface of i-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := awstest.New()
			a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload", Rich: true})
			c.prepare(a)
			// Some waits end with their budget, and none before it has been looked at.
			o := options(a.Serve(t))
			b := sweep.Budget{Within: 5 * time.Second, Every: 20 * time.Millisecond}
			o.Budgets = sweep.Budgets{NodeGroup: b, Cluster: b, Database: b, VPC: b, Address: b, Stack: b, Identity: b}
			scope := scopeOf(target(north, "eu-north-1-workload"))

			_, errs := sweepAll(t, sweep.Open(o, north), scope)

			text := fmt.Sprint(errs)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if err := sweep.Open(o, north).Verify(t.Context(), scope); err == nil {
				t.Error("nothing is left")
			}
		})
	}
}

// What is ours by name or tag, and another cluster has a claim on, is not touched:
// neither it nor what is in it.
func TestWhatAnotherClusterLivesInIsLeftAlone(t *testing.T) {
	t.Parallel()
	const ownership = "sigs.k8s.io/cluster-api-provider-aws/cluster/"
	tagged := func(kind, key string) func(*awstest.Account) {
		return func(a *awstest.Account) {
			for _, name := range a.Owned(me) {
				if part := strings.Split(name, "|"); part[1] == kind {
					a.Thing(kind, part[2]).Tags[key] = "shared"
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		prepare func(*awstest.Account)
		units   []sweep.Unit
		want    string
	}{
		"an EKS cluster":   {tagged("cluster", ownership+"guest"), []sweep.Unit{sweep.NodeGroups, sweep.Clusters}, "control-plane carries the tag of cluster guest"},
		"a subnet":         {tagged("subnet", "kubernetes.io/cluster/guest"), []sweep.Unit{sweep.VPCs}, "is also that of cluster guest, which is none of this environment: its tag is on subnet subnet-"},
		"a security group": {tagged("sg", "kubernetes.io/cluster/guest"), []sweep.Unit{sweep.VPCs}, "is also that of cluster guest, which is none of this environment: its tag is on security group sg-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := awstest.New()
			a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-workload", Rich: true, Idle: !slices.Contains(c.units, sweep.Clusters)})
			c.prepare(a)
			cloud := sweep.Open(options(a.Serve(t)), north)
			before := a.Dump(me)
			for _, u := range c.units {
				err := cloud.Sweep(t.Context(), u, scopeOf(target(north, "eu-north-1-workload")), &notes{})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v", u, err)
				}
			}
			if diff := cmp.Diff(before, a.Dump(me)); diff != "" {
				t.Errorf("it is touched:\n%s", diff)
			}
		})
	}
}

// A VPC that clusters of this environment share goes, by whatever names their tags
// have them: no other has a claim on it.
func TestTheTagsOfOurOwnClustersAreNoClaimOfAnother(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.AddCluster(awstest.Cluster{Owner: me, Region: north, Name: "eu-north-1-management", Rich: true, Idle: true})
	for _, name := range a.Owned(me) {
		if part := strings.Split(name, "|"); part[1] == "subnet" || part[1] == "sg" {
			tags := a.Thing(part[1], part[2]).Tags
			for _, key := range []string{"eu-north-1-management", "default_eu-north-1-management-control-plane", "eu-north-1-workload", "default_eu-north-1-workload-control-plane"} {
				tags["kubernetes.io/cluster/"+key] = "shared"
			}
		}
	}
	scope := scopeOf(target(north, "eu-north-1-workload"), target(north, "eu-north-1-management"))

	err := sweep.Open(options(a.Serve(t)), north).Sweep(t.Context(), sweep.VPCs, scope, &notes{})

	left := strings.Join(a.Owned(me), " ")
	if err != nil || strings.Contains(left, "|vpc|") || strings.Contains(left, "|subnet|") || strings.Contains(left, "|sg|") {
		t.Errorf("%v, left %s", err, left)
	}
}

// The rest of a listing that says it goes on, and not where, is not absent.
func TestAListingThatBreaksOffIsNoShortOne(t *testing.T) {
	t.Parallel()
	a := awstest.New()
	a.Page, a.Lost = 2, true
	for _, name := range []string{"a", "b", "c"} {
		a.AddRole(other, name, nil)
	}
	a.AddRole(me, "eu-north-1-workload-nodes", map[string]string{"sigs.k8s.io/cluster-api-provider-aws/cluster/eu-north-1-workload": "owned"})
	c := sweep.Open(options(a.Serve(t)), north)
	scope := scopeOf(target(north, "eu-north-1-workload"))

	if p := c.Look(t.Context(), sweep.Identities, scope).Presence(); p.Gone() {
		t.Error("it reads as gone")
	}
	if err := c.Sweep(t.Context(), sweep.Identities, scope, &notes{}); err == nil || !strings.Contains(err.Error(), "goes on and does not say where") {
		t.Errorf("%v", err)
	}
}

// A profile without a role that has a name of ours, and a tag of another, is not ours.
func TestAnEmptyProfileOfAnotherIsLeftAlone(t *testing.T) {
	t.Parallel()
	const ownership = "sigs.k8s.io/cluster-api-provider-aws/cluster/"
	a := awstest.New()
	profile := func(owner, name string, tags map[string]string) {
		a.Add(awstest.Thing{Owner: owner, Kind: "profile", ID: name, Tags: tags})
	}
	profile(other, "eu-north-1-workload-guest", map[string]string{ownership + "guest": "owned"})
	profile(me, "eu-north-1-workload-own", map[string]string{ownership + "eu-north-1-workload": "owned"})
	profile(me, "eu-north-1-workload-bare", nil)
	before := a.Dump(other)

	err := sweep.Open(options(a.Serve(t)), north).Sweep(t.Context(), sweep.Identities, scopeOf(target(north, "eu-north-1-workload")), &notes{})

	if diff := cmp.Diff(before, a.Dump(other)); diff != "" || err != nil || len(a.Owned(me)) > 0 {
		t.Errorf("%v, left %v, another's:\n%s", err, a.Owned(me), diff)
	}
}

// Who shares a thing with our cluster has it still when ours is gone.
func TestWhatIsSharedWithOursIsNotOurs(t *testing.T) {
	t.Parallel()
	const name = "eu-north-1-workload"
	for _, key := range []string{"sigs.k8s.io/cluster-api-provider-aws/cluster/" + name, "kubernetes.io/cluster/" + name} {
		shared := map[string]string{key: "shared"}
		a := awstest.New()
		a.AddRole(other, name+"-nodes", shared)
		a.Add(awstest.Thing{Owner: other, Kind: "profile", ID: name + "-profile", Tags: shared})
		a.Add(awstest.Thing{Owner: other, Region: north, Kind: "vpc", State: "available", Tags: shared})
		a.Add(awstest.Thing{Owner: other, Region: north, Kind: "igw", Tags: shared})
		a.Add(awstest.Thing{Owner: other, Region: north, Kind: "eip", Tags: shared})
		a.AddRole(me, name+"-own", map[string]string{key: "owned"})
		before := a.Dump(other)

		_, errs := sweepAll(t, sweep.Open(options(a.Serve(t)), north), scopeOf(target(north, name)))

		if diff := cmp.Diff(before, a.Dump(other)); diff != "" || len(errs) > 0 || len(a.Owned(me)) > 0 {
			t.Errorf("%s: %v, left %v, another's:\n%s", key, errs, a.Owned(me), diff)
		}
	}
}

// An address that hangs is given up at the deadline of a call.
func TestEveryCallHasADeadline(t *testing.T) {
	t.Parallel()
	a, scope := full()
	a.Fail(awstest.Fault{How: awstest.Hang})
	c := sweep.Open(impatient(options(a.Serve(t))), north)
	begin := time.Now()

	found := c.Look(t.Context(), sweep.VPCs, scope)

	if why, failed := found.Presence().Failed(); !failed || !strings.Contains(why, "did not answer in time") || time.Since(begin) > time.Minute {
		t.Errorf("%v after %s", found.Presence(), time.Since(begin))
	}
}
