package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// An object may be deleted while its status is evaluated.
func TestTheStatusOfADeletedObjectIsNotKept(t *testing.T) {
	t.Parallel()
	f := native(t, "")
	conf := filepath.Join(f.Host.Paths.Etc(), web.ConfigFile())
	f.write(web, "[DEFAULT]\nid = 11111111-2222-3333-4444-555555555555\n[app#1]\ntype = forking\nstart = /bin/true\ncheck = /bin/rm "+conf+"\n")

	s, err := f.Status(t.Context(), web, instance.StatusOptions{Refresh: true})

	if _, missing := errors.AsType[*object.NotFoundError](err); !missing {
		t.Errorf("got %v, %+v", err, s.Resources)
	}
	if _, err := os.Stat(filepath.Join(f.Host.Paths.Var(), web.StateDir())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its state remains: %v", err)
	}
}
