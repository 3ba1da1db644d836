package cloud

// For the tests.
var (
	ParseFault = parseFault
	RedactBody = redactBody
	RedactURL  = redactURL
	Rebase     = rebase
)

// SetLimit changes how large a document may be.
func SetLimit(o *Options, n int64) { o.limit = n }

// ParseTree reads a YAML document and says how many entries its top has.
func ParseTree(text []byte) (int, error) {
	s, err := parse(text)
	return len(s), err
}
