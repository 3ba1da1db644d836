package openid

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// callback is where the provider sends the browser back to, on the port that is
// free: a provider is told http://127.0.0.1/callback and lets any port pass.
const callback = "/callback"

// PageLimit is how long a person has to log in in the browser.
const PageLimit = 5 * time.Minute

// Browser has somebody log in in a browser of this host. show is given the page to
// open.
func (p *Provider) Browser(ctx context.Context, show func(page string)) (Grant, error) {
	if p.authorization == "" {
		return Grant{}, fmt.Errorf("OpenID provider %s has no page to log in", p.settings.Issuer)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return Grant{}, fmt.Errorf("wait for the answer of the browser: %w", err)
	}
	r := returned{
		issuer: p.issuer, state: random(), answers: make(chan returnedCode, 1),
	}
	server := &http.Server{Handler: &r, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // it ends when it is closed
	}()
	defer func() {
		// The page that says the end of it is still on its way.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
		<-served
	}()

	back := "http://" + listener.Addr().String() + callback
	verifier, nonce := random(), random()
	challenge := sha256.Sum256([]byte(verifier))
	page, err := url.Parse(p.authorization)
	if err != nil {
		return Grant{}, err
	}
	query := page.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": p.settings.ClientID, "redirect_uri": back, "scope": p.scope(),
		"state": r.state, "nonce": nonce,
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	} {
		query.Set(name, value)
	}
	page.RawQuery = query.Encode()
	show(page.String())

	waiting, cancel := context.WithTimeout(ctx, PageLimit)
	defer cancel()
	select {
	case <-waiting.Done():
		if ctx.Err() != nil {
			return Grant{}, ctx.Err()
		}
		return Grant{}, fmt.Errorf("nobody logged in within %s", PageLimit)
	case came := <-r.answers:
		if came.err != nil {
			return Grant{}, came.err
		}
		a, err := p.post(ctx, p.token, url.Values{
			"grant_type": {"authorization_code"}, "code": {came.code}, "redirect_uri": {back}, "code_verifier": {verifier},
		})
		if err != nil {
			return Grant{}, err
		}
		return p.grant(a, nonce)
	}
}

// random is what nobody guesses.
func random() string {
	data := make([]byte, 32)
	_, _ = rand.Read(data) // it does not fail
	return base64.RawURLEncoding.EncodeToString(data)
}

type returnedCode struct {
	code string
	err  error
}

// returned serves the page the provider sends the browser back to. Other pages of
// the browser may call it as well: only who knows the state is listened to.
type returned struct {
	issuer, state string
	answers       chan returnedCode
}

// ServeHTTP implements [http.Handler].
func (r *returned) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	query := request.URL.Query()
	if request.Method != http.MethodGet || request.URL.Path != callback ||
		subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(r.state)) == 0 {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("This is not the answer to a login.\n"))
		return
	}
	came := returnedCode{code: query.Get("code")}
	switch issuer := query.Get("iss"); {
	case query.Get("error") != "":
		came.err = &RefusedError{Code: query.Get("error"), Description: query.Get("error_description")}
	case issuer != "" && issuer != r.issuer:
		came.err = errors.New("another provider answered the login: " + clip(issuer))
	case came.code == "":
		came.err = errors.New("the provider sent the browser back without a code")
	}
	text := "The login goes on in the terminal. You may close this page.\n"
	if came.err != nil {
		text = "The login ended, the terminal says why. You may close this page.\n" // not in words that came with the request
	}
	_, _ = w.Write([]byte(text))
	select {
	case r.answers <- came:
	default: // the page was loaded again
	}
}
