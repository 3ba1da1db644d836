package render

// What the tests of this package look at from outside.

// Width is how many columns a line takes.
func Width(line string) int { return width(line) }

// OwnText is the text of a cell in koc's own voice.
func OwnText(v any) string { return ownText(v) }

// OwnValue is a cell in the JSON of koc's own voice.
func OwnValue(v any) any { return ownValue(v) }
