package cloud_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

func TestTheRequestForATokenIsTheOneTheSettingsMean(t *testing.T) {
	t.Parallel()
	const (
		anna = `"password":{"user":{"domain":{"id":"default"},"name":"anna","password":"pass-word-1"}}`
		demo = `"scope":{"project":{"domain":{"id":"default"},"name":"demo"}}`
	)
	for _, c := range []struct {
		name string
		env  map[string]string
		set  []string
		want string
	}{
		{"user, password and project", openrc(), nil, `{"identity":{"methods":["password"],` + anna + `},` + demo + `}`},
		{"no project is no scope", openrc("OS_PROJECT_NAME", ""), nil, `{"identity":{"methods":["password"],` + anna + `}}`},
		{"a tenant is a project", openrc("OS_PROJECT_NAME", "", "OS_TENANT_NAME", "demo"), nil, `{"identity":{"methods":["password"],` + anna + `},` + demo + `}`},
		{"the id of a project needs no domain", openrc("OS_PROJECT_ID", "p9"), nil, `{"identity":{"methods":["password"],` + anna + `},"scope":{"project":{"id":"p9"}}}`},
		{"a typed name wins over an id of the environment", openrc("OS_PROJECT_ID", "p9"), []string{"project_name", "other"}, `{"identity":{"methods":["password"],` + anna + `},"scope":{"project":{"domain":{"id":"default"},"name":"other"}}}`},
		{
			"the user's domain is that of the project when there is no other", openrc("OS_USER_DOMAIN_ID", "", "OS_PROJECT_DOMAIN_ID", "", "OS_PROJECT_DOMAIN_NAME", "acme"), nil,
			`{"identity":{"methods":["password"],"password":{"user":{"domain":{"name":"acme"},"name":"anna","password":"pass-word-1"}}},"scope":{"project":{"domain":{"name":"acme"},"name":"demo"}}}`,
		},
		{"a domain alone is the scope", openrc("OS_PROJECT_NAME", "", "OS_DOMAIN_NAME", "acme"), nil, `{"identity":{"methods":["password"],` + anna + `},"scope":{"domain":{"name":"acme"}}}`},
		{"a typed system scope drops the project of the environment", openrc(), []string{"system_scope", "all"}, `{"identity":{"methods":["password"],` + anna + `},"scope":{"system":{"all":true}}}`},
		{"so does one of the environment", openrc("OS_SYSTEM_SCOPE", "all"), nil, `{"identity":{"methods":["password"],` + anna + `},"scope":{"system":{"all":true}}}`},
		{"a typed project wins over a system scope of the environment", openrc("OS_SYSTEM_SCOPE", "all"), []string{"project_name", "demo"}, `{"identity":{"methods":["password"],` + anna + `},` + demo + `}`},
		{"a trust is a scope", openrc("OS_PROJECT_NAME", "", "OS_TRUST_ID", "t7"), nil, `{"identity":{"methods":["password"],` + anna + `},"scope":{"OS-TRUST:trust":{"id":"t7"}}}`},
		{"the id of a user", openrc("OS_USERNAME", "", "OS_USER_ID", "u1"), nil, `{"identity":{"methods":["password"],"password":{"user":{"id":"u1","password":"pass-word-1"}}},` + demo + `}`},
		{"a passcode beside a password", openrc("OS_PASSCODE", "123456"), nil, `{"identity":{"methods":["password","totp"],` + anna + `,"totp":{"user":{"domain":{"id":"default"},"name":"anna","passcode":"123456"}}},` + demo + `}`},
		{"a passcode alone", openrc("OS_PASSCODE", "123456", "OS_AUTH_TYPE", "v3totp"), nil, `{"identity":{"methods":["totp"],"totp":{"user":{"domain":{"id":"default"},"name":"anna","passcode":"123456"}}},` + demo + `}`},
		{
			"several methods", openrc("OS_PASSCODE", "123456", "OS_AUTH_TYPE", "v3multifactor", "OS_AUTH_METHODS", "v3password, v3totp"), nil,
			`{"identity":{"methods":["password","totp"],` + anna + `,"totp":{"user":{"domain":{"id":"default"},"name":"anna","passcode":"123456"}}},` + demo + `}`,
		},
		{"a token", openrc("OS_TOKEN", "tok", "OS_AUTH_TYPE", "v3token"), nil, `{"identity":{"methods":["token"],"token":{"id":"tok"}},` + demo + `}`},
		{"a typed token wins over a user of the environment", openrc(), []string{"token", "tok"}, `{"identity":{"methods":["token"],"token":{"id":"tok"}},` + demo + `}`},
		{
			"an application credential has its own scope", openrc("OS_APPLICATION_CREDENTIAL_ID", "a1", "OS_APPLICATION_CREDENTIAL_SECRET", "sec"), nil,
			`{"identity":{"application_credential":{"id":"a1","secret":"sec"},"methods":["application_credential"]}}`,
		},
		{
			"an application credential by name has a user", openrc("OS_AUTH_TYPE", "v3applicationcredential", "OS_APPLICATION_CREDENTIAL_NAME", "ci", "OS_APPLICATION_CREDENTIAL_SECRET", "sec"), nil,
			`{"identity":{"application_credential":{"name":"ci","secret":"sec","user":{"domain":{"id":"default"},"name":"anna"}},"methods":["application_credential"]}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()

			_, err := f.open(c.env, typed(c.set...)).Token(t.Context())

			if err != nil || len(f.asked) != 1 {
				t.Fatalf("%v, %d requests", err, len(f.asked))
			}
			got, _ := json.Marshal(f.asked[0]["auth"])
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCredentialsThatCannotWorkAreRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  map[string]string
		set  []string
		want []string
	}{
		{"nothing", map[string]string{"HOME": "/nonexistent"}, nil, []string{"no credentials found", "OS_AUTH_URL"}},
		{"no user", openrc("OS_USERNAME", ""), nil, []string{"no user name", "OS_USERNAME"}},
		{"no password, and nobody to ask", openrc("OS_PASSWORD", ""), nil, []string{"no credentials found", "password of anna", "OS_PASSWORD"}},
		{"no scheme", openrc("OS_AUTH_URL", "cloud.test:5000"), nil, []string{"cloud.test:5000", "OS_AUTH_URL", "https://"}},
		{"a system scope that is not all", openrc(), []string{"system_scope", "some"}, []string{`--os-system-scope: unsupported value "some"`}},
		{"two typed scopes", openrc(), []string{"system_scope", "all", "project_id", "p"}, []string{"--os-system-scope excludes"}},
		{"an unknown type", openrc("OS_AUTH_TYPE", "magic"), nil, []string{`"magic"`, "OS_AUTH_TYPE", "v3totp"}},
		{"a token that is missing", openrc("OS_AUTH_TYPE", "token"), nil, []string{"OS_TOKEN"}},
		{"no methods", openrc("OS_AUTH_TYPE", "v3multifactor"), nil, []string{"OS_AUTH_METHODS"}},
		{"no provider", openrc("OS_AUTH_TYPE", "v3oidcpassword"), nil, []string{"--os-identity-provider"}},
		{"no boolean", openrc("OS_INSECURE", "maybe"), nil, []string{"unusable environment variable", `OS_INSECURE="maybe"`}},
		{"no duration", openrc("OS_TIMEOUT", "soon"), nil, []string{"unusable environment variable", `OS_TIMEOUT="soon"`}},
		{"to check certificates and not", openrc(), []string{"insecure", "true", "verify", "true"}, []string{"--insecure and --verify exclude each other"}},
		{"no microversion", openrc("OS_COMPUTE_API_VERSION", "2.x"), nil, []string{`OS_COMPUTE_API_VERSION="2.x": expected a version such as 2.79, or latest`}},
		{"no typed microversion", openrc(), []string{"volume_api_version", "abc"}, []string{`--os-volume-api-version="abc"`}},
		{"no typed duration", openrc(), []string{"timeout", "-3"}, []string{`--timeout="-3"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()

			_, err := f.open(c.env, typed(c.set...)).Token(t.Context())

			wants(t, err, c.want...)
			if len(f.log) > 0 {
				t.Errorf("something was sent: %q", f.log)
			}
		})
	}
}

func TestAnAddressIsNamedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.answer("POST /identity/v3/auth/tokens", 401, `{"error":{"code":401,"message":"No"}}`)

	_, err := f.open(openrc("OS_AUTH_URL", "http://me:s3cr3t@cloud.test/identity")).Token(t.Context())

	wants(t, err, "authenticate at http://me:redacted@cloud.test/identity/v3: No")
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Error(err)
	}
}

func TestAWrongPasswordSaysWhereItCameFrom(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.answer("POST /identity/v3/auth/tokens", 401, `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`, "X-Openstack-Request-Id", "req-1")

	_, err := f.open(openrc()).Token(t.Context())

	wants(t, err, "authenticate at http://cloud.test/identity/v3", "requires authentication (401, request req-1)", "check the password of anna (OS_PASSWORD), and the project demo (OS_PROJECT_NAME)")
}

func TestThePasswordOfStandardInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want, refused string }{
		{name: "loses one line end", in: " two words \n", want: " two words "},
		{name: "of Windows too", in: "pass\r\n", want: "pass"},
		{name: "may lack it", in: "pass", want: "pass"},
		{name: "is not an openrc", in: "export OS_USERNAME=a\nexport OS_PASSWORD=b\n", refused: "more than one line"},
		{name: "is not empty", in: "\n", refused: "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			session := f.open(openrc(), func(o *cloud.Options) { o.PasswordStdin = true; o.Streams.In = strings.NewReader(c.in) })

			_, err := session.Token(t.Context())

			if c.refused != "" {
				wants(t, err, "--os-password-stdin", c.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(f.asked[0])
			if want, _ := json.Marshal(c.want); !strings.Contains(string(got), `"password":`+string(want)) {
				t.Errorf("%s", got)
			}
		})
	}
	t.Run("excludes a typed one", func(t *testing.T) {
		t.Parallel()
		_, err := newFake().open(openrc(), typed("password", "x"), func(o *cloud.Options) { o.PasswordStdin = true }).Token(t.Context())

		wants(t, err, "exclude each other")
	})
}

