package watch

// Identity is the index of the column that tells rows apart: the first of ID,
// UUID and Name among the titles, in any case of letters, else -1.
func Identity(titles []string) int { return identity(titles) }

// Cut is the text in at most width columns, with an ellipsis when it lost some.
// Colours are kept.
func Cut(text string, width int) string { return cut(text, width) }

// Text is a frame of lines of text that nobody laid out: JSON, YAML.
func Text(raw []byte, count int) Frame { return textFrame(raw, count) }
