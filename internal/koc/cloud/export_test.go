package cloud

// For the tests.
var (
	RedactBody = redactBody
	RedactURL  = redactURL
	Rebase     = rebase
)

// ParseFault reads a refusal that quotes nothing.
func ParseFault(status int, kind string, body []byte) *Fault {
	return parseFault(status, kind, body, func(text string) string { return text })
}

// SetLimit changes how large a document may be.
func SetLimit(o *Options, n int64) { o.limit = n }

// ParseTree reads a YAML document and says how many entries its top has.
func ParseTree(text []byte) (int, error) {
	s, err := parse(text)
	return len(s), err
}
