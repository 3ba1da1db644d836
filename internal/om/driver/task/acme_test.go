package task_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/driver/drivertest"
	"github.com/holdfast-ops/holdfast/internal/om/driver/task"
	"github.com/holdfast-ops/holdfast/internal/om/instance"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

func acme(config string) drivertest.Case {
	return drivertest.Case{Spec: task.ACME, Config: config}
}

func TestACMETask(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, acme("secs = web\n"))
}

func TestARunRenewsEverySecWhateverBecomesOfTheOthers(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	f := drivertest.New(t, acme("secs = web ./sec/www ns2/sec/other\ncheck = last_run\n"), &log)
	var asked []string
	refuse := "test/sec/www"
	f.Engine.Renew = func(_ context.Context, r resource.Renewal) (string, error) {
		asked = append(asked, r.Sec.String()+" for "+r.For+" in "+r.Root+r.Dir)
		if r.Sec.String() == refuse {
			return "", errors.New("the directory is away")
		}
		return "no certificate issued: it is valid", nil
	}

	err := f.Do(instance.Run)

	if err == nil || !strings.Contains(err.Error(), "./sec/www: the directory is away") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"test/sec/web for test in ", "test/sec/www for test in ", "ns2/sec/other for test in "}, asked); diff != "" {
		t.Error(diff)
	}
	if text := log.String(); !strings.Contains(text, "task#1: ns2/sec/other: no certificate issued: it is valid") {
		t.Errorf("logged:\n%s", text)
	}
	if s := f.Resource(); s.Status != cluster.Down {
		t.Errorf("after a failed run: %s", s.Status)
	}
	refuse = ""
	f.Must(instance.Run)
	if s := f.Resource(); s.Status != cluster.Up {
		t.Errorf("after a run: %s", s.Status)
	}
}

func TestAWebrootIsInAResourceOfTheService(t *testing.T) {
	t.Parallel()
	f := drivertest.New(t, acme("secs = web\nwebroot = fs#9:/challenges\n"), nil)
	f.Engine.Renew = func(context.Context, resource.Renewal) (string, error) { return "", nil }
	if err := f.Do(instance.Run); err == nil || !strings.Contains(err.Error(), "webroot = fs#9:/challenges: the object has no such resource") {
		t.Errorf("got %v", err)
	}
}

func TestWhatATaskOfCertificatesRefuses(t *testing.T) {
	t.Parallel()
	d := task.ACME.New(resource.Env{})
	k := &keyword.Table{}
	d.Keywords(k)
	for option, values := range map[string][]string{
		"webroot": {"/srv", "fs#1", "fs#1:", "fs#1:srv", "fs#1:/../x", "fs#1:/a/../../x", "app#1:/x", "fs#:/x", "fs#1:/a//b"},
		"secs":    {"./cfg/web", "web a/b/c/d", "Web"},
	} {
		for _, value := range values {
			if err := k.Find(option).Convert(value, keyword.Context{}); err == nil {
				t.Errorf("%s = %s is taken", option, value)
			}
		}
	}
	for option, values := range map[string][]string{"webroot": {"fs#1:/", "volume#1:/haproxy/acme-challenges", "fs#web:/a/"}, "secs": {"web", "./sec/web ns2/sec/web"}} {
		for _, value := range values {
			if err := k.Find(option).Convert(value, keyword.Context{}); err != nil {
				t.Errorf("%s = %s: %v", option, value, err)
			}
		}
	}
}
