package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildrenInheritNothingOfTheShell(t *testing.T) {
	t.Parallel()
	got := inherited([]string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_TIME=C", "TZ=UTC", "OSVC_ROOT_PATH=/r", "OSVC_SESSION_ID=x", "AWS_SECRET=s",
		"NOTIFY_SOCKET=/n", "WATCHDOG_USEC=1", "LISTEN_FDS=1", "GOCOVERDIR=/c", "LD_PRELOAD=/x.so", "PATHS=no",
	})
	want := []string{"PATH=/bin", "HOME=/root", "LANG=C", "LC_TIME=C", "TZ=UTC", "OSVC_ROOT_PATH=/r"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
