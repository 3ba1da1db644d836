package lab

// UnorderedCells levels the order of members inside cells.
func UnorderedCells(s string) string { return unorderedCells(s) }