func TestATokenCacheServesTheNextRunAndForgetsARefusedToken(t *testing.T) {
	t.Parallel()
	f := newFake()
	revoked := ""
	f.HandleFunc("GET /network/v2.0/networks", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth-Token") == revoked {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	dir := t.TempDir()
	run := func(more ...string) error {
		c := f.open(openrc(append([]string{"XDG_CACHE_HOME", dir, "KOC_TOKEN_CACHE", "yes"}, more...)...))
		s, err := c.Service(t.Context(), "network")
		if err != nil {
			return err
		}
		return s.Do(t.Context(), cloud.Request{Path: "/networks"})
	}

	for range 3 {
		if err := run(); err != nil {
			t.Fatal(err)
		}
	}
	if f.issued != 1 {
		t.Errorf("%d tokens for three runs", f.issued)
	}
	if err := run("OS_PROJECT_NAME", "other"); err != nil || f.issued != 2 {
		t.Errorf("another scope: %v, %d tokens", err, f.issued)
	}
	revoked = "t1"
	if err := run(); err != nil || f.issued != 3 {
		t.Errorf("a revoked token: %v, %d tokens", err, f.issued)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "koc", "*"))
	if len(files) != 2 {
		t.Errorf("%q", files)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(); err != nil || f.issued != 4 {
		t.Errorf("a file others can read is not believed: %v, %d tokens", err, f.issued)
	}
}

func TestATokenThatLooksExpiredIsUsedAndExplained(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.expires = time.Now().Add(-time.Hour)
	f.answer("GET /network/v2.0/networks", 200, `{}`)
	f.answer("GET /compute/v2.1/servers", 401, `{"error":{"message":"no"}}`)
	c := f.open(openrc())

	if err := service(t, c, "network").Do(t.Context(), cloud.Request{Path: "/networks"}); err != nil {
		t.Error(err)
	}
	wants(t, service(t, c, "compute").Do(t.Context(), cloud.Request{Path: "/servers"}), "check the clocks")
}

func TestServicesWithoutKeystone(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("GET /v1/nodes", 200, `{}`)
	for _, c := range []struct {
		kind   string
		header string
		want   string
	}{{"none", "X-Auth-Token", ""}, {"http_basic", "Authorization", "Basic YW5uYTpwYXNzLXdvcmQtMQ=="}, {"admin_token", "X-Auth-Token", "secret-token"}} {
		session := f.open(openrc("OS_AUTH_TYPE", c.kind, "OS_ENDPOINT", "http://cloud.test/", "OS_TOKEN", "secret-token"))
		if err := service(t, session, "baremetal").Do(t.Context(), cloud.Request{Path: "/nodes"}); err != nil {
			t.Error(c.kind, err)
		}
		if got := f.heads[len(f.heads)-1].Get(c.header); got != c.want {
			t.Errorf("%s: %s %q", c.kind, c.header, got)
		}
	}
	if f.issued > 0 {
		t.Error("a token was asked for")
	}
}

func TestSigningInAtAProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, signIn) // the provider is polled every second
}

