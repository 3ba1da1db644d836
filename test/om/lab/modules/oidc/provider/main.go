// Command provider is the example OpenID provider of the module, with the clients of
// a cluster and what its tokens entitle to.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// entitled is a storage whose users are entitled to something.
type entitled struct{ *storage.Storage }

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest.
func (entitled) SetUserinfoFromRequest(_ context.Context, info *oidc.UserInfo, r op.IDTokenRequest, _ []string) error {
	info.Subject = r.GetSubject()
	if r.GetClientID() != "web" {
		info.AppendClaims("entitlements", []string{"guest", "admin:shop", "editor-of-a-wiki"})
	}
	return nil
}

// GetClientByClientID implements op.Storage: the client of stations takes device
// codes too.
func (e entitled) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := e.Storage.GetClientByClientID(ctx, id)
	if err == nil && id == "native" {
		c = station{c}
	}
	return c, err
}

type station struct{ op.Client }

// GrantTypes implements op.Client.
func (station) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
}

func main() {
	port := os.Getenv("PORT")
	issuer := "http://localhost:" + port + "/"
	storage.RegisterClients(
		storage.NativeClient("native", "http://127.0.0.1/callback"),
		storage.WebClient("web", "secret", "http://localhost:9999/auth/callback"),
	)
	handler := exampleop.SetupServer(issuer, entitled{storage.NewStorage(storage.NewUserStore(issuer))}, nil, false)
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: handler}
	log.Fatal(server.ListenAndServe())
}
