package instance_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

func TestAnEnvironmentTravelsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		env := rapid.SliceOfN(rapid.StringMatching(`[A-Z_]+=[ -~\n"']*`), 1, 4).Draw(t, "env")
		got, err := instance.DecodeEnv(instance.EncodeEnv(env))
		if err != nil || cmp.Diff(env, got) != "" {
			t.Fatalf("%q became %q, %v", env, got, err)
		}
	})
	if env, err := instance.DecodeEnv(""); env != nil || err != nil {
		t.Errorf("nothing became %q, %v", env, err)
	}
	if _, err := instance.DecodeEnv("A=1"); err == nil || !strings.Contains(err.Error(), instance.EnvVariable) {
		t.Errorf("got %v", err)
	}
}

func TestACommandLineShowsNoValueOfTheEnvironment(t *testing.T) {
	t.Parallel()
	got := instance.MaskCommand([]string{"om", "web", "instance", "run", "--env=PASSWORD=a b", "--env", "TOKEN=x", "--rid=task#1", "--env", "bare"})
	want := []string{"om", "web", "instance", "run", "--env=PASSWORD=***", "--env", "TOKEN=***", "--rid=task#1", "--env", "bare=***"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
