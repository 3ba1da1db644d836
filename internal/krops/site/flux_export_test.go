package site

import "github.com/holdfast-ops/holdfast/internal/krops/helm"

// FluxReleases returns the releases Flux is made of.
func (s *Site) FluxReleases() (operator, instance helm.Release, err error) {
	if operator, err = s.fluxOperator(); err != nil {
		return operator, instance, err
	}
	instance, err = s.fluxInstance()
	return operator, instance, err
}

// Logged reads a line of a log of Flux.
func Logged(line []byte) (string, bool) { return logged(line) }
