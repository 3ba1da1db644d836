package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/host"
	"github.com/holdfast-ops/holdfast/internal/om/auth"
	"github.com/holdfast-ops/holdfast/internal/om/datastore"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
	"github.com/holdfast-ops/holdfast/internal/om/store"
)

// credentials are the ways callers are recognised besides the tokens of the
// cluster.
func credentials(h host.Host, configs *store.Store, data *datastore.Data, access *access) auth.Credentials {
	users := &auth.Directory{Store: configs, Data: data}
	return auth.Credentials{
		Users:        users,
		Passwords:    auth.NewPasswords(users, auth.NewGuesses()),
		Certificates: &auth.Certificates{Known: users, Revoked: auth.NewRevocations(revocationLists(h.Paths, configs))},
		OpenID:       auth.NewOpenID(access.openID),
		Accounts:     &auth.Accounts{Root: h.Paths.Root, Grantor: users, Names: auth.NewNames(h.Runner), Residents: users},
	}
}

// revocationLists names the lists of revoked certificates: that of the cluster and
// that of the listener, whose default file need not be there.
func revocationLists(paths host.Paths, configs *store.Store) func() ([]string, error) {
	return func() ([]string, error) {
		shared, err := configs.Cluster()
		if err != nil {
			return nil, err
		}
		listener, err := configs.Listener()
		if err != nil {
			return nil, err
		}
		var lists []string
		if shared.CRL != "" {
			lists = append(lists, shared.CRL)
		}
		_, err = os.Stat(listener.CRL)
		isAbsent := listener.CRL == filepath.Join(paths.Var(), "certs/ca_crl") && errors.Is(err, fs.ErrNotExist)
		if listener.CRL != "" && !isAbsent {
			lists = append(lists, listener.CRL)
		}
		return lists, nil
	}
}

// accessLife is how long the settings of the listener are not read again: they
// are asked for at each request.
const accessLife = time.Second

// access reads the settings of the listener that requests are admitted by.
type access struct {
	store *store.Store
	log   *slog.Logger

	mu    sync.Mutex
	known schema.ListenerSettings
	until time.Time
}

// newAccess returns the access to the listener. As long as the settings cannot be
// read they are the default ones.
func newAccess(configs *store.Store, log *slog.Logger) *access {
	return &access{store: configs, log: log, known: schema.ListenerSettings{RateLimiterRate: 20, RateLimiterBurst: 100}}
}

func (a *access) settings() schema.ListenerSettings {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if now.Before(a.until) {
		return a.known
	}
	a.until = now.Add(accessLife)
	fresh, err := a.store.Listener()
	if err != nil {
		// What was known holds: a file being repaired opens nothing.
		a.log.Debug("settings of the listener", slog.Any("err", err))
		return a.known
	}
	a.known = *fresh
	return a.known
}

func (a *access) openID() auth.OpenIDSettings {
	s := a.settings()
	return auth.OpenIDSettings{Issuer: s.OpenIDIssuer, ClientID: s.OpenIDClientID}
}

func (a *access) limit() auth.Limit {
	s := a.settings()
	return auth.Limit{Rate: s.RateLimiterRate, Burst: s.RateLimiterBurst, Expires: s.RateLimiterExpires}
}
