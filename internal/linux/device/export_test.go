package device

// Parse reads what blkid prints.
func Parse(text []byte) Content { return parse(text) }
