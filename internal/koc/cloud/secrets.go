package cloud

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// shortest is how long a secret is that can be told from ordinary words. A
	// shorter one, and one of letters alone, is hidden where it is a word by itself.
	shortest = 6
	// telling is how much of the beginning of a long secret gives it away: services
	// cut long texts short.
	telling = 16
)

// secrets are the texts that a session sent or got and that are shown nowhere:
// services quote what they are sent.
type secrets struct {
	mu    sync.Mutex // guards what follows
	seen  map[string]bool
	known []string // in every form in which they may come back
}

// add keeps texts that are secret from now on.
func (s *secrets) add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		if s.seen[text] {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[text] = true
		for _, form := range forms(text) {
			if utf8.RuneCountInString(form) > 2 && !slices.Contains(s.known, form) {
				s.known = append(s.known, form)
			}
		}
	}
}

// forms are how a text may come back: as it is, on one line, in an address, in the
// repr of Python, and any of these in JSON or HTML, which may be in one of them again.
func forms(text string) []string {
	all := []string{text}
	put := func(made ...string) {
		for _, form := range made {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
		}
	}
	put(printable(text), url.QueryEscape(text), url.PathEscape(text), strings.ReplaceAll(text, "'", `\'`))
	for range 2 {
		for _, form := range slices.Clone(all) {
			put(inJSON(form))
			put(html.EscapeString(form))
		}
	}
	return all
}

// inJSON are the ways to write a text in JSON: as little escaped as can be, as Go
// does it for HTML, and as Python does it, in ASCII.
func inJSON(text string) (plain, forHTML, inASCII string) {
	inside := func(html bool) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		_ = e.Encode(text) // a text cannot fail
		return b.String()[1 : b.Len()-2]
	}
	plain = inside(false)
	var ascii strings.Builder
	for _, r := range plain {
		switch {
		case r < utf8.RuneSelf:
			ascii.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	return plain, inside(true), ascii.String()
}

// mask hides the secrets in a text: where several begin, the one that goes furthest.
func (s *secrets) mask(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	done, next := 0, make([]int, len(s.known)) // where each is from done on, len(text) for nowhere
	for i := range next {
		next[i] = -1
	}
	for {
		at, end := len(text), 0
		for i, secret := range s.known {
			if next[i] < done {
				next[i] = find(text, secret, done)
			}
			if stop := next[i] + length(text[min(next[i], len(text)):], secret); next[i] < at || next[i] == at && stop > end {
				at, end = next[i], stop
			}
		}
		if at == len(text) {
			break
		}
		b.WriteString(text[done:at] + redacted)
		done = end
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// opening is the part of a secret that gives it away.
func opening(secret string) string {
	if len(secret) >= 2*telling {
		return secret[:telling]
	}
	return secret
}

// find is where a secret is in a text, len(text) for nowhere.
func find(text, secret string, from int) int {
	common := len(secret) < shortest || len(secret) < telling && strings.IndexFunc(secret, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
	for {
		at := strings.Index(text[from:], opening(secret))
		if at < 0 {
			return len(text)
		}
		if at += from; !common || word(text, at, len(secret)) {
			return at
		}
		from = at + len(secret)
	}
}

// length is how much of a text is a secret that it begins with. What is not all of
// it may go on in a way that is not known: up to a blank or a quote.
func length(text, secret string) int {
	n := 0
	for n < len(secret) && n < len(text) && text[n] == secret[n] {
		n++
	}
	if n == len(secret) {
		return n
	}
	if more := strings.IndexAny(text[n:], " \t\r\n\"'"); more >= 0 {
		return n + more
	}
	return len(text)
}

// word reports whether a part of a text is a word by itself.
func word(text string, at, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+n:])
	inside := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
	return !inside(before) && !inside(after)
}

// sent keeps the secrets of a request: those of its headers, and the members of
// its body that are secret by their names.
func (c *Cloud) sent(r *http.Request, body []byte) {
	for name, values := range r.Header {
		for _, v := range values {
			if redactHeader(name, v) != redacted {
				continue
			}
			c.conceal(v)
			if _, rest, ok := strings.Cut(v, " "); ok && strings.HasSuffix(name, "Authorization") {
				c.conceal(rest)
				if pair, err := base64.StdEncoding.DecodeString(rest); err == nil {
					_, password, _ := strings.Cut(string(pair), ":")
					c.conceal(password)
				}
			}
		}
	}
	if password, ok := r.URL.User.Password(); ok {
		c.conceal(password)
	}
	if len(body) == 0 {
		return
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" {
		form, _ := url.ParseQuery(string(body))
		for name, values := range form {
			if secretParameter(name) || name == "code" {
				c.conceal(values...)
			}
		}
		return
	}
	c.conceal(secretMembers(r.URL.Path, body)...)
}

// secretMembers are the texts and numbers of a document that are secret by the
// names that lead to them, and the passwords in its addresses.
func secretMembers(path string, body []byte) []string {
	var found []string
	// What is no JSON has no members, and half of it half of them.
	_ = eachToken(body, func(names []string, token jsontext.Token) error {
		switch {
		case names == nil || token.Kind() != '"' && token.Kind() != '0':
		case secretAt(path, names):
			found = append(found, token.String())
		case strings.Contains(token.String(), "://"):
			if u, err := url.Parse(token.String()); err == nil {
				if password, ok := u.User.Password(); ok {
					found = append(found, password)
				}
			}
		}
		return nil
	})
	return found
}

// conceal keeps texts from being shown. One that also names the user or another
// part of the identity is no secret by itself: to hide it would tell that it is one.
func (c *Cloud) conceal(texts ...string) {
	for _, text := range texts {
		open := false
		for _, v := range c.settings.values {
			open = open || !v.Secret && v.Value == text
		}
		if !open {
			c.secret.add(text)
		}
	}
}

// concealSettings keeps the secret settings from being shown.
func (c *Cloud) concealSettings() {
	for _, v := range c.settings.values {
		if v.Secret {
			c.conceal(v.Value)
		} else if u, err := url.Parse(v.Value); err == nil {
			if password, ok := u.User.Password(); ok {
				c.conceal(password)
			}
		}
	}
}

// Mask hides in a text of a service what the session sent as a secret: its
// password, its token, and the secrets in the requests of the command.
func (c *Cloud) Mask(text string) string { return c.secret.mask(text) }

// masked is an error whose text quoted a secret.
type masked struct {
	text string
	err  error
}

func (e *masked) Error() string { return e.text }
func (e *masked) Unwrap() error { return e.err }

// masked hides secrets in an error that may quote what a service sent.
func (c *Cloud) masked(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if hidden := c.Mask(text); hidden != text {
		return &masked{hidden, err}
	}
	return err
}
