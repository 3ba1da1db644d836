package compute_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/compute"
)

// TestEveryServerCommandIsRun finds each command in the tests.
func TestEveryServerCommandIsRun(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, file := range []string{"server_test.go", "server_ssh_test.go", "testdata/upstream.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, e := range compute.Commands() {
		if strings.HasPrefix(e.Name, "server ") && !strings.Contains(all.String(), e.Name+" ") && !strings.Contains(all.String(), e.Name+`"`) {
			t.Errorf("%s is never run", e.Name)
		}
	}
}
