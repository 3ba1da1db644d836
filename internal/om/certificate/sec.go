package certificate

import (
	"fmt"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/object"
)

// Sec reads the name of a sec as it is written in the configuration of an object
// of a namespace: "web" and "./sec/web" are in that namespace.
func Sec(name, namespace string) (object.Path, error) {
	p := object.Path{Namespace: namespace, Kind: object.KindSec, Name: name}
	if strings.Contains(name, "/") {
		var err error
		if p, err = object.ParseRelative(name, namespace); err != nil {
			return object.Path{}, err
		}
	}
	if p.Kind != object.KindSec {
		return object.Path{}, fmt.Errorf("%s is no sec", name)
	}
	return p, p.Validate()
}
