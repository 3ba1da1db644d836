package instance_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/instance"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// tasks is a host with one task that asks for a confirmation.
type tasks struct{ confirmed []bool }

func (*tasks) Select(context.Context, string) ([]object.Path, error) {
	return []object.Path{{Namespace: "root", Kind: object.KindSvc, Name: "backup"}}, nil
}

func (*tasks) Confirmations(context.Context, object.Path, instance.Action) ([]string, error) {
	return []string{"task#1"}, nil
}

func (h *tasks) Act(_ context.Context, _ *verb.Call, _ object.Path, a instance.Action) error {
	h.confirmed = append(h.confirmed, a.Confirm)
	return nil
}

func (*tasks) Plan(context.Context, object.Path, instance.Action) ([]instance.Step, error) {
	return nil, nil
}
func (*tasks) NodeName() string   { return "n1" }
func (*tasks) Session() string    { return "" }
func (*tasks) NewSession() string { return "" }

func (*tasks) ActOn(context.Context, string, object.Path, instance.Action) (api.InstanceActionAccepted, error) {
	return api.InstanceActionAccepted{}, nil
}

func (*tasks) ExpandNodes(context.Context, string) ([]string, error) { return nil, nil }

func (*tasks) WaitExec(context.Context, string, string, time.Duration) (api.Exec, error) {
	return api.Exec{}, nil
}

func TestAPersonIsAskedForAConfirmation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, typed string
		terminal    bool
		confirmed   []bool
		says        string
	}{
		"who says yes":                {"", "yes\n", true, []bool{true}, "Run task#1 of backup? "},
		"who says no":                 {"", "no\n", true, nil, "Run task#1 of backup? "},
		"not when it is given":        {"--confirm", "", true, []bool{true}, ""},
		"not when there is nobody":    {"", "yes\n", false, []bool{false}, ""},
		"not of what a schedule runs": {"--cron", "", true, []bool{false}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &tasks{}
			var run verb.Runner
			for _, v := range instance.Actions() {
				if v.Path == "instance run" {
					run = v.New(h)
				}
			}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			run.Flags(flags)
			if err := flags.Parse(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			streams := &iostreams.Streams{In: strings.NewReader(c.typed), Out: &bytes.Buffer{}, Err: &said, InTTY: c.terminal}

			err := run.Run(t.Context(), &verb.Call{Streams: streams, Env: func(string) string { return "" }, Backend: h, Selector: "backup"})

			if refused := c.confirmed == nil; (err != nil) != refused || refused && !strings.Contains(err.Error(), "not confirmed") {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(h.confirmed, c.confirmed) || !strings.Contains(said.String(), c.says) || c.says == "" && said.Len() > 0 {
				t.Errorf("run with a confirmation: %v, asked %q", h.confirmed, said.String())
			}
		})
	}
}
