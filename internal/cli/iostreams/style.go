package iostreams

// Style is how a text looks on a terminal.
type Style string

// The styles, as the codes that turn them on. They compose: Bold + Red.
const (
	Bold   Style = "1;"
	Faint  Style = "2;"
	Red    Style = "31;"
	Green  Style = "32;"
	Yellow Style = "33;"
	Blue   Style = "34;"
	Purple Style = "35;"
	Cyan   Style = "36;"
	Gray   Style = "90;"
)

// Paint returns the text in the style, as it is when Out takes no colours.
func (s *Streams) Paint(style Style, text string) string {
	if !s.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style[:len(style)-1]) + "m" + text + "\x1b[0m"
}
