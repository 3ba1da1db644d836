//go:build lab

package task_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/task"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
)

// The runs share a control group, which each of them, refused ones included,
// removes when it finds it empty.
func TestHostGrouped(t *testing.T) {
	t.Parallel()
	f := drivertest.New(t, drivertest.Case{Spec: task.Host, Real: true, Grouped: true, Config: "command = /bin/true\nmax_parallel = 3\n"}, nil)
	for range 10 {
		var refused atomic.Int32
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if err := f.Do(instance.Run); err != nil {
					refused.Add(1)
					if !isRefusal(err) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if refused.Load() > 3 {
			t.Errorf("%d of 6 refused", refused.Load())
		}
	}
}

func isRefusal(err error) bool { return strings.Contains(err.Error(), "already running as many times") }