func signIn(t *testing.T) {
	t.Helper()
	f := newFake()
	f.answer("GET idp.test/.well-known", 200, `{"token_endpoint":"http://idp.test/token","device_authorization_endpoint":"http://idp.test/device"}`)
	f.answer("POST idp.test/device", 200, `{"device_code":"dc","user_code":"AB-CD","verification_uri":"http://idp.test/go","interval":1,"expires_in":600}`)
	var forms []string
	polls := 0
	f.HandleFunc("POST idp.test/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		forms = append(forms, r.Form.Encode()+" "+id+":"+secret)
		if polls++; r.Form.Get("device_code") != "" && polls == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"authorization_pending"}`))
			return
		}
		_, _ = w.Write([]byte(`{"access_token":"at"}`))
	})
	bearer := ""
	f.HandleFunc("POST /identity/v3/OS-FEDERATION/identity_providers/corp/protocols/openid/auth", func(w http.ResponseWriter, r *http.Request) {
		bearer = r.Header.Get("Authorization")
		w.Header().Set("X-Subject-Token", "unscoped")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":{}}`))
	})
	base := []string{"OS_IDENTITY_PROVIDER", "corp", "OS_PROTOCOL", "openid", "OS_DISCOVERY_ENDPOINT", "http://idp.test/.well-known", "OS_CLIENT_ID", "koc", "OS_CLIENT_SECRET", "cs"}
	for _, c := range []struct{ kind, form string }{
		{"v3oidcpassword", "client_id=koc&grant_type=password&password=pass-word-1&scope=openid+profile&username=anna koc:cs"},
		{"v3oidcclientcredentials", "client_id=koc&grant_type=client_credentials&scope=openid+profile koc:cs"},
		{"v3oidcaccesstoken", ""},
		{"v3oidcauthcode", "client_id=koc&code=c0de-1&grant_type=authorization_code&redirect_uri=http%3A%2F%2Fhere.test%2F&scope=openid+profile koc:cs"},
		{"v3oidcdeviceauthz", "client_id=koc&device_code=dc&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code koc:cs"},
	} {
		forms, bearer, polls, f.asked = nil, "", 0, nil
		var said strings.Builder
		session := f.open(openrc(append(base, "OS_AUTH_TYPE", c.kind, "OS_ACCESS_TOKEN", "at", "OS_CODE", "c0de-1", "OS_REDIRECT_URI", "http://here.test/")...), func(o *cloud.Options) {
			o.Streams = &iostreams.Streams{In: strings.NewReader(""), Out: &said, Err: &said}
		})

		token, err := session.Token(t.Context())

		if err != nil || bearer != "Bearer at" || token.UserName != "anna" {
			t.Errorf("%s: %v, %q, %+v", c.kind, err, bearer, token)
		}
		if got := strings.Join(forms[max(len(forms)-1, 0):], ""); got != c.form {
			t.Errorf("%s: form %s", c.kind, got)
		}
		got, _ := json.Marshal(f.asked)
		if want := `[{"auth":{"identity":{"methods":["token"],"token":{"id":"unscoped"}},"scope":{"project":{"domain":{"id":"default"},"name":"demo"}}}}]`; string(got) != want {
			t.Errorf("%s: %s", c.kind, got)
		}
		if c.kind == "v3oidcdeviceauthz" && !strings.Contains(said.String(), "http://idp.test/go and enter the code AB-CD") {
			t.Errorf("%q", said.String())
		}
	}
}

