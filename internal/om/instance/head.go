package instance

import (
	"errors"
	"fmt"

	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// head is the directory of a resource of the object, for another one to use.
func (l *loaded) head(rid string) (string, error) {
	m := l.find(rid)
	if m == nil {
		return "", errors.New("the object has no such resource")
	}
	if err := l.ready(m); err != nil {
		return "", err
	}
	h, ok := m.Driver.(resource.Header)
	if !ok {
		return "", fmt.Errorf("driver %s holds no directory", m.Spec.ID())
	}
	return h.Head(), nil
}
