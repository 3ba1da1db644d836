package local_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	cmdinstance "github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// recorder is a node on which actions are only written down.
type recorder struct{ action cmdinstance.Action }

func (*recorder) Select(context.Context, string) ([]object.Path, error) {
	return []object.Path{{Namespace: object.RootNamespace, Kind: object.KindSvc, Name: "web"}}, nil
}

func (r *recorder) Act(_ context.Context, _ *verb.Call, _ object.Path, a cmdinstance.Action) error {
	r.action = a
	return nil
}

func (*recorder) Plan(context.Context, object.Path, cmdinstance.Action) ([]cmdinstance.Step, error) {
	return nil, nil
}
func (*recorder) NodeName() string { return "node1" }
func (*recorder) Session() string  { return "" }
func (*recorder) ActOn(context.Context, string, object.Path, cmdinstance.Action) (api.InstanceActionAccepted, error) {
	return api.InstanceActionAccepted{}, nil
}
func (*recorder) ExpandNodes(context.Context, string) ([]string, error) { return nil, nil }
func (*recorder) WaitExec(context.Context, string, string, time.Duration) (api.Exec, error) {
	return api.Exec{}, nil
}
func (*recorder) NewSession() string { return "" }

// parsed is the request that the words of a command line make.
func parsed(t interface{ Fatal(...any) }, action instance.Action, words []string) instance.Request {
	for _, v := range cmdinstance.Actions() {
		if v.Path != "instance "+string(action) {
			continue
		}
		node := &recorder{}
		runner := v.New(node)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		runner.Flags(flags)
		if err := flags.Parse(words); err != nil {
			t.Fatal(err)
		}
		if err := runner.Run(context.Background(), &verb.Call{Backend: node, Selector: "web", Env: func(string) string { return "" }}); err != nil {
			t.Fatal(err)
		}
		r, err := instance.RequestOf(action, node.action.InstanceAction)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatal("no command for", action)
	return instance.Request{}
}

// What the daemon asks of its action processes is what they understand.
func TestTheFlagsOfAnActionAreTheInverseOfItsArguments(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-z][a-z0-9]{0,5}(#[0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		action := rapid.SampledFrom([]instance.Action{
			instance.Start, instance.Stop, instance.Restart, instance.Provision, instance.Unprovision, instance.Run,
			instance.StartStandby, instance.Shutdown, instance.Boot, instance.Delete, instance.Freeze, instance.Unfreeze,
		}).Draw(t, "action")
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		var bound instance.Request
		bound.Action = action
		bound.Bind(flags)
		has := func(name string) bool { return flags.Lookup(name) != nil }
		yes := func(name string) bool { return has(name) && rapid.Bool().Draw(t, name) }
		some := func(name string) []string {
			if !has(name) {
				return nil
			}
			return rapid.SliceOfN(word, 0, 3).Draw(t, name)
		}

		want := instance.Request{
			Action: action, RID: some("rid"), Tag: some("tag"), Subset: some("subset"),
			Force: yes("force"), DisableRollback: yes("disable-rollback"), Leader: yes("leader"), StateOnly: yes("state-only"),
			NoLock: yes("no-lock"), Confirm: yes("confirm"),
		}
		if has("to") {
			want.To = rapid.OneOf(rapid.Just(""), word).Draw(t, "to")
		}
		if has("env") {
			want.Env = rapid.SliceOfN(rapid.StringMatching(`[A-Z]{1,4}=[a-z ,]{0,4}`), 0, 2).Draw(t, "env")
		}
		if has("waitlock") {
			want.WaitLock = time.Duration(rapid.Int64Range(1, 1000).Draw(t, "waitlock")) * time.Second
		}

		got := parsed(t, action, want.Args())
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q\n%s", want.Args(), diff)
		}
	})
}
