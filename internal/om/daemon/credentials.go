package daemon

import (
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// credentials are the ways callers are recognised besides the tokens of the
// cluster.
func credentials(configs *store.Store, data *datastore.Data) auth.Credentials {
	users := &auth.Directory{Store: configs, Data: data}
	return auth.Credentials{
		Users:        users,
		Passwords:    auth.NewPasswords(users, auth.NewGuesses()),
		Certificates: &auth.Certificates{Known: users},
	}
}
