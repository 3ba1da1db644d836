package local_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/command/local"
)

func backend(root string, uid int) *local.Backend {
	return local.New(local.Options{Process: app.Process{UID: uid, Env: func(name string) string {
		return map[string]string{"OSVC_ROOT_PATH": root}[name]
	}}})
}

func TestAnOrdinaryUserIsToldOfAnAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	denied := fmt.Errorf("mkdir /var/lib/opensvc: %w", fs.ErrPermission)
	for _, c := range []struct {
		root string
		uid  int
		err  error
		told bool
	}{
		{"", 1000, denied, true},
		{"", 0, denied, false},
		{"/home/me/agent", 1000, denied, false},
		{"", 1000, fs.ErrNotExist, false},
	} {
		got := backend(c.root, c.uid).Explain(c.err)
		if told := strings.Contains(got.Error(), "OSVC_ROOT_PATH"); told != c.told || !errors.Is(got, c.err) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestTheRootOfAnAgentIsAnAbsolutePath(t *testing.T) {
	t.Parallel()
	for root, fine := range map[string]bool{"": true, "/srv/agent": true, "agent": false, "./agent": false} {
		if err := backend(root, 0).Check(); (err == nil) != fine {
			t.Errorf("%q: %v", root, err)
		}
	}
}
