//go:build lab

package om_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestOpenID has a token of a real OpenID provider, which is built from its
// module, accepted by a daemon.
func TestOpenID(t *testing.T) {
	t.Parallel()
	l := &acmeLab{t: t, dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(l.dir, "provider"), "./provider")
	build.Dir = "lab/modules/oidc"
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the OpenID provider: %v\n%s", err, out)
	}
	port := strconv.Itoa(l.port())
	l.env = []string{"PORT=" + port}
	l.start(net.JoinHostPort("127.0.0.1", port), "provider")
	issuer := "http://localhost:" + port

	cmds := commands()
	maps.Copy(cmds, map[string]func(*testscript.TestScript, bool, []string){
		"person": person, "person-device": personDevice,
	})
	testscript.Run(t, testscript.Params{
		Files: []string{"lab/oidc.txtar"},
		Setup: func(env *testscript.Env) error {
			if err := setup(env); err != nil {
				return err
			}
			token, err := idToken(t, issuer)
			if err != nil {
				return err
			}
			env.Setenv("ISSUER", issuer)
			env.Setenv("IDTOKEN", token)
			return nil
		},
		Cmds: cmds, Condition: condition, RequireExplicitExec: true,
	})
}

// callback is where the provider sends the browser in the end.
const callback = "http://localhost:9999/auth/callback"

// idToken logs in as a browser does, and returns the token the provider gives.
func idToken(t *testing.T, issuer string) (string, error) {
	t.Helper()
	b, err := newBrowser(t.Context())
	if err != nil {
		return "", err
	}
	end, err := b.login(issuer + "/auth?" + url.Values{
		"client_id": {"web"}, "response_type": {"id_token"}, "scope": {"openid"}, "redirect_uri": {callback}, "state": {"1"}, "nonce": {"2"},
	}.Encode())
	if err != nil {
		return "", err
	}
	answer, err := url.ParseQuery(end.Fragment)
	if err == nil && answer.Get("id_token") == "" {
		err = errors.New("the provider gives no token: " + end.String())
	}
	return answer.Get("id_token"), err
}

// browser is one, with cookies, that stops before it leaves the provider.
type browser struct {
	ctx    context.Context //nolint:containedctx // of the test
	client *http.Client
}

func newBrowser(ctx context.Context) (browser, error) {
	jar, err := cookiejar.New(nil)
	return browser{ctx, &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}}, err
}

// visit returns where a request led, where it is sent next, and the page.
func (b browser) visit(method, target, body string) (here, next *url.URL, page string, err error) {
	request, err := http.NewRequestWithContext(b.ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, nil, "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := b.client.Do(request)
	if err != nil {
		return nil, nil, "", err
	}
	next, _ = response.Location() // none is where it ends
	text, err := io.ReadAll(response.Body)
	return response.Request.URL, next, string(text), errors.Join(err, response.Body.Close())
}

// login logs the test user in on a page, and returns where the provider sends it then.
func (b browser) login(page string) (*url.URL, error) {
	form, _, _, err := b.visit(http.MethodGet, page, "")
	if err != nil {
		return nil, err
	}
	to := *form
	to.RawQuery = ""
	_, end, text, err := b.visit(http.MethodPost, to.String(), url.Values{
		"id": {form.Query().Get("authRequestID")}, "username": {"test-user@localhost"}, "password": {"verysecure"},
	}.Encode())
	if err == nil && end == nil {
		err = errors.New("the provider does not let the test user in: " + text)
	}
	return end, err
}

// person logs in on the page whose address is in a file, and goes where that leads.
func person(ts *testscript.TestScript, _ bool, args []string) {
	b, err := newBrowser(context.Background())
	ts.Check(err)
	end, err := b.login(ts.ReadFile(args[0]))
	ts.Check(err)
	_, _, text, err := b.visit(http.MethodGet, end.String(), "")
	ts.Check(err)
	ts.Logf("%s", text)
}

// personDevice allows the device whose page is in a file, or denies it.
func personDevice(ts *testscript.TestScript, _ bool, args []string) {
	b, err := newBrowser(context.Background())
	ts.Check(err)
	_, rest, _ := strings.Cut(ts.ReadFile(args[0]), "or open ")
	address, _, _ := strings.Cut(rest, "\n")
	page, err := url.Parse(address)
	ts.Check(err)
	site := page.Scheme + "://" + page.Host
	for _, step := range [][2]string{
		{http.MethodGet, page.String()},
		{http.MethodPost, site + "/device/login"},
		{http.MethodPost, site + "/device/confirm"},
	} {
		_, _, text, err := b.visit(step[0], step[1], url.Values{
			"user_code": {page.Query().Get("user_code")}, "username": {"test-user@localhost"}, "password": {"verysecure"}, "action": {args[1]},
		}.Encode())
		ts.Check(err)
		ts.Logf("%s", text)
	}
}
