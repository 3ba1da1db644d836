package openid_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/om/openid"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

const issuer = "https://login.example.com/realm"

// provider is a provider without a network.
type provider struct {
	t *testing.T

	mu       sync.Mutex
	document map[string]any
	answers  []reply                   // of the token endpoint, the last one again and again
	asked    []url.Values              // of it
	at       []time.Time               // when
	redeem   func(url.Values) reply    // in place of answers
	device   map[string]any            // of the device endpoint
	broken   error                     // of every request but discovery
	page     func(http.ResponseWriter) // in place of discovery
}

type reply struct {
	status int
	body   map[string]any
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	return &provider{t: t, document: map[string]any{
		"issuer": "https://login.example.com", "authorization_endpoint": issuer + "/auth?theme=dark", "token_endpoint": issuer + "/token",
		"device_authorization_endpoint": issuer + "/device", "scopes_supported": []string{"openid", "offline_access"},
	}, device: map[string]any{
		"device_code": "dev1", "user_code": "BCDF-GHJK", "verification_uri": issuer + "/type", "expires_in": 600, "interval": 5,
	}}
}

// RoundTrip implements http.RoundTripper.
func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := httptest.NewRecorder()
	if r.URL.Path == "/realm/.well-known/openid-configuration" {
		if p.page != nil {
			p.page(w)
		} else {
			p.write(w, reply{200, p.document})
		}
		return answer(w, r), nil
	}
	if p.broken != nil {
		return nil, p.broken
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(data))
	if err != nil || r.Method != http.MethodPost {
		p.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	switch r.URL.Path {
	case "/realm/device":
		p.write(w, reply{200, p.device})
	case "/realm/token":
		p.asked, p.at = append(p.asked, form), append(p.at, time.Now())
		if p.redeem != nil {
			p.write(w, p.redeem(form))
			break
		}
		p.write(w, p.answers[0])
		if len(p.answers) > 1 {
			p.answers = p.answers[1:]
		}
	default:
		p.t.Errorf("asked for %s", r.URL)
	}
	return answer(w, r), nil
}

func answer(w *httptest.ResponseRecorder, r *http.Request) *http.Response {
	response := w.Result()
	response.Request = r
	return response
}

func (p *provider) write(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	if err := json.NewEncoder(w).Encode(r.body); err != nil {
		p.t.Error(err)
	}
}

