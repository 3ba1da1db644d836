package cloud

import "net/url"

// For the tests.
var (
	ParseFault = func(status int, kind string, body []byte) *Fault { return parseFault(status, kind, body) }
	RedactBody = func(path string, body []byte, pretty bool) string { return redactBody(path, body, pretty) }
	RedactURL  = func(u *url.URL) string { return redactURL(u) }
	Rebase     = func(link, endpoint string) (string, error) { return rebase(link, endpoint) }
	Remedy     = func(c *Cloud, err error) string { return c.remedy(err) }
)

// ParseTree reads a YAML document and says how many entries its top has.
func ParseTree(text []byte) (int, error) {
	s, err := parse(text)
	return len(s), err
}