func TestWhatServesOnceIsNotSentTwice(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"a passcode":             {"OS_AUTH_TYPE", "v3totp", "OS_PASSCODE", "123456"},
		"one beside a password":  {"OS_PASSCODE", "123456"},
		"an authorization code":  {"OS_AUTH_TYPE", "v3oidcauthcode", "OS_CODE", "c0de-1", "OS_IDENTITY_PROVIDER", "corp", "OS_PROTOCOL", "openid", "OS_ACCESS_TOKEN_ENDPOINT", "http://idp.test/token"},
		"whatever else it names": {"OS_AUTH_TYPE", "v3multifactor", "OS_AUTH_METHODS", "v3password,v3totp", "OS_PASSCODE", "123456"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.answer("POST idp.test/token", 200, `{"access_token":"at"}`)
			f.answer("POST /identity/v3/OS-FEDERATION/identity_providers/corp/protocols/openid/auth", 201, `{"token":{}}`, "X-Subject-Token", "unscoped")
			f.answer("/compute/", 401, `{"error":{"message":"expired"}}`)

			err := service(t, f.open(openrc(env...)), "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

			if wants(t, err, "expired", "serves once: give a new one"); f.issued != 1 {
				t.Errorf("%d tokens were asked for", f.issued)
			}
		})
	}
}

func TestAnotherCloudThatTrustsThisOne(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.answer("POST /identity/v3/auth/tokens", 201, `{"token":{"service_providers":[{"id":"far","auth_url":"http://far.test/v3/OS-FEDERATION/identity_providers/here/protocols/saml2/auth","sp_url":"http://far.test/sp"}]}}`, "X-Subject-Token", "local")
	f.answer("POST /identity/v3/auth/OS-FEDERATION/saml2/ecp", 200, `<ecp/>`)
	f.answer("POST far.test/sp", 302, ``, "Set-Cookie", "shib=1; Path=/", "Location", "http://far.test/away")
	f.HandleFunc("GET far.test/v3/OS-FEDERATION/identity_providers/here/protocols/saml2/auth", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") == "shib=1" {
			w.Header().Set("X-Subject-Token", "there")
			_, _ = w.Write([]byte(`{"token":{}}`))
		}
	})
	f.answer("POST far.test/v3/auth/tokens", 201, `{"token":{"project":{"id":"farp","name":"remote"}}}`, "X-Subject-Token", "scoped")

	token, err := f.open(openrc("OS_SERVICE_PROVIDER", "far", "OS_REMOTE_PROJECT_NAME", "remote")).Token(t.Context())

	if err != nil || token.ID != "scoped" || token.ProjectID != "farp" {
		t.Errorf("%+v %v", token, err)
	}
	_, err = f.open(openrc("OS_SERVICE_PROVIDER", "near", "OS_REMOTE_PROJECT_NAME", "remote")).Token(t.Context())
	wants(t, err, `no service provider "near" (OS_SERVICE_PROVIDER)`, "far")
}
