package identity_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ops/holdfast/internal/koc/identity"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
)

// The signatures were made by oauthlib 3.2 for the same requests.
func TestRequestsAreSignedAsOAuthSays(t *testing.T) {
	t.Parallel()
	request := identity.Sign("key 1", "s&cret", "", "", "", "oob", "abc", "1700000000", "POST", "http://identity.test/v3/OS-OAUTH1/request_token")
	if !strings.Contains(request, `oauth_consumer_key="key%201"`) || !strings.HasSuffix(request, `oauth_signature="dzzt2Q9Dgeq8NuPYupmklwdFQNE%3D"`) {
		t.Errorf("request token: %s", request)
	}
	access := identity.Sign("key", "secret", "tok", "tsecret", "ver", "", "abc", "1700000000", "POST", "http://identity.test/v3/OS-OAUTH1/access_token")
	if !strings.HasSuffix(access, `oauth_signature="OueGQZWdOxKfDoNOnqNvRQ94wbI%3D"`) {
		t.Errorf("access token: %s", access)
	}
}

func TestTokensOfOAuth(t *testing.T) {
	t.Parallel()
	koctest.Test(t, identity.Commands(), have(), []koctest.Case{
		{Line: "request token create --consumer-key c --consumer-secret s --project demo", API: "POST identity /OS-OAUTH1/request_token\nH Requested-Project-Id: " + demo + "\n= 500", Err: "500"},
		{Line: "access token create --consumer-key c --consumer-secret s --request-key r --request-secret t --verifier v", API: "POST identity /OS-OAUTH1/access_token\n= {}", Err: "answered without a token"},
	})
}
