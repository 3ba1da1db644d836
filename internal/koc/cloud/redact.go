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
	return strings.Join(parts, "&")
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
	// Not JSON, or a part of it: a value may lack its end.
	quoted := regexp.MustCompile(`(?s)"((?:[^"\\]|\\.)*)"(\s*:\s*)("(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s,\[\]{}"]+)`)
	text := quoted.ReplaceAllStringFunc(string(body), func(m string) string {
		part := quoted.FindStringSubmatch(m)
		if name := unescaped(part[1]); secretAt(path, []string{name}) || secretAt(path, []string{"driver_info", name}) || secretAt(path, []string{"token", name}) {
			return `"` + part[1] + `"` + part[2] + `"` + redacted + `"`
		}
		return m
	})
	return redactURLs(text)
}

// unescaped is the name that the inside of a JSON string spells.
func unescaped(inside string) string {
	if plain, err := jsontext.AppendUnquote(nil, `"`+inside+`"`); err == nil {
		return string(plain)
	}
	return inside
}

var errNoJSON = errors.New("no JSON")

func redactJSON(path string, body []byte, pretty bool) (string, error) {
	in := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var out bytes.Buffer
	options := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	if pretty {
		options = append(options, jsontext.WithIndent("  "))
	}
	e := jsontext.NewEncoder(&out, options...)
	var names []string // of the members around the value; "" for the items of a list
	for values := 0; ; {
		kind, n := in.StackIndex(in.StackDepth())
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) && values > 0 && in.StackDepth() == 0 {
			return strings.TrimRight(out.String(), "\n"), nil
		}
		if err != nil {
			return "", errNoJSON
		}
		values++
		isName := kind == '{' && n%2 == 0 && token.Kind() == '"'
		switch token.Kind() {
		case '{', '[':
			names = append(names, "")
			if token.Kind() == '[' && len(names) > 1 {
				names[len(names)-1] = names[len(names)-2] // the items of a secret are secret
			}
		case '}', ']':
			names = names[:len(names)-1]
		case '"', '0', 't', 'f':
			switch {
			case isName:
				names[len(names)-1] = token.String()
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
		if err := e.WriteToken(token); err != nil {
			return "", errNoJSON
		}
	}
}

// redactURLs removes what signs the addresses in a text.
func redactURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = regexp.MustCompile(`://([^/\s:@"]*):[^/\s@"]*@`).ReplaceAllString(text, "://$1:redacted@")
	return regexp.MustCompile(`([?&;])([A-Za-z0-9_.%-]+)=([^&\s"'<>]*)`).ReplaceAllStringFunc(text, func(m string) string {
		name, _, _ := strings.Cut(m[1:], "=")
		if secretParameter(name) {
			return m[:1] + name + "=redacted"
		}
		return m
	})
}
