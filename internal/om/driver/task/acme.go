package task

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/certificate"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
	"github.com/holdfast-ops/holdfast/internal/om/resource/process"
	"github.com/holdfast-ops/holdfast/internal/om/schedule"
)

// ACME is the driver of the tasks that renew certificates.
var ACME = resource.Spec{
	Group: "task",
	Name:  "acme",
	Doc: "The renewal of the certificates of secs, by the service whose web server answers for their names: the answers to the challenges of the ACME directory are written in a volume or a filesystem of the service. " +
		"A certificate that is not due is left as it is, so the task runs on a schedule, daily for example. It renews only the secs its namespace may use, and runs no command.",
	Kinds: []object.Kind{object.KindSvc, object.KindVol},
	New: func(e resource.Env) resource.Driver {
		a := &acme{task: task{env: e, retcodes: "0:up 1:down"}}
		a.do = a.renew
		return a
	},
}

// acme is a task that runs no command.
type acme struct {
	task

	secs    []string
	webroot string
}

// renewTimeout bounds a run that sets no timeout: challenges are read again for
// some minutes by a directory.
const renewTimeout = 15 * time.Minute

// Keywords implements [resource.Driver].
func (a *acme) Keywords(k *keyword.Table) {
	k.List(&a.secs, "secs", "The secs whose certificates are renewed: web and ./sec/web are in the namespace of the service, those of another namespace must share their keys with it.").
		Required().Scopable().Check(checkSecs).Eg("web ./sec/www")
	k.String(&a.webroot, "webroot", "Where the web server reads the answers to the challenges: a directory in a volume or a filesystem of the service, as volume#1:/path. They are written below .well-known/acme-challenge there, and nowhere else. "+
		"Without it, the secs say where, by listener.tls_secs or acme.webroot.").
		Scopable().Check(checkWebroot).Eg("fs#1:/acme-challenges")
	k.String(&a.check, "check", "When last_run, the status of the task is that of its last run; when last_run_warn, a failed last run is a warning. By default the status is n/a.").OneOf("", "last_run", "last_run_warn").Scopable()
	k.Duration(&a.runTimeout, "run_timeout", "How long a run may take.").Default("15m").Scopable().Eg("1h")
	k.String(&a.schedule, "schedule", "When the task runs by itself.").Check(schedule.Check).HeadName("run_schedule").Scopable().Eg("@1d")
	k.String(&a.on, "on", "The events the task runs on, whatever its schedule: Kind,label=value,.field=value items separated by blanks.").Check(checkEvents).Sections(awaited).Scopable().Eg("ObjectStatusUpdated,path=ns1/svc/web")
	k.Duration(&a.snooze, "snooze", "How long the schedule leaves the task alone after a failed run.").Scopable().Eg("1h")
}

func checkSecs(text string) error {
	for name := range strings.FieldsSeq(text) {
		if _, err := certificate.Sec(name, object.RootNamespace); err != nil {
			return err
		}
	}
	return nil
}

func checkWebroot(text string) error {
	_, _, err := splitWebroot(text)
	return err
}

// splitWebroot reads volume#1:/path. A path that climbs is refused; links that do
// are where it is written.
func splitWebroot(text string) (rid, dir string, err error) {
	rid, dir, ok := strings.Cut(text, ":")
	group, index, isRID := strings.Cut(rid, "#")
	switch {
	case !ok || !isRID || index == "" || group != "volume" && group != "fs":
		return "", "", fmt.Errorf("webroot = %s: write the resource and a directory in it, as fs#1:/acme-challenges", text)
	case !strings.HasPrefix(dir, "/") || path.Clean(dir) != strings.TrimSuffix(dir, "/") && dir != "/":
		return "", "", fmt.Errorf("webroot = %s: the directory begins with / and has no . nor .. in it", text)
	}
	return rid, dir, nil
}

// renew renews every sec, each whatever became of the others.
func (a *acme) renew(ctx context.Context) error {
	if a.env.Renew == nil {
		return errors.New("certificates cannot be renewed from here")
	}
	limit := process.FirstOf(a.runTimeout, renewTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the task did not end within %s, run_timeout", limit))
	defer cancel()
	r := resource.Renewal{For: a.env.Path.Namespace, Infof: a.env.Infof}
	if a.webroot != "" {
		rid, dir, err := splitWebroot(a.webroot)
		if err != nil {
			return err
		}
		if r.Root, err = a.env.Head(rid); err != nil {
			return fmt.Errorf("webroot = %s: %w", a.webroot, err)
		}
		r.Dir = dir
	}
	var failed error
	for _, name := range a.secs {
		p, err := certificate.Sec(name, a.env.Path.Namespace)
		if err == nil {
			r.Sec = p
			err = a.renewOne(ctx, r)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return failed
}

func (a *acme) renewOne(ctx context.Context, r resource.Renewal) error {
	did, err := a.env.Renew(ctx, r)
	if err != nil {
		return err
	}
	a.env.Infof("%s: %s", r.Sec, did)
	return nil
}

var (
	_ resource.Runner    = (*acme)(nil)
	_ resource.Executor  = (*acme)(nil)
	_ resource.Scheduled = (*acme)(nil)
)
