package app_test

import (
	"context"
	"os"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/driver/app"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// TestMain makes the test binary act as `om exec`, which drivertest does, and as
// `om instance start` for the tests that kill it: "start ROOT".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "start" {
		os.Exit(start(os.Args[2])) //nolint:forbidigo // how a test binary is told to be a command
	}
	drivertest.Main(m)
}

func start(root string) int {
	self, err := os.Executable()
	if err != nil {
		return 2
	}
	h := host.Host{Runner: host.NewRunner(), Paths: host.Paths{Root: root}, Hostname: "n1", Self: self}
	registry := resource.NewRegistry(app.Simple)
	e := &instance.Engine{Host: h, Store: store.New(h, registry.Sections), Registry: registry}
	if err := e.Run(context.Background(), drivertest.Path(), instance.Request{Action: instance.Start}); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}
