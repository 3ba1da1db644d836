package process

import (
	"context"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Trace is what the environment tells of the processes that the starts of a
// resource leave: the last thing they have in common once their record is lost
// and they left their session and their control group.
type Trace struct {
	Root string // of the agent: two agents of one host never see each other
	Path object.Path
	RID  string // empty: every resource of the object
}

// Traced is a process a start left.
type Traced struct {
	proc.Identity

	RID      string
	ObjectID string // another one than that of the object: it was deleted and made again
	Session  string // id of the action that started it
}

// Find looks at every process of the host.
func (t Trace) Find(ctx context.Context) ([]Traced, error) {
	vars := []string{"OPENSVC_SVCPATH=" + t.Path.String()}
	if t.RID != "" {
		vars = append(vars, "OPENSVC_RID="+t.RID)
	}
	all, err := proc.Search(ctx, vars...)
	if err != nil {
		return nil, err
	}
	var found []Traced
	for _, f := range all {
		rid := f.Env("OPENSVC_RID")
		if rid == "" || f.Env("OSVC_ROOT_PATH") != t.Root || !slices.Contains(starts(), f.Env("OPENSVC_ACTION")) {
			continue
		}
		found = append(found, Traced{Identity: f.Identity, RID: rid, ObjectID: f.Env("OPENSVC_ID"), Session: f.Env("OPENSVC_SID")})
	}
	return found, nil
}

// starts are the actions that leave processes on purpose. What only looks, or
// stops, is no process of the application.
func starts() []string { return []string{"start", "startstandby", "restart", "provision"} }

// Mark makes a process traceable, in spite of what the configuration and the
// request put in its environment.
func (t Trace) Mark(env []string, objectID, session string) []string {
	if !slices.Contains(starts(), lastValue(env, "OPENSVC_ACTION")) {
		env = append(env, "OPENSVC_ACTION=start")
	}
	if lastValue(env, "OSVC_ROOT_PATH") != t.Root {
		env = append(env, "OSVC_ROOT_PATH="+t.Root)
	}
	return append(env, "OPENSVC_SVCPATH="+t.Path.String(), "OPENSVC_RID="+t.RID, "OPENSVC_ID="+objectID, "OPENSVC_SID="+session)
}

func lastValue(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
