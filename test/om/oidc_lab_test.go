//go:build lab

package om_test

import (
	"errors"
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
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(l.dir, "provider"), "github.com/zitadel/oidc/v3/example/server")
	build.Dir = "lab/modules/oidc"
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the OpenID provider: %v\n%s", err, out)
	}
	port := strconv.Itoa(l.port())
	l.env = []string{"PORT=" + port}
	l.start(net.JoinHostPort("127.0.0.1", port), "provider")
	issuer := "http://localhost:" + port

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
		Cmds: commands(), Condition: condition, RequireExplicitExec: true,
	})
}

// callback is where the provider sends the browser in the end.
const callback = "http://localhost:9999/auth/callback"

// idToken logs in as a browser does, and returns the token the provider gives.
func idToken(t *testing.T, issuer string) (string, error) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Port() == "9999" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	// visit returns where a request led, and where it is sent next.
	visit := func(method, target, body string) (here, next *url.URL, err error) {
		request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		if err != nil {
			return nil, nil, err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := browser.Do(request)
		if err != nil {
			return nil, nil, err
		}
		next, _ = response.Location() // none is where it ends
		return response.Request.URL, next, response.Body.Close()
	}
	page, _, err := visit(http.MethodGet, issuer+"/auth?"+url.Values{
		"client_id": {"web"}, "response_type": {"id_token"}, "scope": {"openid"}, "redirect_uri": {callback}, "state": {"1"}, "nonce": {"2"},
	}.Encode(), "")
	if err != nil {
		return "", err
	}
	_, end, err := visit(http.MethodPost, issuer+page.Path, url.Values{
		"id": {page.Query().Get("authRequestID")}, "username": {"test-user@localhost"}, "password": {"verysecure"},
	}.Encode())
	if err != nil {
		return "", err
	}
	if end == nil {
		return "", errors.New("the provider does not let the test user in")
	}
	answer, err := url.ParseQuery(end.Fragment)
	if err == nil && answer.Get("id_token") == "" {
		err = errors.New("the provider gives no token: " + end.String())
	}
	return answer.Get("id_token"), err
}
