package site

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
