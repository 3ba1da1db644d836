package cloud

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Fault is the refusal of a service: an answer with a status that is an error.
type Fault struct { //nolint:errname // the word of the services for it
	Service   string // type of the service: "compute"
	Method    string
	URL       string
	Status    int
	Code      string // name of the fault in the answer: itemNotFound, PortInUse
	Message   string // the sentence of the service
	RequestID string // x-openstack-request-id
	Header    http.Header

	hint string // what to do
}

// Error is the sentence of the service, else the name of the status, then the
// status and the id of the request.
func (f *Fault) Error() string {
	var b strings.Builder
	text := strings.TrimRight(f.Message, ". ")
	if text == "" {
		text = strings.ToLower(http.StatusText(f.Status))
		if text == "" {
			text = "refused"
		}
		if f.Service != "" {
			text = "the " + f.Service + " service says: " + text
		}
	}
	b.WriteString(text)
	fmt.Fprintf(&b, " (%d", f.Status)
	if f.RequestID != "" {
		b.WriteString(", request " + f.RequestID)
	}
	b.WriteString(")")
	if f.hint != "" {
		b.WriteString("; " + f.hint)
	}
	return b.String()
}

const (
	maxFault    = 1 << 20 // bytes of a refusal that are read
	maxSentence = 1000    // runes of it that are shown
)

// fault reads a refusal.
func (a *answer) fault() *Fault {
	defer a.close()
	// What can be read of a refusal is enough.
	body, _ := io.ReadAll(io.LimitReader(a.body, maxFault))
	mask := a.cloud.Mask
	f := parseFault(a.status, a.header.Get("Content-Type"), body, mask)
	f.Service, f.Method, f.URL, f.Header = a.call.service, a.call.method, a.call.url, a.header
	for _, name := range []string{"X-Openstack-Request-Id", "X-Compute-Request-Id", "X-Request-Id"} {
		if f.RequestID == "" {
			f.RequestID = mask(printable(a.header.Get(name)))
		}
	}
	if wait, ok := retryAfter(a.header.Get("Retry-After")); ok && wait > 0 {
		if f.hint = "try again in " + wait.Round(time.Second).String(); wait > 24*time.Hour {
			f.hint = "it asks to wait for more than a day" // by mistake, most likely
		}
	}
	return f
}

// parseFault finds the sentence in the document of a refusal. Each service has
// its own kind:
//
//	compute, volume   {"itemNotFound": {"message": "…"}}
//	network           {"NeutronError": {"type": "PortInUse", "message": "…"}}
//	identity          {"error": {"message": "…"}}
//	baremetal         {"error_message": "{\"faultstring\": \"…\"}"}
//	load-balancer     {"faultcode": "Client", "faultstring": "…"}
//	dns               {"type": "zone_not_found", "message": "…", "errors": …}
//	placement         {"errors": [{"detail": "…", "code": "…"}]}
//	key-manager       {"title": "…", "description": "…"}
//	image, proxies    HTML or plain text
//
// A service may quote what it was sent: mask hides what of it is secret.
func parseFault(status int, kind string, body []byte, mask func(string) string) *Fault {
	f := &Fault{Status: status}
	var document any
	if json.Unmarshal(body, &document) == nil {
		f.Code, f.Message = sentence(document, 0)
	} else if !strings.Contains(kind, "octet-stream") {
		f.Message = string(body)
	}
	f.Message = mask(f.Message) // as it came, since a secret may look like markup
	if strings.ContainsRune(strings.ReplaceAll(f.Message, redacted, ""), '<') {
		f.Message = plain(strings.ReplaceAll(f.Message, redacted, html.EscapeString(redacted)))
	}
	f.Code = mask(printable(f.Code))
	f.Message = mask(withoutStatus(printable(f.Message), status)) // before it is cut: half a secret is not known again
	if runes := []rune(f.Message); len(runes) > maxSentence {
		f.Message = string(runes[:maxSentence]) + "…"
	}
	return f
}

