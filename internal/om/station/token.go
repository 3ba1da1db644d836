package station

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Tokens are what a login gave. They are for one server and one user: what the
// context says today may be another.
type Tokens struct {
	Server          string
	User            string
	Access          secret.String
	AccessEnd       time.Time
	Refresh         secret.String // none: the session cannot be renewed
	RefreshEnd      time.Time
	AuthenticatedAt time.Time // of the login
	// AccessDuration is how long an access token was asked to be valid; the next ones
	// are too.
	AccessDuration Duration
	// Issuer and ClientID tell that an OpenID provider gave the tokens, and renews
	// them; the cluster did when they are empty.
	Issuer, ClientID string
}

// IsZero tells that there are no tokens.
func (t Tokens) IsZero() bool { return t.Access.IsZero() }

// Fresh tells whether the access token is still good for a request.
func (t Tokens) Fresh(now time.Time) bool { return !t.Access.IsZero() && now.Before(t.AccessEnd) }

// Renewable tells whether another access token may be had without a login. A
// provider may not say when that ends.
func (t Tokens) Renewable(now time.Time) bool {
	return !t.Refresh.IsZero() && (now.Before(t.RefreshEnd) || t.Issuer != "" && t.RefreshEnd.IsZero())
}

// wire is how tokens are written.
type wire struct {
	Server           string    `json:"server"`
	User             string    `json:"user"`
	AccessToken      string    `json:"access_token"`
	AccessExpiredAt  time.Time `json:"access_expired_at"`
	RefreshToken     string    `json:"refresh_token,omitempty"`
	RefreshExpiredAt time.Time `json:"refresh_expired_at,omitzero"`
	AuthenticatedAt  time.Time `json:"authenticated_at"`
	AccessDuration   Duration  `json:"access_duration,omitzero"`
	Issuer           string    `json:"openid_issuer,omitempty"`
	ClientID         string    `json:"openid_client_id,omitempty"`
}

// tokenFile is the file of the tokens of a context. Whatever the name is, it is
// one below the directory.
func (s Station) tokenFile(name string) string {
	return filepath.Join(s.tokenDir(), url.PathEscape(name)+".json")
}

// maxTokens bounds the file of tokens.
const maxTokens = 256 << 10

// Tokens reads the tokens of a context, none when there was no login.
func (s Station) Tokens(name string) (Tokens, error) {
	if err := s.check(); err != nil {
		return Tokens{}, err
	}
	f, err := open(s.tokenFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Tokens{}, nil
	}
	if err != nil {
		return Tokens{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Tokens{}, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return Tokens{}, fmt.Errorf("%s: others may read the tokens (mode %04o): they may be known, remove the file and log in again", f.Name(), info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokens))
	if err != nil {
		return Tokens{}, err
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		// Not the text of the error: it may quote a token.
		return Tokens{}, fmt.Errorf("%s: these are no tokens: remove the file and log in again", f.Name())
	}
	return Tokens{
		Server: w.Server, User: w.User, Access: secret.New(w.AccessToken), AccessEnd: w.AccessExpiredAt,
		Refresh: secret.New(w.RefreshToken), RefreshEnd: w.RefreshExpiredAt, AuthenticatedAt: w.AuthenticatedAt,
		AccessDuration: w.AccessDuration, Issuer: w.Issuer, ClientID: w.ClientID,
	}, nil
}

// WithTokens gives the tokens of a context to change, and keeps what it returns.
// Meanwhile no other program renews them.
func (s Station) WithTokens(ctx context.Context, name string, change func(Tokens) (Tokens, error)) (Tokens, error) {
	if err := s.check(); err != nil {
		return Tokens{}, err
	}
	unlock, err := lock(ctx, s.tokenFile(name))
	if err != nil {
		return Tokens{}, err
	}
	defer unlock()
	before, err := s.Tokens(name)
	if err != nil {
		before = Tokens{} // a login replaces what cannot be read
	}
	after, err := change(before)
	if err != nil || after == before {
		return after, err
	}
	data, err := json.MarshalIndent(wire{
		Server: after.Server, User: after.User, AccessToken: after.Access.Reveal(), AccessExpiredAt: after.AccessEnd,
		RefreshToken: after.Refresh.Reveal(), RefreshExpiredAt: after.RefreshEnd, AuthenticatedAt: after.AuthenticatedAt,
		AccessDuration: after.AccessDuration, Issuer: after.Issuer, ClientID: after.ClientID,
	}, "", "  ")
	if err != nil {
		return Tokens{}, err
	}
	return after, replace(s.tokenFile(name), append(data, '\n'))
}

// Forget drops the tokens of a context. It tells whether there were some.
func (s Station) Forget(ctx context.Context, name string) (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if _, err := os.Lstat(s.tokenFile(name)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	unlock, err := lock(ctx, s.tokenFile(name))
	if err != nil {
		return false, err
	}
	defer unlock()
	err = os.Remove(s.tokenFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
