package ip_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
)

func TestMain(m *testing.M) { drivertest.Main(m) }
