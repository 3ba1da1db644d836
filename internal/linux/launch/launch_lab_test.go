//go:build lab

package launch_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/linux/cgroup"
	"github.com/holdfast-ops/holdfast/internal/linux/launch"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("the lab runs as root")
	}
	tree, err := cgroup.Open()
	if err != nil {
		t.Fatal(err)
	}
	group := fmt.Sprintf("/holdfast-launch-%d.slice/inner.slice", os.Getpid())
	out, errs, err := run(t, launch.Options{Cgroup: group, Argv: []string{"cat", "/proc/self/cgroup"}})
	if err != nil || !strings.Contains(out, ":"+group+"\n") {
		t.Errorf("a group that was not there: %s, %v, in %s", errs, err, out)
	}

	t.Run("a group is joined while others remove it", func(t *testing.T) {
		t.Parallel()
		done := make(chan struct{})
		var others sync.WaitGroup
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if err := tree.Delete(group); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		for range 30 {
			if _, err := watched(t, launch.Options{Cgroup: group, Argv: []string{"true"}}); err != nil {
				t.Error(err)
				break
			}
		}
		close(done)
		others.Wait()
		if err := tree.Delete(group); err != nil {
			t.Error(err)
		}
	})
}
