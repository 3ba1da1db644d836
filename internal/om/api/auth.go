package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// TokenQuery describes the token wanted.
type TokenQuery struct {
	Role           []string `query:"role,explode" enum:"admin,blacklistadmin,guest,heartbeat,join,leave,operator,prioritizer,root,squatter" doc:"Limit the grants of the token to these roles."`
	Scope          string   `query:"scope" doc:"Limit the namespace roles of the token to this namespace." example:"ns1"`
	Subject        string   `query:"subject" doc:"User the token is for, in place of the caller." example:"usr1"`
	AccessDuration string   `query:"access_duration" doc:"Life of the token: 10m when absent, 60s with the join role, 24h at most." example:"10m"`
	// The default is that of existing clients: they expect a refresh token.
	Refresh         bool   `query:"refresh" default:"true" doc:"Also make a refresh token, which renews the token without the password."`
	RefreshDuration string `query:"refresh_duration" doc:"Life of the refresh token: 24h when absent, 30d at most." example:"1d"`
}

// RefreshQuery describes the token wanted of a refresh token.
type RefreshQuery struct {
	Role           []string `query:"role,explode" enum:"admin,blacklistadmin,guest,heartbeat,join,leave,operator,prioritizer,root,squatter" doc:"Limit the grants of the token to these roles."`
	Scope          string   `query:"scope" doc:"Limit the namespace roles of the token to this namespace." example:"ns1"`
	AccessDuration string   `query:"access_duration" doc:"Life of the token: 10m when absent, 24h at most." example:"10m"`
}

// AuthToken is a token and its end, and the token that renews it.
type AuthToken struct {
	AccessToken      string    `json:"access_token"`
	AccessExpiredAt  time.Time `json:"access_expired_at"`
	RefreshToken     string    `json:"refresh_token,omitempty"`
	RefreshExpiredAt time.Time `json:"refresh_expired_at,omitzero"`
}

// AuthAccessToken is a token and its end.
type AuthAccessToken struct {
	AccessToken     string    `json:"access_token"`
	AccessExpiredAt time.Time `json:"access_expired_at"`
}

// UserIdentity is who the caller is for the daemon.
type UserIdentity struct {
	Name      string              `json:"name" example:"usr1"`
	Namespace string              `json:"namespace" example:"system"`
	Auth      string              `json:"auth" doc:"How the caller was recognised: ux (root socket), uxuser or uxgrant (user socket), jwt, openid, basic, node or x509." example:"jwt"`
	RawGrant  string              `json:"raw_grant" example:"admin:ns1 guest:ns2"`
	Grant     map[string][]string `json:"grant" doc:"Namespace patterns by role; no pattern is the whole cluster."`
}

// AuthInfo says how one may log in.
type AuthInfo struct {
	Methods []string    `json:"methods" enum:"openid,basic,x509" doc:"Ways to log in, besides a token given by an administrator."`
	OpenID  *AuthOpenID `json:"openid,omitempty" doc:"The OpenID provider whose tokens are accepted."`
}

// AuthOpenID is an OpenID provider, for clients to ask a token of.
type AuthOpenID struct {
	Issuer   string `json:"issuer" example:"https://auth.example.com/realms/clusters"`
	ClientID string `json:"client_id" example:"om3"`
}

// PostAuthToken makes a token.
var PostAuthToken = Operation[TokenQuery, AuthToken]{
	ID: "PostAuthToken", Method: "POST", Path: "/api/auth/token", Tag: "auth", Need: rbac.NeedCredential,
	Doc: "Make a bearer token, and one that renews it. Only the root socket and a password make tokens: a token or a certificate never does. A subject other than the caller asks for root.",
	Example: func() (TokenQuery, AuthToken) {
		return TokenQuery{Subject: "usr1", Role: []string{"guest"}, AccessDuration: "10m"},
			AuthToken{AccessToken: "header.claims.signature", AccessExpiredAt: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}
	},
}

// PostAuthRefresh makes a token out of a refresh token.
var PostAuthRefresh = Operation[RefreshQuery, AuthAccessToken]{
	ID: "PostAuthRefresh", Method: "POST", Path: "/api/auth/refresh", Tag: "auth", Need: rbac.NeedRefresh,
	Doc: "Make another access token: the bearer token of the request is the refresh token. The grants are those the user has now. A user who is gone, or whose password changed since, logs in again.",
	Example: func() (RefreshQuery, AuthAccessToken) {
		return RefreshQuery{AccessDuration: "10m"},
			AuthAccessToken{AccessToken: "header.claims.signature", AccessExpiredAt: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}
	},
}

// GetAuthWhoAmI says who the caller is.
var GetAuthWhoAmI = Operation[None, UserIdentity]{
	ID: "GetAuthWhoAmI", Method: "GET", Path: "/api/auth/whoami", Tag: "auth", Need: rbac.Known,
	Doc: "Say who the caller is and what it was granted.",
	Example: func() (None, UserIdentity) {
		return None{}, UserIdentity{
			Name: "usr1", Namespace: "system", Auth: "jwt", RawGrant: "admin:ns1 guest:ns2",
			Grant: map[string][]string{"admin": {"ns1"}, "guest": {"ns2"}},
		}
	},
}

// GetAuthInfo says how one may log in.
var GetAuthInfo = Operation[None, AuthInfo]{
	ID: "GetAuthInfo", Method: "GET", Path: "/api/auth/info", Tag: "public", Need: rbac.Public,
	Doc:     "Say how one may log in.",
	Example: func() (None, AuthInfo) { return None{}, AuthInfo{Methods: []string{"basic", "x509"}} },
}

// GetHealth answers when the daemon is ready.
var GetHealth = Operation[None, None]{
	ID: "GetHealth", Method: "GET", Path: "/api/health", Tag: "public", Need: rbac.Public, Status: 204,
	Doc:     "Answer, when the daemon does: for load balancers and probes.",
	Example: func() (None, None) { return None{}, None{} },
}

// Document is an OpenAPI document.
type Document struct {
	RawBody []byte `contentType:"application/json"`
}

// GetOpenAPI returns this document.
var GetOpenAPI = Operation[None, Document]{
	ID: "GetSwagger", Method: "GET", Path: "/api/openapi", Tag: "public", Need: rbac.Public,
	Doc:     "Return the OpenAPI document of the API.",
	Example: func() (None, Document) { return None{}, Document{RawBody: []byte(`{"openapi":"3.1.0"}`)} },
}
