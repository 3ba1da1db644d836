// Package standing keeps warnings from repeating. What is looked at again and
// again may be wrong the same way for days: that is said when it begins, and when
// it becomes another thing, not each time.
package standing

import "sync"

// Conditions are what was said of things, by their names. The zero value is that
// of a program that has said nothing yet.
type Conditions struct {
	mu   sync.Mutex
	said map[string]string
}

// News reports whether a condition is another one than the last that was said of
// a thing, which it then is.
func (c *Conditions) News(thing, condition string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := c.said[thing]; ok && was == condition {
		return false
	}
	if c.said == nil {
		c.said = map[string]string{}
	}
	c.said[thing] = condition
	return true
}

// Over forgets what was said of a thing, which is well again or gone.
func (c *Conditions) Over(thing string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.said, thing)
}
