package site

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Owners counts the areas that answer a fact or do a step.
func (s *Site) Owners(name string, fact bool) int {
	owners := 0
	for _, p := range s.parts {
		switch {
		case fact && (lookup(p.facts, name) != nil || lookup(p.views, name) != nil):
			owners++
		case !fact && lookup(p.steps, name) != nil:
			owners++
		}
	}
	return owners
}

// Holdup says why an object that is deleted is still there.
func Holdup(u *unstructured.Unstructured) string { return holdup(u) }
