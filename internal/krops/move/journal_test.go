package move_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-ops/holdfast/internal/krops/move"
)

func TestAListOfObjectsIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	machine := schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
	for _, n := range []int{0, 3, 20_000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			var lines []string
			for i := range n {
				lines = append(lines, move.Line(i%7, machine, "machines", "fleet", fmt.Sprintf("machine-%d", i), fmt.Sprintf("5f0c7f4e-0000-4000-8000-%012x", i*2654435761)))
			}
			stored, again, err := move.Recoded("copying", lines)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(lines, again) {
				t.Error("it is read as another list")
			}
			text, err := stored.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			const most = 1 << 20
			if len(text) > most {
				t.Errorf("the ConfigMap has %d bytes: a server takes %d at most", len(text), most)
			}
		})
	}
}

func FuzzAGarbledListIsAnErrorAndNoPanic(f *testing.F) {
	f.Add("copying", "0 cluster.x-k8s.io/v1beta2 Cluster clusters fleet mgmt uid -")
	f.Add("removing", "0 v1 Secret secrets fleet mgmt-ca uid keep,prior\n1 infra/v1 Identity identities - default u keep")
	f.Add("done", "")
	f.Add("lost", "x")
	f.Add("copying", "0 a/b/c Kind kinds ns name uid -")
	f.Fuzz(func(t *testing.T, phase, text string) {
		lines := strings.Split(text, "\n")
		_, again, err := move.Recoded(phase, lines)
		if err == nil && strings.Join(again, "\n") != strings.TrimSuffix(text, "\n") && len(text) > 0 {
			t.Errorf("%q is read as %q", text, again)
		}
	})
}
