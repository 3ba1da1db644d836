package contexts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-ops/holdfast/internal/cli/app"
	"github.com/holdfast-ops/holdfast/internal/cli/prompt"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/command/verb"
	"github.com/holdfast-ops/holdfast/internal/om/openid"
	"github.com/holdfast-ops/holdfast/internal/om/station"
	"github.com/holdfast-ops/holdfast/internal/secret"
)

// Authenticator exchanges passwords for tokens.
type Authenticator interface {
	Keeper
	Login(ctx context.Context, name string, password secret.String, l remote.Life) (station.Tokens, error)
	// LoginOpenID has ask log in with the provider the cluster trusts.
	LoginOpenID(ctx context.Context, name string, ask func(*openid.Provider) (openid.Grant, error)) (api.UserIdentity, error)
	// Browse opens a page in a browser of this host; false when there is none.
	Browse(page string) bool
}

var login = verb.Verb{
	Path: "login", Group: "login",
	Short: "Log in: get tokens for a password, or of an OpenID provider, and keep them",
	Long: "Ask for the password of the user of a context and exchange it for tokens, which are kept in a file that only you can read. The password is not kept. " +
		"When the standard input is no terminal, the password is its first line. " +
		"With --openid, log in with the OpenID provider the cluster trusts, in a browser of this host; with --device, in a browser anywhere, where a code is typed.",
	Example: "ox context login --context john@dreamy-leopard\npass show opensvc/john | ox context login --context john@dreamy-leopard\nox context login --context john@dreamy-leopard --openid",
	New:     verb.Needs(func(a Authenticator) verb.Runner { return &loginVerb{keeper: a} }),
}

type loginVerb struct {
	keeper Authenticator
	life   remote.Life
	openid bool
	device bool
}

func (l *loginVerb) Flags(f *pflag.FlagSet) {
	f.Var(&l.life.Access, "duration", "how long an access token is valid, in place of what the context says")
	f.Var(&l.life.Refresh, "refresh-duration", "how long the session may be renewed without the password, in place of what the context says")
	f.BoolVar(&l.openid, "openid", false, "log in with the OpenID provider of the cluster, in a browser")
	f.BoolVar(&l.device, "device", false, "log in with the OpenID provider of the cluster, in a browser of another device")
}

func (l *loginVerb) Run(ctx context.Context, c *verb.Call) error {
	byProvider := l.openid || l.device
	if byProvider && l.life != (remote.Life{}) {
		return app.Usage("--duration and --refresh-duration are for passwords: an OpenID provider says how long its tokens are valid")
	}
	name, err := chosen(ctx, l.keeper, c)
	if err != nil {
		return err
	}
	e, err := l.keeper.Endpoint(name)
	if err != nil {
		return err
	}
	if e.Certified() {
		c.Say("User %s of context %s is known by its certificate: there is nothing to log in for.", e.Settings.User, name)
		return nil
	}
	if byProvider {
		err = l.withProvider(ctx, c, name, e)
	} else {
		err = l.withPassword(ctx, c, name)
	}
	if err != nil {
		return err
	}
	if l.keeper.Current() != name || c.Env("OSVC_CONTEXT") != name {
		return c.Print("Login successful. Switch to this context with: export OSVC_CONTEXT=" + name)
	}
	return c.Print("Login successful.")
}

func (l *loginVerb) withPassword(ctx context.Context, c *verb.Call, name string) error {
	password, err := prompt.Password(ctx, c.Streams, "Password for "+name+": ")
	if ctx.Err() != nil {
		return app.Ended(ctx)
	}
	if err != nil {
		return err
	}
	_, err = l.keeper.Login(ctx, name, password, l.life)
	return err
}

// withProvider has the person log in with the provider of the cluster.
func (l *loginVerb) withProvider(ctx context.Context, c *verb.Call, name string, e station.Endpoint) error {
	tell := func(format string, a ...any) { _, _ = fmt.Fprintf(c.Streams.Err, format+"\n", a...) } // questions, even when it is to be quiet
	who, err := l.keeper.LoginOpenID(ctx, name, func(p *openid.Provider) (openid.Grant, error) {
		if l.device {
			return p.Device(ctx, func(code openid.Code) {
				tell("Open %s in a browser, and type the code %s", code.Page, code.Text)
				if code.Full != "" {
					tell("or open %s", code.Full)
				}
				tell("It is valid until %s.", code.End.Local().Format(time.TimeOnly))
			})
		}
		return p.Browser(ctx, func(page string) {
			if !l.keeper.Browse(page) {
				tell("No browser could be opened. On this host, open the page below; on another one, log in with --device.")
			}
			tell("Log in on %s", page)
		})
	})
	if ctx.Err() != nil {
		return app.Ended(ctx)
	}
	if err != nil {
		return err
	}
	c.Say("The cluster knows you as %s, with the grants: %s", who.Name, who.RawGrant)
	if who.RawGrant == "" {
		c.Say("Warning: the provider entitles you to nothing here: its tokens need a claim named entitlements, as [\"guest\", \"admin:ns1\"]")
	}
	if e.Settings.Namespace != "" {
		c.Say("Warning: tokens of a provider are for every namespace: %s only narrows what commands select", e.Settings.Namespace)
	}
	return nil
}

// chosen is the context that is named, else one of a menu.
func chosen(ctx context.Context, k Keeper, c *verb.Call) (string, error) {
	if name := k.Current(); name != "" {
		return name, nil
	}
	f, err := k.Station().Load()
	if err != nil {
		return "", err
	}
	names := f.Names()
	if len(names) == 0 {
		return "", errors.New("there is no context yet: add a cluster, a user and a context with ox context cluster add, ox context user add, ox context add")
	}
	i, err := prompt.Choose(ctx, c.Streams, "Context: ", names)
	switch {
	case errors.Is(err, prompt.ErrNoTerminal):
		return "", app.Usage("say which context: --context NAME, or set OSVC_CONTEXT; the menu needs a terminal, and the standard input is the password")
	case ctx.Err() != nil:
		return "", app.Ended(ctx)
	case err != nil:
		return "", err
	}
	return names[i], nil
}

var logout = verb.Verb{
	Path: "logout", Group: "login",
	Short: "Drop the tokens of a login",
	New:   verb.Needs(func(k Keeper) verb.Runner { return &logoutVerb{keeper: k} }),
}

type logoutVerb struct {
	keeper Keeper
	all    bool
}

func (l *logoutVerb) Flags(f *pflag.FlagSet) {
	f.BoolVar(&l.all, "all", false, "of every context")
}

func (l *logoutVerb) Run(ctx context.Context, c *verb.Call) error {
	f, err := l.keeper.Station().Load()
	if err != nil {
		return err
	}
	names := f.Names()
	if !l.all {
		e, err := l.keeper.Endpoint(l.keeper.Current())
		if err != nil {
			return err
		}
		names = []string{e.Context}
	}
	var errs []error
	for _, name := range names {
		had, err := l.keeper.Station().Forget(ctx, name)
		errs = append(errs, err)
		if err == nil && !had && !l.all {
			c.Say("nobody was logged in to context %s", name)
		}
	}
	return errors.Join(errs...)
}