func (p *provider) discover(t *testing.T) *openid.Provider {
	t.Helper()
	found, err := openid.Discover(t.Context(), p, openid.Settings{Issuer: issuer + "/", ClientID: "om3"})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// token makes a token nobody signed: who has it made does not look.
func token(t *testing.T, claims map[string]any) string {
	t.Helper()
	data, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"ES256"}`)) + "." + encode(data) + "." + encode([]byte("signature"))
}

const end = 1900000000

func claims(more map[string]any) map[string]any {
	c := map[string]any{"sub": "alice", "aud": []string{"account", "om3"}, "exp": end}
	maps.Copy(c, more)
	return c
}

func granted(t *testing.T, more map[string]any) reply {
	t.Helper()
	return reply{200, map[string]any{"access_token": "opaque", "id_token": token(t, claims(more)), "refresh_token": "refresh1", "expires_in": 300}}
}

func refused(code string) reply {
	return reply{400, map[string]any{"error": code, "error_description": "because " + code}}
}

// visit is what the provider has the browser do in the end.
func visit(ctx context.Context, t *testing.T, back string, query url.Values) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, back+"?"+query.Encode(), nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// browse logs in, the browser being what person makes of the page.
func browse(t *testing.T, p *provider, person func(page url.Values) []url.Values) (openid.Grant, []string, error) {
	t.Helper()
	var said []string
	var wait sync.WaitGroup
	grant, err := p.discover(t).Browser(t.Context(), func(page string) {
		u, err := url.Parse(page)
		if err != nil || !strings.HasPrefix(page, issuer+"/auth?") || u.Query().Get("theme") != "dark" {
			t.Errorf("page %s, %v", page, err)
			return
		}
		wait.Go(func() {
			for _, answer := range person(u.Query()) {
				said = append(said, visit(t.Context(), t, u.Query().Get("redirect_uri"), answer))
			}
		})
	})
	wait.Wait()
	return grant, said, err
}

func TestALoginInABrowserProvesThatItIsOurs(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var page url.Values
	p.redeem = func(form url.Values) reply {
		challenge := sha256.Sum256([]byte(form.Get("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(challenge[:]) != page.Get("code_challenge") {
			return refused("invalid_grant")
		}
		return granted(t, map[string]any{"nonce": page.Get("nonce")})
	}

	got, said, err := browse(t, p, func(q url.Values) []url.Values {
		page = q
		return []url.Values{
			{"state": {"guessed"}, "code": {"theirs"}},
			{"code": {"theirs"}},
			{"state": {q.Get("state")}, "code": {"code1"}, "iss": {"https://login.example.com"}},
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if got.Token.Reveal() != token(t, claims(map[string]any{"nonce": page.Get("nonce")})) || got.Refresh.Reveal() != "refresh1" ||
		got.Subject != "alice" || !got.End.Equal(time.Unix(end, 0)) || !got.RefreshEnd.IsZero() {
		t.Errorf("%+v", got)
	}
	form := p.asked[0]
	form.Del("code_verifier")
	if diff := cmp.Diff(url.Values{
		"grant_type": {"authorization_code"}, "code": {"code1"}, "client_id": {"om3"}, "redirect_uri": {page.Get("redirect_uri")},
	}, form); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"This is not the answer to a login.\n", "This is not the answer to a login.\n", "The login goes on in the terminal. You may close this page.\n"}, said); diff != "" {
		t.Error(diff)
	}
	if page.Get("scope") != "openid offline_access" || page.Get("code_challenge_method") != "S256" || page.Get("response_type") != "code" || page.Get("client_id") != "om3" {
		t.Errorf("%v", page)
	}
}

func TestALoginInABrowserFailsInItsOwnWords(t *testing.T) {
	t.Parallel()
	code := func(q url.Values) []url.Values { return []url.Values{{"state": {q.Get("state")}, "code": {"code1"}}} }
	for name, c := range map[string]struct {
		person func(url.Values) []url.Values
		reply  func(t *testing.T) reply
		want   string
	}{
		"refused by the person": {
			person: func(q url.Values) []url.Values {
				return []url.Values{{"state": {q.Get("state")}, "error": {"access_denied"}, "error_description": {"no thanks"}}}
			},
			want: "the provider answers access_denied: no thanks",
		},
		"no code": {
			person: func(q url.Values) []url.Values { return []url.Values{{"state": {q.Get("state")}}} },
			want:   "without a code",
		},
		"another provider": {
			person: func(q url.Values) []url.Values {
				return []url.Values{{"state": {q.Get("state")}, "code": {"code1"}, "iss": {"https://evil.example.com"}}}
			},
			want: "another provider answered the login: https://evil.example.com",
		},
		"a secret is asked for": {
			person: code, reply: func(*testing.T) reply { return refused("invalid_client") },
			want: "because invalid_client\nclient om3 must be a public one at the provider",
		},
		"a token of another login": {
			person: code, reply: func(t *testing.T) reply { return granted(t, map[string]any{"nonce": "old"}) }, //nolint:thelper // not a helper
			want: "not the answer to this login",
		},
		"a token for somebody else": {
			person: code, reply: func(t *testing.T) reply { return granted(t, map[string]any{"aud": "wiki"}) }, //nolint:thelper // not a helper
			want: "none of the tokens of the provider is for client om3",
		},
		"a page of errors": {
			person: code, reply: func(*testing.T) reply { return reply{502, nil} },
			want: "the provider answers 502",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			if c.reply != nil {
				p.answers = []reply{c.reply(t)}
			}

			_, _, err := browse(t, p, c.person)

			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestALoginInABrowserEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())

	_, err := newProvider(t).discover(t).Browser(ctx, func(string) { cancel() })

	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestADeviceIsAskedForAtThePaceOfTheProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		p.answers = []reply{refused("authorization_pending"), refused("slow_down"), refused("authorization_pending"), {503, nil}, granted(t, nil)}
		var code openid.Code
		start := time.Now()

		got, err := p.discover(t).Device(t.Context(), func(c openid.Code) { code = c })
		if err != nil {
			t.Fatal(err)
		}

		if got.Subject != "alice" || code.Page != issuer+"/type" || code.Text != "BCDF-GHJK" || code.Full != "" || !code.End.Equal(start.Add(10*time.Minute)) {
			t.Errorf("%+v, %+v", got, code)
		}
		var at []time.Duration
		for _, asked := range p.at {
			at = append(at, asked.Sub(start))
		}
		if diff := cmp.Diff([]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 50 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {"dev1"}, "client_id": {"om3"},
		}, p.asked[0]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestADeviceThatNobodyAllowsEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply reply
		lost  error
		after time.Duration
		want  string
	}{
		"denied":          {reply: refused("access_denied"), after: 5 * time.Second, want: "the provider answers access_denied: because access_denied"},
		"expired":         {reply: refused("expired_token"), after: 5 * time.Second, want: "the provider answers expired_token: because expired_token"},
		"nobody":          {reply: refused("authorization_pending"), after: 10 * time.Minute, want: "nobody typed the code within 10m0s"},
		"always too fast": {reply: refused("slow_down"), after: 10 * time.Minute, want: "nobody typed the code within 10m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t)
				p.answers = []reply{c.reply}
				start := time.Now()

				_, err := p.discover(t).Device(t.Context(), func(openid.Code) {})

				if err == nil || err.Error() != c.want || time.Since(start) != c.after {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t)
		p.answers = []reply{refused("authorization_pending")}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		if _, err := p.discover(t).Device(ctx, func(openid.Code) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestAProviderThatCannotBeTrustedIsNotTalkedTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		issuer string
		change func(*provider)
		want   string
	}{
		"in clear":          {issuer: "http://login.example.com/realm", want: "http://login.example.com/realm/.well-known/openid-configuration: not an https address"},
		"no address":        {issuer: "login", want: "not an https address"},
		"tokens in clear":   {change: func(p *provider) { p.document["token_endpoint"] = "http://login.example.com/token" }, want: "http://login.example.com/token: not an https address"},
		"pages elsewhere":   {change: func(p *provider) { p.document["authorization_endpoint"] = "file:///etc/passwd" }, want: "not an https address"},
		"no token endpoint": {change: func(p *provider) { delete(p.document, "token_endpoint") }, want: "names no issuer, or no token_endpoint"},
		"not found": {
			change: func(p *provider) { p.page = func(w http.ResponseWriter) { http.Error(w, "gone", http.StatusNotFound) } },
			want:   "answers 404: no provider is described there",
		},
		"not JSON": {
			change: func(p *provider) { p.page = func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") } },
			want:   "answers 200 with what is no JSON",
		},
		"a redirection in clear": {
			change: func(p *provider) {
				p.page = func(w http.ResponseWriter) {
					w.Header().Set("Location", "http://login.example.com/x")
					w.WriteHeader(http.StatusFound)
				}
			},
			want: "not an https address",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			if c.change != nil {
				c.change(p)
			}
			if c.issuer == "" {
				c.issuer = issuer
			}

			_, err := openid.Discover(t.Context(), p, openid.Settings{Issuer: c.issuer, ClientID: "om3"})

			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "OpenID provider "+c.issuer+": ") {
				t.Error(err)
			}
		})
	}
}

func TestAProviderWithoutAFlowSaysWhichOneItHas(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	delete(p.document, "device_authorization_endpoint")
	delete(p.document, "authorization_endpoint")
	found := p.discover(t)
	if _, err := found.Device(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has no device codes: log in with a browser") {
		t.Error(err)
	}
	if _, err := found.Browser(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has no page to log in") {
		t.Error(err)
	}
}

func TestACodeThatCannotBeShownIsRefused(t *testing.T) {
	t.Parallel()
	for _, wrong := range []map[string]any{
		{"user_code": "A\x1b[2J"},
		{"user_code": ""},
		{"user_code": strings.Repeat("A", 65)},
		{"device_code": ""},
		{"verification_uri": "http://login.example.com/type"},
		{"verification_uri": "https://login.example.com/\u009b2J"},
		{"verification_uri": "https://login.example.com/\u202e"},
	} {
		p := newProvider(t)
		maps.Copy(p.device, wrong)
		if _, err := p.discover(t).Device(t.Context(), func(c openid.Code) { t.Errorf("shown: %+v", c) }); err == nil {
			t.Errorf("%v: accepted", wrong)
		}
	}
}

func TestASessionIsRenewedUntilTheProviderSaysOtherwise(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	next := granted(t, map[string]any{"sub": "alice2"})
	next.body["refresh_token"], next.body["refresh_expires_in"] = "refresh2", "60"
	kept := granted(t, nil)
	delete(kept.body, "refresh_token")
	p.answers = []reply{next, kept, refused("invalid_grant"), refused("server_error")}
	found := p.discover(t)
	before := time.Now()

	got, err := found.Renew(t.Context(), secret.New("refresh1"))
	if err != nil || got.Refresh.Reveal() != "refresh2" || got.Subject != "alice2" || got.RefreshEnd.Before(before.Add(time.Minute)) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = found.Renew(t.Context(), got.Refresh); err != nil || got.Refresh.Reveal() != "refresh2" {
		t.Errorf("a provider that keeps its refresh token: %+v, %v", got, err)
	}
	if _, err := found.Renew(t.Context(), got.Refresh); !errors.Is(err, openid.ErrEnded) {
		t.Error(err)
	}
	if _, err := found.Renew(t.Context(), got.Refresh); err == nil || errors.Is(err, openid.ErrEnded) {
		t.Errorf("what may be over later: %v", err)
	}
	if diff := cmp.Diff(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"refresh1"}, "client_id": {"om3"}}, p.asked[0]); diff != "" {
		t.Error(diff)
	}
}

func TestAnErrorOfTheNetworkNamesNoSecret(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	found := p.discover(t)
	p.broken = errors.New("no route to host")
	_, err := found.Renew(t.Context(), secret.New("hush"))
	if err == nil || err.Error() != "no route to host" {
		t.Error(err)
	}
}