// sentence finds the code and the message in the JSON of a refusal.
func sentence(v any, depth int) (code, message string) {
	if depth > 6 {
		return "", ""
	}
	switch v := v.(type) {
	case string:
		var inner any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
			return sentence(inner, depth+1)
		}
		return "", v
	case []any:
		var all []string
		for _, item := range v {
			c, m := sentence(item, depth+1)
			if m != "" {
				all = append(all, m)
			}
			if code == "" {
				code = c
			}
		}
		return code, strings.Join(all, "; ")
	case map[string]any:
		return sentenceOf(v, depth)
	}
	return "", ""
}

func sentenceOf(v map[string]any, depth int) (code, message string) {
	for _, name := range []string{"type", "faultcode", "code", "error"} {
		if s, ok := v[name].(string); ok && code == "" && !strings.Contains(s, " ") {
			code = s
		}
	}
	if inner, ok := v["error"].(map[string]any); ok {
		if c, m := sentence(inner, depth+1); m != "" {
			return c, m
		}
	}
	for _, name := range []string{"message", "faultstring", "detail", "description", "explanation", "error_description"} {
		if s, ok := v[name].(string); ok && s != "" {
			if d, ok := v["detail"].(string); ok && name == "message" && d != "" && d != s {
				s = strings.TrimRight(s, ". ") + ": " + d
			}
			_, message = sentence(s, depth+1)
			break
		}
	}
	if message == "" {
		message = details(v["errors"])
	}
	for _, name := range []string{"error_message", "error", "errors", "failures"} {
		if inner, ok := v[name]; ok && message == "" {
			c, m := sentence(inner, depth+1)
			if message = m; code == "" {
				code = c
			}
		}
	}
	if message == "" {
		message, _ = v["title"].(string)
	}
	if message == "" && len(v) == 1 {
		for name, inner := range v {
			c, m := sentence(inner, depth+1)
			if c == "" {
				c = name
			}
			return c, m
		}
	}
	return code, message
}

// details reads what the DNS service says of an object that is not valid.
func details(v any) string {
	in, _ := v.(map[string]any)
	list, _ := in["errors"].([]any)
	var all []string
	for _, item := range list {
		e, _ := item.(map[string]any)
		m, _ := e["message"].(string)
		path, _ := e["path"].([]any)
		var where []string
		for _, p := range path {
			where = append(where, fmt.Sprint(p))
		}
		if m != "" {
			all = append(all, strings.TrimPrefix(strings.Join(where, ".")+": "+m, ": "))
		}
	}
	return strings.Join(all, "; ")
}

// plain is the text of an HTML document.
func plain(document string) string {
	// Compiled here: most runs meet no HTML, and none meets much of it.
	hidden := regexp.MustCompile(`(?is)<(head|style|script|title)\b.*?</(head|style|script|title)\s*>|<!--.*?-->`)
	tags := regexp.MustCompile(`</?[a-zA-Z!][^<>]*>`)
	text := tags.ReplaceAllString(hidden.ReplaceAllString(document, " "), " ")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&#x27;", "'", "&nbsp;", " ", "&amp;", "&").Replace(text)
}

// printable is one line without what a terminal obeys.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// withoutStatus cuts off what only repeats the status at the beginning of a sentence.
func withoutStatus(text string, status int) string {
	name := http.StatusText(status)
	for _, p := range []string{
		fmt.Sprintf("%d %s", status, name), strconv.Itoa(status), name,
		"The resource could not be found.", "Access was denied to this resource.", "There was a conflict when trying to complete your request.",
		"The server could not comply with the request since it is either malformed or otherwise incorrect.",
	} {
		rest, ok := strings.CutPrefix(text, p)
		if !ok || p == "" {
			continue
		}
		if rest = strings.TrimLeft(rest, " :."); rest != "" {
			return rest
		}
	}
	return strings.TrimPrefix(text, fmt.Sprintf("%d %s", status, name))
}
