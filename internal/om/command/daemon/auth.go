package daemon

import (
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
)

// Issuer makes tokens.
type Issuer interface {
	Token(ctx context.Context, q api.TokenQuery) (api.AuthToken, error)
}

// Auth declares the making of tokens.
var Auth = verb.Verb{
	Path: "auth token", Also: []string{"auth"}, Group: "query",
	Short: "Make a bearer token for the API",
	Long: "Make a bearer token for the API and print it. Without --role the token has the grants of the caller; roles limit it: " +
		"admin, operator, guest, squatter, prioritizer, blacklistadmin, heartbeat, join, leave, root. " +
		"With --refresh, a second line is the token that POST /api/auth/refresh takes for the next one. " +
		"A token with the join role names the authority of the certificates of this node: it is what om cluster enroll needs.",
	Example: "om daemon auth --role join --duration 10m >node2.token\nTOKEN=$(om daemon auth token --duration 1h)\nom daemon auth token --refresh --refresh-duration 168h -o json\nom daemon auth token --role guest --scope ns1 --subject ci",
	New:     verb.Needs(func(i Issuer) verb.Runner { return &auth{issuer: i} }),
}

type auth struct {
	issuer   Issuer
	query    api.TokenQuery
	duration time.Duration
	renewed  time.Duration
	flags    *pflag.FlagSet
}

func (a *auth) Flags(f *pflag.FlagSet) {
	a.flags = f
	f.StringSliceVar(&a.query.Role, "role", nil, "limit the token to these `roles`")
	f.StringVar(&a.query.Scope, "scope", "", "limit the token to this `namespace`")
	f.StringVar(&a.query.Subject, "subject", "", "the `user` the token is for")
	f.DurationVar(&a.duration, "duration", 0, "how long the token is valid, 10m by default, 60s with the join role")
	f.BoolVar(&a.query.Refresh, "refresh", false, "make a token that renews it too")
	f.DurationVar(&a.renewed, "refresh-duration", 24*time.Hour, "how long the token may be renewed, with --refresh")
}

func (a *auth) Run(ctx context.Context, c *verb.Call) error {
	if a.flags.Changed("duration") {
		a.query.AccessDuration = a.duration.String()
	}
	switch {
	case a.query.Refresh:
		a.query.RefreshDuration = a.renewed.String()
	case a.flags.Changed("refresh-duration"):
		return app.Usage("--refresh-duration goes with --refresh")
	}
	token, err := a.issuer.Token(ctx, a.query)
	if err != nil {
		return hint(err)
	}
	if c.Structured() {
		return verb.Write[struct{}](c, nil, nil, token)
	}
	text := token.AccessToken + "\n"
	if token.RefreshToken != "" {
		text += token.RefreshToken + "\n"
	}
	_, err = io.WriteString(c.Streams.Out, text)
	return err
}
