package cloud_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
)

// refusals are what services answer with.
func refusals() []struct {
	name   string
	status int
	kind   string
	body   string
	code   string
	want   string
} {
	return []struct {
		name   string
		status int
		kind   string
		body   string
		code   string
		want   string
	}{
		{"compute 404", 404, "json", `{"itemNotFound": {"code": 404, "message": "Instance x could not be found."}}`, "itemNotFound", "Instance x could not be found"},
		{"compute 409", 409, "json", `{"conflictingRequest": {"code": 409, "message": "Cannot 'stop' instance x while it is in vm_state stopped"}}`, "conflictingRequest", "Cannot 'stop' instance x while it is in vm_state stopped"},
		{"compute 413", 413, "json", `{"overLimit": {"code": 413, "message": "Quota exceeded", "retryAfter": "0"}}`, "overLimit", "Quota exceeded"},
		{"compute 500", 500, "json", `{"computeFault": {"code": 500, "message": "Unexpected API Error. Please report this.\n<class 'oslo.Timeout'>"}}`, "computeFault", "Unexpected API Error. Please report this"},
		{"volume 403", 403, "json", `{"forbidden": {"code": 403, "message": "Policy doesn't allow volume:get to be performed."}}`, "forbidden", "Policy doesn't allow volume:get to be performed"},
		{"network 404", 404, "json", `{"NeutronError": {"type": "NetworkNotFound", "message": "Network x could not be found.", "detail": ""}}`, "NetworkNotFound", "Network x could not be found"},
		{"network with detail", 400, "json", `{"NeutronError": {"type": "InvalidInput", "message": "Invalid input.", "detail": "mtu: 3"}}`, "InvalidInput", "Invalid input: mtu: 3"},
		{"network of no API", 404, "json", `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`, "", "The resource could not be found"},
		{"network text", 409, "json", `{"NeutronError": "busy"}`, "NeutronError", "busy"},
		{"identity 401", 401, "json", `{"error":{"code":401,"message":"The request you have made requires authentication.","title":"Unauthorized"}}`, "", "The request you have made requires authentication"},
		{"middleware 401", 401, "text/html", "Authentication required", "", "Authentication required"},
		{"image 404", 404, "text/html", "<html>\n <head>\n  <title>404 Not Found</title>\n </head>\n <body>\n  <h1>404 Not Found</h1>\n  No image found with ID x<br /><br />\n\n\n </body>\n</html>", "", "No image found with ID x"},
		{"image 413", 413, "text/html", "<html><head><title>413 Request Entity Too Large</title></head><body><h1>413 Request Entity Too Large</h1>Denying attempt to upload image because it exceeds the quota: 5 &gt; 3<br /></body></html>", "", "Denying attempt to upload image because it exceeds the quota: 5 > 3"},
		{"baremetal 404", 404, "json", `{"error_message": "{\"faultcode\": \"Client\", \"faultstring\": \"Node x could not be found.\", \"debuginfo\": null}"}`, "Client", "Node x could not be found"},
		{"baremetal 406", 406, "json", `{"error_message": {"faultcode": "Client", "faultstring": "Version 9 was requested", "debuginfo": null}}`, "Client", "Version 9 was requested"},
		{"load balancer", 404, "json", `{"faultcode": "Client", "faultstring": "Load Balancer x not found.", "debuginfo": null}`, "Client", "Load Balancer x not found"},
		{"dns", 404, "json", `{"code": 404, "type": "zone_not_found", "message": "Could not find Zone", "request_id": "req-1"}`, "zone_not_found", "Could not find Zone"},
		{"dns with fields", 400, "json", `{"code": 400, "type": "invalid_object", "errors": {"errors": [{"path": ["name"], "message": "'x' is not a 'domainname'"}, {"path": [], "message": "'email' is a required property"}]}}`, "invalid_object", "name: 'x' is not a 'domainname'; 'email' is a required property"},
		{"placement", 404, "json", `{"errors": [{"status": 404, "title": "Not Found", "detail": "The resource could not be found.\n\n No resource provider with uuid x found  ", "code": "placement.undefined_code"}]}`, "placement.undefined_code", "No resource provider with uuid x found"},
		{"key manager", 404, "json", `{"code": 404, "title": "Not Found", "description": "Secret not found."}`, "", "Secret not found"},
		{"orchestration", 404, "json", `{"explanation": "The resource could not be found.", "code": 404, "error": {"message": "The Stack (x) could not be found.", "traceback": null, "type": "EntityNotFound"}, "title": "Not Found"}`, "EntityNotFound", "The Stack (x) could not be found"},
		{"proxy 503", 503, "text/html", "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>", "", "No server is available to handle this request"},
		{"proxy 429", 429, "text/plain", "Too Many Requests\r\n", "", "Too Many Requests"},
		{"scripts", 500, "text/html", "<style>a{}</style><script>alert(1)</script><!-- x --><p>Oops</p>", "", "Oops"},
		{"terminal escapes", 400, "json", `{"badRequest": {"message": "name \u001b[31mred\u0007\u202e\nnext"}}`, "badRequest", "name [31mred next"},
		{"an identity provider", 400, "json", `{"error":"invalid_grant","error_description":"Bad code"}`, "invalid_grant", "Bad code"},
		{"nothing", 502, "", "", "", "the x service says: bad gateway"},
		{"an unknown status", 599, "", "", "", "the x service says: refused"},
		{"bytes", 500, "application/octet-stream", "\x00\x01", "", "the x service says: internal server error"},
		{"other JSON", 400, "json", `[["a"],{"message":"b"},3,null]`, "", "a; b"},
	}
}

func TestTheSentenceOfARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range refusals() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := cloud.ParseFault(c.status, c.kind, []byte(c.body))
			f.Service, f.RequestID = "x", "req-7"

			got, rest, _ := strings.Cut(f.Error(), " (")

			if c.name == "orchestration" || c.name == "volume 403" {
				got = strings.TrimSuffix(f.Error(), " ("+rest[strings.LastIndex(rest, "(")+1:])
			}
			if got != c.want || !strings.HasSuffix(f.Error(), ", request req-7)") {
				t.Errorf("%q, want %q", f.Error(), c.want)
			}
			if f.Code != c.code {
				t.Errorf("code %q, want %q", f.Code, c.code)
			}
		})
	}
}

func TestARefusalOfEachServiceReachesTheCommand(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"compute", "network", "volume", "image", "identity", "placement", "baremetal", "dns", "load-balancer"} {
		for _, code := range []int{403, 404, 409, 413} {
			f := newFake()
			f.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Openstack-Request-Id", "req-9")
				w.WriteHeader(code)
			})

			err := service(t, f.open(openrc()), typ).Do(t.Context(), cloud.Request{Method: "POST", Path: "/things"})

			wants(t, err, "the "+typ+" service says: "+strings.ToLower(http.StatusText(code)), "request req-9")
		}
	}
}

func FuzzFault(f *testing.F) {
	for _, c := range refusals() {
		f.Add(c.status, c.kind, []byte(c.body))
	}
	f.Add(404, "json", []byte(`{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"message":"deep"}}}}}}}}}`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		fault := cloud.ParseFault(status, kind, body)

		text := fault.Error()

		if !utf8.ValidString(text) || utf8.RuneCountInString(fault.Message) > 1001 {
			t.Errorf("%q", text)
		}
		for _, r := range text + fault.Code {
			if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e {
				t.Errorf("%q has %U", text, r)
			}
		}
	})
}
