package store

// At returns the store calling step along its commits.
func (s *Store) At(step func(name string)) *Store {
	c := *s
	c.step = step
	return &c
}
