package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/configure"
	"github.com/holdfast-ops/holdfast/internal/om/command/node"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// cluster is two nodes whose configurations and freezes are only written down.
type cluster struct {
	at   string
	done *[]string
}

func (cluster) Select(context.Context, string) ([]object.Path, error) { return nil, nil }

func (cluster) ExpandNodes(_ context.Context, selector string) ([]string, error) {
	if selector == "*" {
		return []string{"n1", "n2"}, nil
	}
	return []string{selector}, nil
}

func (c cluster) At(node string) verb.Backend { return cluster{at: node, done: c.done} }

func (c cluster) ConfigFile(context.Context, object.Path) (configure.File, error) {
	return configure.File{}, errors.New("not asked")
}

func (c cluster) ConfigValues(_ context.Context, _ object.Path, q api.ConfigQuery) ([]api.KeywordItem, error) {
	*c.done = append(*c.done, c.at+": "+strings.Join(q.Keywords, " ")+" "+q.Impersonate)
	if c.at == "n2" {
		return nil, errors.New("down")
	}
	return nil, nil
}

func (c cluster) FreezeNode(_ context.Context, node string, frozen bool) error {
	*c.done = append(*c.done, map[bool]string{true: "freeze ", false: "unfreeze "}[frozen]+node)
	return nil
}

// do runs a command of the node and returns what it did.
func do(t *testing.T, path string, args ...string) (done []string, err error) {
	t.Helper()
	c := cluster{done: &done}
	for _, v := range node.Verbs() {
		if v.Path != path {
			continue
		}
		runner := v.New(c)
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		runner.Flags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		streams, _, _, _ := iostreams.Test()
		err := runner.Run(t.Context(), &verb.Call{Streams: streams, Backend: c})
		return done, err
	}
	t.Fatal("no command", path)
	return nil, nil
}

func TestTheConfigurationOfOtherNodesIsReadWithTheSameFlags(t *testing.T) {
	t.Parallel()
	here, err := do(t, "config get", "--kw", "node.env", "--kw", "env.a")
	if diff := cmp.Diff([]string{": node.env env.a "}, here); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	all, err := do(t, "config get", "--kw", "node.env", "--kw", "env.a", "--impersonate", "n3", "--node", "*")
	if diff := cmp.Diff([]string{"n1: node.env env.a n3", "n2: node.env env.a n3"}, all); diff != "" {
		t.Error(diff)
	}
	if err == nil || err.Error() != "node n2: down" {
		t.Error(err)
	}
}

func TestTheNodesChosenAreFrozen(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "freeze ", "--node=n2": "freeze n2", "--node=*": "freeze n1,freeze n2"} {
		done, err := do(t, "freeze", strings.Fields(args)...)
		if got := strings.Join(done, ","); err != nil || got != want {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
	if done, err := do(t, "unfreeze"); err != nil || len(done) != 1 || done[0] != "unfreeze " {
		t.Errorf("%q, %v", done, err)
	}
}
