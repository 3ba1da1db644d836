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
	do := func(method, target string, form url.Values) (*http.Response, error) {
		target += map[bool]string{true: "?" + form.Encode()}[method == http.MethodGet]
		if method == http.MethodPost {
			r, err := browser.PostForm(target, form) //nolint:noctx // the test ends it
			if err == nil {
				err = r.Body.Close()
			}
			return r, err
		}
		r, err := browser.Get(target) //nolint:noctx // the test ends it
		if err == nil {
			err = r.Body.Close()
		}
		return r, err
	}
	page, err := do(http.MethodGet, issuer+"/auth", url.Values{
		"client_id": {"web"}, "response_type": {"id_token"}, "scope": {"openid"}, "redirect_uri": {callback}, "state": {"1"}, "nonce": {"2"},
	})
	if err != nil {
		return "", err
	}
	sent, err := do(http.MethodPost, issuer+page.Request.URL.Path, url.Values{
		"id": {page.Request.URL.Query().Get("authRequestID")}, "username": {"test-user@localhost"}, "password": {"verysecure"},
	})
	if err != nil {
		return "", err
	}
	end, err := sent.Location()
	if err != nil {
		return "", err
	}
	answer, err := url.ParseQuery(end.Fragment)
	if err == nil && answer.Get("id_token") == "" {
		err = errors.New("the provider gives no token: " + end.String())
	}
	return answer.Get("id_token"), err
}
