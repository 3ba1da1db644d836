package cloud_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/iostreams"
	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, body, want string }{
		{"a password", "", `{"auth":{"password":{"user":{"name":"a","password":"s3cr3t"}}}}`, `{"auth":{"password":{"user":{"name":"a","password":"<redacted>"}}}}`},
		{"a token that is shown", "", `{"auth":{"identity":{"token":{"id":"s3cr3t"}}}}`, `{"auth":{"identity":{"token":{"id":"<redacted>"}}}}`},
		{"a token is a catalogue too", "", `{"token":{"catalog":[{"id":"c"}]}}`, `{"token":{"catalog":[{"id":"c"}]}}`},
		{"whatever its case", "", `{"adminPass":"s3cr3t","ADMIN_PASS":"s3cr3t","Original-Password":"s3cr3t"}`, `{"adminPass":"<redacted>","ADMIN_PASS":"<redacted>","Original-Password":"<redacted>"}`},
		{"numbers and lists", "", `{"passcode":123456,"secret":["s3cr3t",["s3cr3t"]],"n":1.50}`, `{"passcode":"<redacted>","secret":["<redacted>",["<redacted>"]],"n":1.50}`},
		{"null is none", "", `{"password":null,"password_expires_at":null}`, `{"password":null,"password_expires_at":null}`},
		{"drivers", "", `{"driver_info":{"ipmi_password":"s3cr3t","redfish_token":"s3cr3t","snmp_auth_key":"s3cr3t","ipmi_address":"1.2.3.4"}}`, `{"driver_info":{"ipmi_password":"<redacted>","redfish_token":"<redacted>","snmp_auth_key":"<redacted>","ipmi_address":"1.2.3.4"}}`},
		{"transfers", "/v2/zones/tasks/transfer_requests", `{"key":"s3cr3t","id":"1"}`, `{"key":"<redacted>","id":"1"}`},
		{"a key of something else", "/v2.1/tags", `{"key":"open"}`, `{"key":"open"}`},
		{"volume transfers", "", `{"transfer":{"auth_key":"s3cr3t"}}`, `{"transfer":{"auth_key":"<redacted>"}}`},
		{"user data", "", `{"server":{"user_data":"s3cr3t"}}`, `{"server":{"user_data":"<redacted>"}}`},
		{"user data of what is shown", "", `{"OS-EXT-SRV-ATTR:user_data":"s3cr3t","OS-EXT-STS:power_state":1}`, `{"OS-EXT-SRV-ATTR:user_data":"<redacted>","OS-EXT-STS:power_state":1}`},
		{"consoles", "", `{"url":"http://h:6080/vnc.html?path=%3Ftoken%3Ds3cr3t&token=s3cr3t"}`, `{"url":"http://h:6080/vnc.html?path=%3Ftoken%3Dredacted&token=redacted"}`},
		{"consoles of other kinds", "", `{"url":"http://h/x?path=a%3fb%3D1%26token%3ds3cr3t%26c%3D2"}`, `{"url":"http://h/x?path=a%3fb%3D1%26token%3dredacted%26c%3D2"}`},
		{"signed addresses", "", `{"u":"https://s3/b?X-Amz-Signature=s3cr3t&a=1"}`, `{"u":"https://s3/b?X-Amz-Signature=redacted&a=1"}`},
		{"passwords in addresses", "", `{"u":"see https://me:s3cr3t@h/x"}`, `{"u":"see https://me:redacted@h/x"}`},
		{"JSON in JSON", "", `{"m":"{\"password\":\"s3cr3t\"}"}`, `{"m":"{\"password\":\"<redacted>\"}"}`},
		{"half a document", "", `{"a":1,"password":"s3cr3t`, `{"a":1,"password":"<redacted>"`},
		{"no document", "", `"pass\u0077ord" : s3cr3t, "b": 2`, `"pass\u0077ord" : "<redacted>", "b": 2`},
		{"escapes in names", "", `{"pass\u0077ord":"s3cr3t"}`, `{"password":"<redacted>"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := cloud.RedactBody(c.path, []byte(c.body), false); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://me:s3cr3t@h/p":         "https://me:redacted@h/p",
		"https://h/p?token=s3cr3t&a=b":  "https://h/p?token=redacted&a=b",
		"https://h/p?a=%20&limit=1":     "https://h/p?a=%20&limit=1",
		"https://h/p?temp_url_sig=zzzz": "https://h/p?temp_url_sig=redacted",
		"https://h/p?path=%3Ftoken%3D9": "https://h/p?path=%3Ftoken%3Dredacted",
		"https://h/p?t%6Fken=s3cr3t":    "https://h/p?t%6Fken=redacted",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := cloud.RedactURL(u); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// nested is any JSON with a secret at a member of one of the names.
func nested(name, secret string) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		value := any(object{name: secret, "other": rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "other")})
		for range rapid.IntRange(0, 5).Draw(t, "depth") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				value = object{rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, "name"): value, "x": 1}
			case 1:
				value = []any{rapid.Bool().Draw(t, "item"), value}
			case 2: // as ironic does
				b, _ := json.Marshal(value)
				value = object{"error_message": string(b)}
			}
		}
		return value
	})
}

func TestNoSecretSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const secret = "Tr0ub4dor"
		name := rapid.SampledFrom([]string{"password", "adminPass", "secret", "application_credential_secret", "passcode", "private_key", "secret_id", "token", "blob", "user_data", "rescue_password", "client_secret", "auth_key", "access_token"}).Draw(t, "secret name")
		value := nested(name, rapid.StringMatching(`["\\\n{}]{0,3}`).Draw(t, "before")+secret).Draw(t, "document")
		body, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if cut := rapid.IntRange(0, len(body)).Draw(t, "cut"); rapid.Bool().Draw(t, "whole") == false {
			body = body[:cut]
		}
		if got := cloud.RedactBody("", body, rapid.Bool().Draw(t, "pretty")); strings.Contains(got, secret) {
			t.Errorf("%s\n%s", body, got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("password", `{"a":"b"}`, "x", true)
	f.Add("adminPass", `[1,2,{"url":"http://a?token=b"}]`, "\"", false)
	f.Add("token", `"`, "\\", true)
	f.Fuzz(func(t *testing.T, name, around, before string, whole bool) {
		const secret = "Tr0ub4dor"
		switch name {
		case "password", "adminPass", "token", "secret", "user_data", "private_key":
		default:
			return
		}
		member, _ := json.Marshal(object{name: before + secret})
		body := string(member)
		if json.Valid([]byte(around)) && !strings.Contains(around, secret) {
			body = `{"a":` + around + `,"b":` + body + `}`
		}
		if !whole {
			body = body[:len(body)-1] // no JSON any more
		}
		if got := cloud.RedactBody("", []byte(body), false); strings.Contains(got, secret) {
			t.Errorf("%s\n%s", body, got)
		}
	})
}

func TestATokenThatIsQuotedIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.ServeMux = http.NewServeMux()
	f.answer("POST /identity/v3/auth/tokens", 201, `{"token":{"note":"here is t-0123456789"}}`, "X-Subject-Token", "t-0123456789")
	f.answer("/here/", 400, `{"badRequest":{"message":"you sent t-0123456789"}}`)
	streams, _, _, errs := iostreams.Test()
	c := f.open(openrc("OS_DEBUG", "on", "OS_COMPUTE_ENDPOINT_OVERRIDE", "http://cloud.test/here"), func(o *cloud.Options) { o.Streams = streams })

	_ = service(t, c, "compute").Do(t.Context(), cloud.Request{Path: "/servers"})

	if text := errs.String(); strings.Contains(text, "t-0123456789") || !strings.Contains(text, "you sent <redacted>") {
		t.Error(text)
	}
}

func TestADumpShowsEachRequestWithoutSecrets(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.answer("POST /compute/v2.1/servers", 202, `{"server":{"adminPass":"s3cr3t","note":"pass-word-1 is quoted","id":"1"}}`, "Set-Cookie", "s3cr3t")
	f.HandleFunc("GET /image/v2/images/1/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("BINARY"))
	})
	streams, _, out, errs := iostreams.Test()
	c := f.open(openrc("OS_DEBUG", "on"), func(o *cloud.Options) { o.Streams = streams; o.Timing = true })

	var into object
	if err := service(t, c, "compute").Do(t.Context(), cloud.Request{Method: "POST", Path: "/servers", Body: object{"name": "n"}, Into: &into}); err != nil || len(into) != 1 {
		t.Error(err, into)
	}
	if err := service(t, c, "image").Do(t.Context(), cloud.Request{Path: "/images/1/file"}); err != nil {
		t.Error(err)
	}
	c.Close()

	text := errs.String()
	for _, want := range []string{
		"> POST http://cloud.test/identity/v3/auth/tokens\n", `"name":"anna","password":"<redacted>"`, "< X-Subject-Token: <redacted>\n", "> X-Auth-Token: <redacted>\n",
		"> {\"name\":\"n\"}\n", "< HTTP/1.1 202 Accepted\n", `"adminPass":"<redacted>","note":"<redacted> is quoted"`, "< Set-Cookie: <redacted>\n",
		"timing: POST   http://cloud.test/compute/v2.1/servers 202 in ", "timing: GET    http://cloud.test/image/v2/images/1/file 200 in ", "timing: total 3 request(s) in ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	for _, secret := range []string{"pass-word-1", "s3cr3t", ": t1", "BINARY"} {
		if strings.Contains(text, secret) {
			t.Errorf("shows %q", secret)
		}
	}
	if t.Failed() || out.Len() > 0 {
		t.Log(text, out)
	}
}
