package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADaemonKeepsLittleOfTheShell(t *testing.T) {
	t.Parallel()
	got := daemonEnviron([]string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C", "TZ=UTC", "OSVC_ROOT_PATH=/r", "NOTIFY_SOCKET=/n",
		"AWS_SECRET=s", "GOCOVERDIR=/c", "LD_PRELOAD=/x.so", "SSH_AUTH_SOCK=/s",
	})
	want := []string{"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C", "TZ=UTC", "OSVC_ROOT_PATH=/r", "NOTIFY_SOCKET=/n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
