package cloud_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

const (
	echoedPassword = `hush "it's" <mé>&you/42`
	echoedToken    = "gAAAAABm0123456789abcdefghijklmnopqrstuvwxyz_-0123456789"
	echoedMember   = "new-Passw0rd!"
)

// echoing is a cloud whose Keystone issues echoedToken, and whose compute service
// answers with what a function makes.
func echoing(answer http.HandlerFunc) *fake {
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.HandleFunc("POST /identity/v3/auth/tokens", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Subject-Token", echoedToken)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"token":{"user":{"name":"anna"},"catalog":[{"type":"compute","endpoints":[{"interface":"public","url":"http://cloud.test/here"}]}]}}`)
	})
	f.HandleFunc("/here/", answer)
	return f
}

// leaks are the secrets that a text gives away, in any form.
func leaks(text string) []string {
	var found []string
	for _, secret := range []string{echoedPassword, html.EscapeString(echoedPassword), url.QueryEscape(echoedPassword), `hush \"it's\"`, "hush", echoedToken[:20], echoedMember} {
		if strings.Contains(text, secret) {
			found = append(found, secret)
		}
	}
	return found
}

func TestWhatAServiceQuotesOfASecretIsNotShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom([]string{echoedPassword, echoedToken, echoedMember}).Draw(t, "secret")
		form := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s },
			html.EscapeString,
			url.QueryEscape,
			url.PathEscape,
			func(s string) string { b, _ := json.Marshal(s); return string(b) },
		}).Draw(t, "form")
		said := strings.Repeat("words ", rapid.IntRange(0, 170).Draw(t, "words")) + rapid.SampledFrom([]string{"", "'", `"`, "token="}).Draw(t, "before") + form(secret) + " is wrong"
		if rapid.Bool().Draw(t, "cut") && secret == echoedToken {
			said = said[:len(said)-rapid.IntRange(0, 30).Draw(t, "lost")]
		}
		shape := rapid.SampledFrom([]string{`{"badRequest":{"message":%s}}`, `{"NeutronError":{"type":"X","message":%s}}`, `{"error":{"message":%s}}`, `{"errors":[{"detail":%s}]}`, `{"%[2]s":{"message":%[1]s}}`, "html", "text"}).Draw(t, "shape")
		quoted, _ := json.Marshal(said)
		kind, body := "application/json", ""
		switch shape {
		case "html":
			kind, body = "text/html", "<html><body><h1>Bad</h1><p>"+html.EscapeString(said)+"</p></body></html>"
		case "text":
			kind, body = "text/plain", said
		case `{"%[2]s":{"message":%[1]s}}`:
			name, _ := json.Marshal(secret)
			body = fmt.Sprintf(shape, quoted, name[1:len(name)-1])
		default:
			body = fmt.Sprintf(shape, quoted)
		}
		f := echoing(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header()["X-Openstack-Request-Id"] = []string{form(secret)}
			w.WriteHeader(rapid.SampledFrom([]int{400, 403, 406, 409, 500}).Draw(t, "status"))
			_, _ = io.WriteString(w, body)
		})
		streams, _, _, errs := iostreams.Test()
		c := f.open(openrc("OS_DEBUG", "on", "OS_PASSWORD", echoedPassword), func(o *cloud.Options) { o.Streams = streams })
		s, err := c.Service(t.Context(), "compute")
		if err != nil {
			t.Fatal(err)
		}

		err = s.Do(t.Context(), cloud.Request{Method: "POST", Path: "/servers", Body: object{"server": object{"adminPass": echoedMember, "name": "x"}}})

		var fault *cloud.Fault
		if !errors.As(err, &fault) {
			t.Fatal(err)
		}
		if found := leaks(err.Error() + fault.Code + fault.Message + errs.String()); len(found) > 0 {
			t.Fatalf("shows %q:\n%v\n%+v\n%s", found, err, fault, errs)
		}
	})
}

