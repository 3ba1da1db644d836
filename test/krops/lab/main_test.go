//go:build lab_kube

package lab_test

import (
	"os"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/krops/kube"
	"github.com/holdfast-ops/holdfast/test/krops/lab"
	"github.com/holdfast-ops/holdfast/test/krops/lab/program"
)

// TestMain lets the tests execute themselves as the program under test.
func TestMain(m *testing.M) {
	if os.Getenv(lab.ProgramEnv) != "" {
		program.Main()
	}
	kube.Quiet() // the lab's own clients
	os.Exit(m.Run())
}
