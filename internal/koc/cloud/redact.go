package cloud

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// redacted stands for what is secret.
const redacted = "<redacted>"

func redactHeader(name, value string) string {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-Vault-Token", "X-Storage-Token", "X-Amz-Security-Token",
		"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie":
		return redacted
	}
	if strings.HasPrefix(name, "X-Openstack-Request-") && name != "X-Openstack-Request-Id" || secretName(strings.ToLower(name)) {
		return redacted
	}
	if strings.Contains(value, "://") {
		return redactURLs(value)
	}
	return value
}

// redactURL is an address without password and signatures.
func redactURL(u *url.URL) string {
	shown := *u
	if shown.User != nil {
		if _, has := shown.User.Password(); has {
			shown.User = url.UserPassword(shown.User.Username(), "redacted")
		}
	}
	if shown.RawQuery != "" {
		shown.RawQuery = redactQuery(shown.RawQuery)
	}
	return shown.String()
}

func redactQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, _, ok := strings.Cut(p, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		if ok && secretParameter(plain) {
			parts[i] = name + "=redacted"
		}
	}
	return redactInner(strings.Join(parts, "&"))
}

var innerParameter = regexp.MustCompile(`(?i)(%3F|%26)([A-Za-z0-9_.-]+)%3D([^&%#\s"'<>]*)`)

// redactInner removes what signs an address inside of a parameter, as that of a
// console is: path=%3Ftoken%3D…
func redactInner(text string) string {
	return innerParameter.ReplaceAllStringFunc(text, func(m string) string {
		sub := innerParameter.FindStringSubmatch(m)
		if secretParameter(sub[2]) {
			return strings.TrimSuffix(m, sub[3]) + "redacted"
		}
		return m
	})
}

func secretParameter(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "x-amz-signature", "x-amz-credential", "x-amz-security-token", "signature", "temp_url_sig", "code", "sig":
		return true
	}
	return name == "token" || strings.HasSuffix(name, "_token") || secretName(name)
}

// secretName reports whether the value of a name is a secret wherever it stands.
func secretName(name string) bool {
	name = name[strings.LastIndexByte(name, ':')+1:] // OS-EXT-SRV-ATTR:user_data
	name = strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
	switch name {
	case "passcode", "secretid", "roleid", "token", "blob", "userdata", "authkey", "devicecode", "accesskey", "assertion",
		"accesstoken", "refreshtoken", "idtoken", "clienttoken", "authtoken", "sessiontoken", "clientassertion", "oauthtoken":
		return true
	}
	for _, end := range []string{"password", "passwd", "passphrase", "adminpass", "secret", "secretkey", "privatekey", "credential"} {
		if strings.HasSuffix(name, end) {
			// What is asked for: {"credential": {…}} is no text, and its parts have names of their own.
			return true
		}
	}
	return false
}

// secretAt reports whether a scalar is a secret by the names that lead to it.
func secretAt(path string, names []string) bool {
	if len(names) == 0 {
		return false
	}
	name := strings.ToLower(names[len(names)-1])
	if secretName(name) {
		return true
	}
	parent := ""
	if len(names) > 1 {
		parent = strings.ToLower(names[len(names)-2])
	}
	switch {
	case parent == "token" && name == "id":
		return true
	case parent == "driver_info" || parent == "driver_internal_info":
		return strings.HasSuffix(name, "token") || strings.HasSuffix(name, "key") || strings.HasSuffix(name, "priv")
	case name == "key" && strings.Contains(path, "/zones/tasks/transfer"):
		return true
	}
	return false
}

// redactBody is a body without the secrets in it: the members of JSON that are
// secret by their names, and signed addresses.
func redactBody(path string, body []byte, pretty bool) string {
	if text, err := redactJSON(path, body, pretty); err == nil {
		return text
	}
	return redactURLs(redactText(path, string(body)))
}

// redactText finds members in what is no JSON, or only a part of it, or JSON inside
// of strings inside of JSON: every quote may begin a name, whatever escapes it. It
// rather hides too much.
func redactText(path, text string) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '"' && text[i] != '\'' {
			continue
		}
		end := closing(text, i)
		if end < 0 {
			continue
		}
		colon := end + 1 + spaces(text[end+1:])
		if colon >= len(text) || text[colon] != ':' {
			continue
		}
		name := unescaped(text[i+1 : end])
		if !secretAt(path, []string{name}) && !secretAt(path, []string{"driver_info", name}) && !secretAt(path, []string{"token", name}) {
			continue
		}
		from := colon + 1 + spaces(text[colon+1:])
		to := valueEnd(text, from)
		if to == from {
			continue
		}
		out.WriteString(text[done:from] + `"` + redacted + `"`)
		done, i = to, to-1
	}
	out.WriteString(text[done:])
	return out.String()
}

