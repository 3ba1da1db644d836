package app

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/holdfast-ops/holdfast/internal/linux/proc"
	"github.com/holdfast-ops/holdfast/internal/om/resource"
)

// Signal implements [resource.Signaler]: the main process gets the signal, and
// passes it on if others are to have it.
func (a *simple) Signal(_ context.Context, sig syscall.Signal) (string, error) {
	m := a.recorded()
	if !m.mainAlive {
		return "", m.broken
	}
	h, err := m.main.Open()
	if errors.Is(err, proc.ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = h.Signal(sig)
	if errors.Is(err, proc.ErrGone) {
		return "", h.Close()
	}
	return fmt.Sprintf("process %d", m.main.Pid), errors.Join(err, h.Close())
}

var _ resource.Signaler = (*simple)(nil)