func TestWhatIsNoAnswerQuotesNoSecret(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a time": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"at":%q}`, echoedToken)
		},
		"a content type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/"+echoedToken)
			_, _ = io.WriteString(w, "<")
		},
		"a redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://[::1/"+echoedToken)
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := echoing(answer).open(openrc())
			var into timed

			err := service(t, c, "compute").Do(t.Context(), cloud.Request{Path: "/servers", Into: &into})

			if wants(t, err, "<redacted>"); len(leaks(err.Error())) > 0 {
				t.Error(err)
			}
		})
	}
}

// timed is a document whose reading fails with what it holds.
type timed struct{ At quoting }

type quoting struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (*quoting) UnmarshalJSON(b []byte) error { return fmt.Errorf("%s is no time", b) }

func TestEverySecretOfTheSessionIsHidden(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"an application credential": {"OS_APPLICATION_CREDENTIAL_ID", "a", "OS_APPLICATION_CREDENTIAL_SECRET", "hush-hush"},
		"a passcode":                {"OS_PASSCODE", "hush-hush"},
		"a token":                   {"OS_TOKEN", "hush-hush", "OS_USERNAME", "", "OS_PASSWORD", "", "OS_AUTH_TYPE", "token"},
		"a short password":          {"OS_PASSWORD", "hush"},
		"a word":                    {"OS_PASSWORD", "hushhush"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.ServeMux = http.NewServeMux()
			f.HandleFunc("POST /identity/v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write(fmt.Appendf(nil, `{"error":{"message":%q}}`, "you sent "+string(text)))
			})

			_, err := f.open(openrc(env...)).Token(t.Context())

			if wants(t, err, "<redacted>"); strings.Contains(err.Error(), "hush") {
				t.Error(err)
			}
		})
	}
}

func TestAWordThatNamesTheUserTooIsShown(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/", 403, `{"forbidden":{"message":"not for anna"}}`)

	err := service(t, f.open(openrc("OS_PASSWORD", "anna")), "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

	wants(t, err, "not for anna")
}

func TestASecretAmongOtherWordsIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("/compute/", 400, `{"badRequest":{"message":"the secretary of cat category has a cat"}}`)
	c := f.open(openrc("OS_PASSWORD", "cat", "OS_TOKEN", "secret"))

	err := service(t, c, "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

	wants(t, err, "the secretary of <redacted> category has a <redacted>")
}

func TestAPasswordThatLooksLikeAnAliasIsNotShown(t *testing.T) {
	t.Parallel()
	c := configured(t, map[string]string{".config/openstack/clouds.yaml": "clouds:\n  one:\n    auth:\n      password: *hush-hush\n"}, nil, "cloud", "one")

	_, err := c.Settings(t.Context())

	if wants(t, err, "put it in quotes"); strings.Contains(err.Error(), "hush-hush") {
		t.Error(err)
	}
}

// A gateway puts what a service said into a page, and may not know that it is one.
func TestASecretThatWasEscapedTwiceIsNotShown(t *testing.T) {
	t.Parallel()
	inJSON := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for _, quote := range []func(string) string{
		func(s string) string { return html.EscapeString(html.EscapeString(s)) },
		func(s string) string { return html.EscapeString(inJSON(s)) },
		func(s string) string { return html.EscapeString(url.PathEscape(s)) },
		func(s string) string { return inJSON(html.EscapeString(s)) },
		func(s string) string { return inJSON(inJSON(s)) },
	} {
		f := echoing(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html><body><p>"+quote(echoedPassword)+" is wrong</p></body></html>")
		})
		streams, _, _, errs := iostreams.Test()
		c := f.open(openrc("OS_DEBUG", "on", "OS_PASSWORD", echoedPassword), func(o *cloud.Options) { o.Streams = streams })

		err := service(t, c, "compute").Do(t.Context(), cloud.Request{Method: "POST", Path: "/servers"})

		if text := fmt.Sprint(err) + errs.String(); err == nil || len(leaks(text)) > 0 || !strings.Contains(text, "<redacted>") {
			t.Errorf("%s", text)
		}
	}
}
