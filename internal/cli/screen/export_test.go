package screen

// Decode is the decoder of keys: what the bytes, read in pieces, are.
func Decode(pieces ...[]byte) []Key {
	var d decoder
	var keys []Key
	for _, p := range pieces {
		keys = append(keys, d.feed(p)...)
	}
	return append(keys, d.flush()...)
}

// Canvas is what a terminal shows, and what turns it into something else.
type Canvas struct{ canvas canvas }

// Paint returns what is written.
func (c *Canvas) Paint(f Frame, size Size, colour bool) string {
	return c.canvas.paint(f, size, colour)
}