func spaces(text string) int { return len(text) - len(strings.TrimLeft(text, " \t\r\n")) }

// closing is where the quote is that ends the string which begins at a quote: the
// next of its kind that is not escaped more often. It is -1 when there is none.
func closing(text string, open int) int {
	escapes := escapesBefore(text, open)
	for i := open + 1; i < len(text); i++ {
		if text[i] == text[open] && escapesBefore(text[open+1:i], i-open-1) <= escapes {
			return i
		}
	}
	return -1
}

func escapesBefore(text string, at int) int {
	n := 0
	for n < at && text[at-1-n] == '\\' {
		n++
	}
	return n
}

// valueEnd is where a value ends, the end of the text when it does not.
func valueEnd(text string, from int) int {
	rest := text[from:]
	quote := strings.TrimLeft(rest, `\`)
	switch {
	case rest == "" || rest[0] == '{':
		return from
	case rest[0] == '[':
		if n := strings.IndexByte(rest, ']'); n >= 0 {
			return from + n + 1
		}
		return len(text)
	case quote != "" && (quote[0] == '"' || quote[0] == '\''):
		if end := closing(text, len(text)-len(quote)); end >= 0 {
			return end + 1
		}
		return len(text)
	}
	if n := strings.IndexAny(rest, " \t\r\n,]}\"'"); n >= 0 {
		return from + n
	}
	return len(text)
}

// unescaped is the name that the inside of a string spells, however often it was escaped.
func unescaped(inside string) string {
	inside = strings.TrimRight(inside, `\`)
	for strings.Contains(inside, `\\`) {
		inside = strings.ReplaceAll(inside, `\\`, `\`)
	}
	if plain, err := jsontext.AppendUnquote(nil, `"`+inside+`"`); err == nil {
		return string(plain)
	}
	return inside
}

var errNoJSON = errors.New("no JSON")

func redactJSON(path string, body []byte, pretty bool) (string, error) {
	var out bytes.Buffer
	options := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	if pretty {
		options = append(options, jsontext.WithIndent("  "))
	}
	e := jsontext.NewEncoder(&out, options...)
	err := eachToken(body, func(names []string, token jsontext.Token) error {
		switch token.Kind() { //nolint:exhaustive // null is nothing
		case '"', '0', 't', 'f':
			switch {
			case names == nil:
			case secretAt(path, names):
				token = jsontext.String(redacted)
			case token.Kind() == '"':
				if s := token.String(); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
					token = jsontext.String(redactBody(path, []byte(s), false))
				} else if r := redactURLs(s); r != s {
					token = jsontext.String(r)
				}
			}
		}
		return e.WriteToken(token)
	})
	if err != nil {
		return "", errNoJSON
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// eachToken reads JSON. names are those of the members around a value, "" for the
// items of a list, and nil with a name.
func eachToken(body []byte, visit func(names []string, token jsontext.Token) error) error {
	in := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	names := []string{}
	for values := 0; ; values++ {
		kind, n := in.StackIndex(in.StackDepth())
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) && values > 0 && in.StackDepth() == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		around := names
		switch token.Kind() { //nolint:exhaustive // the rest leaves the names alone
		case '{', '[':
			names = append(names, "")
			if token.Kind() == '[' && len(names) > 1 {
				names[len(names)-1] = names[len(names)-2] // the items of a secret are secret
			}
		case '}', ']':
			names = names[:len(names)-1]
		case '"':
			if kind == '{' && n%2 == 0 {
				names[len(names)-1] = token.String()
				around = nil
			}
		}
		if err := visit(around, token); err != nil {
			return err
		}
	}
}

// redactURLs removes what signs the addresses in a text.
func redactURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = regexp.MustCompile(`://([^/\s:@"]*):[^/\s@"]*@`).ReplaceAllString(text, "://$1:redacted@")
	return redactInner(regexp.MustCompile(`([?&;])([A-Za-z0-9_.%-]+)=([^&\s"'<>]*)`).ReplaceAllStringFunc(text, func(m string) string {
		name, _, _ := strings.Cut(m[1:], "=")
		if secretParameter(name) {
			return m[:1] + name + "=redacted"
		}
		return m
	}))
}
