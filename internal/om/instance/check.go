package instance

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Check tells why [Engine.Run] would refuse a request before doing anything: an
// action the object has not, resources that do not exist.
func (e *Engine) Check(p object.Path, r Request) error {
	_, err := e.admit(p, r)
	return err
}

// checkText refuses the parameters that no name could match.
func checkText(in api.InstanceAction) error {
	for _, p := range []struct{ name, value string }{{"rid", in.Rid}, {"tag", in.Tag}, {"subset", in.Subset}, {"to", in.To}} {
		if i := strings.IndexFunc(p.value, unicode.IsControl); i >= 0 {
			return fmt.Errorf("%s: %q holds a control character", p.name, p.value)
		}
	}
	return checkEnv(in.Env)
}
