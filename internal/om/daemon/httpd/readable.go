package httpd

import (
	"context"
	"net/http"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// configNeed is what a caller needs to see what is written in the configuration
// of an object, in whichever way: as a file, as keywords, through a selector. The
// namespace is the one to hold it in.
//
//   - that of the cluster holds its secret, whatever namespace it is filed under;
//   - those of sec and usr hold sealed keys: only who may change them sees them;
//   - those of the namespace system are the credentials of the agent itself.
func configNeed(p object.Path) rbac.Need {
	switch p.Kind {
	case object.KindCcfg:
		return rbac.NeedRoot
	case object.KindSec, object.KindUsr:
		if p.Namespace == object.SystemNamespace {
			return rbac.NeedRoot
		}
		return rbac.NeedAdmin
	case object.KindSvc, object.KindVol, object.KindCfg, object.KindNscfg:
	}
	return rbac.NeedGuest
}

// mayReadConfig reports whether a caller may see the configuration of an object.
func mayReadConfig(caller rbac.Caller, p object.Path) bool {
	return caller.Allows(configNeed(p), p.Namespace)
}

// readablePath is path, for operations that show a configuration.
func readablePath(ctx context.Context, n api.ObjectName) (object.Path, error) {
	p, err := path(n)
	if err == nil && !mayReadConfig(principal(ctx).Caller(), p) {
		err = api.NewProblem(http.StatusForbidden, "the configuration of "+p.String()+": "+configNeed(p).Refusal(p.Namespace))
	}
	return p, err
}

// configs is what the config expressions of a caller look at: only the
// configurations the caller may read, and no secret in any of them, since an
// expression answers questions about a value until it is known.
func (s *Server) configs(caller rbac.Caller) object.Configs {
	return readableConfigs{Configs: s.o.Store.Configs(), caller: caller}
}

type readableConfigs struct {
	object.Configs

	caller rbac.Caller
}

// Sections implements [object.Configs].
func (c readableConfigs) Sections(p object.Path) []string {
	if !mayReadConfig(c.caller, p) {
		return nil
	}
	return c.Configs.Sections(p)
}

// Value implements [object.Configs].
func (c readableConfigs) Value(p object.Path, section, option string) (object.Value, bool) {
	if !mayReadConfig(c.caller, p) || isSecret(p, section, option) {
		return object.Value{}, false
	}
	return c.Configs.Value(p, section, option)
}

// isSecret tells the keywords that no expression may ask about.
func isSecret(p object.Path, section, option string) bool {
	option, _, _ = strings.Cut(option, "@")
	switch p.Kind {
	case object.KindCcfg:
		return section == "cluster" && (strings.EqualFold(option, "secret") || strings.EqualFold(option, "former_secrets"))
	case object.KindSec, object.KindUsr:
		return section == "data"
	case object.KindSvc, object.KindVol, object.KindCfg, object.KindNscfg:
	}
	return false
}
